r"""A graph on a box, without the ends of clips that hardly anything reaches there.

Rounding to steps keeps a value between two ends, by a unit for each: layers that the network it was made from does not
have, so that its units stand beside others and bounds on the difference compare what has nothing in common. On a box,
a unit that is 0 throughout is left out and one that is never below 0 is its own value. What the upper end of a clip
takes away, between 0 and the largest excess, is noise around half of that.
"""

from dataclasses import replace

import numpy as np

from tutelage.networks.graphs.merging import Extent, reach
from tutelage.networks.graphs.values import EPS, Map, Value, in_order


def unclipped(graph: Value, low: np.ndarray, high: np.ndarray) -> Value | None:
    """A graph that is ``graph`` on a box, for bounds alone: its steps are noise; None where nothing changes.

    >>> from tutelage.networks.graphs.values import quantised, start
    >>> ends = np.full(1, 0.5)
    >>> rounded = quantised(start((1,)), ends, -4 * ends, 4 * ends)
    >>> sum(v.bends for v in in_order(rounded)), sum(v.bends for v in in_order(unclipped(rounded, -ends, ends)))
    (2, 0)
    """
    order = in_order(graph)
    clipped = {id(value.terms[0][0]) for value in order if value.step is not None}
    known: dict[int, Extent] = {}
    made: dict[int, Value | None] = {}  # None for a value that is 0
    with np.errstate(over="ignore", invalid="ignore"):
        for value in order:
            known[id(value)] = reach(value, known, low, high)
            made[id(value)] = _made(value, made, known, id(value) in clipped)
    result = made[id(graph)]
    return None if result is graph else result


def _made(value: Value, made: dict[int, Value | None], known: dict[int, Extent], clipped: bool) -> Value | None:
    """A value of the new graph; clipped: whether it is the sum that a clip ends with."""
    sources = [made[id(source)] for source, _ in value.terms]
    if value.left is not None:
        below = known[id(value.terms[0][0])]
        if sources[0] is None or ((value.left == 0).all() and (below.high <= 0).all()):
            return None
        if (below.low >= 0).all():
            return sources[0]
    terms: list[tuple[Value, Map | None]] = []
    excess = np.zeros(value.size)
    for new, (source, by) in zip(sources, value.terms, strict=True):
        if new is not None and clipped and _taken(source, by):
            excess += np.maximum(known[id(source)].high, 0.0)
        elif new is not None:
            terms.append((new, by))
    if not excess.any() and [id(new) for new, _ in terms] == [id(source) for source, _ in value.terms]:
        return value
    if not terms or not np.isfinite(excess).all():
        return value  # a value without terms would be taken for the input
    if not excess.any():
        return replace(value, terms=tuple(terms))
    shift = np.zeros(value.size) if value.shift is None else value.shift
    middle = replace(value, terms=tuple(terms), shift=shift - 0.5 * excess, positive=False)
    room = excess * (1 + 64 * EPS) + 8 * EPS * np.abs(shift)
    return Value(value.shape, ((middle, None),), step=room, name=value.name, positive=value.positive)


def _taken(source: Value, by: Map | None) -> bool:
    """Whether a term takes away what a unit is above 0."""
    return (
        source.left is not None
        and bool((source.left == 0).all())
        and by is not None
        and by.shape[0] == by.shape[1] == by.nnz
        and bool((by.data == -1).all() and (by.indices == np.arange(by.nnz)).all())
    )
