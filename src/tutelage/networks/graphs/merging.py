r"""How far a network whose layers were merged may be from the graph it was made from.

A network that was read is the exact function of the numbers that are stored. Its layers are products of affine maps
that follow one another, and these products are rounded: a map of a value that is merged down to the units below is off
by at most :math:`\gamma_k` times the product of the absolute maps, with k operations along the longest path (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.5). Times the size of the units that is how far a
pre-activation is off; what lies above passes it on by the absolute maps. Only vectors are needed, no products of maps.
"""

from dataclasses import dataclass

import numpy as np

from tutelage.networks.graphs.values import EPS, Value, in_order

_TINY = 1e-300  # what underflow in a sum of products loses per unit of size, many times over
_ROOM = 1 + 2.0**-20  # for the rounding of the bounds themselves: of sums of up to 2**30 numbers at least 0


@dataclass(frozen=True, eq=False)
class Extent:
    """What is known of a value on a box: its ends, the largest sum of absolute products that it is made of from the
    units below, how far it is off because of these units, and the operations from them. All arrays are [size]."""

    low: np.ndarray
    high: np.ndarray
    size: np.ndarray
    off: np.ndarray
    operations: float

    @property
    def error(self) -> np.ndarray:
        """How far the merged value may be from the exact one."""
        share = self.operations * EPS
        share = share / (1 - share) if share < 0.5 else np.inf  # unseen: every threshold up to 1 is sound
        return (self.off + (share * self.size if share else 0.0)) * _ROOM


def merging_error(graph: Value, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far each output [C] of the merged layers of a graph may be from its exact value on a box, ends [d] each.

    The same bound holds for the values that float64 arithmetic gives the graph itself at a point.
    """
    order = in_order(graph)
    last = {id(source): number for number, value in enumerate(order) for source, _ in value.terms}
    known: dict[int, Extent] = {}
    with np.errstate(over="ignore", invalid="ignore"):
        for number, value in enumerate(order):
            known[id(value)] = reach(value, known, low, high)
            for source, _ in value.terms:
                if last[id(source)] == number:
                    known.pop(id(source), None)
        error = known[id(graph)].error
    return np.where(np.isfinite(error), error, np.inf)


def reach(value: Value, known: dict[int, Extent], low: np.ndarray, high: np.ndarray) -> Extent:
    if not value.terms:
        return Extent(low, high, np.maximum(np.abs(low), np.abs(high)), np.zeros(len(low)), 0.0)
    if value.left is not None:
        return _activated(value.left, known[id(value.terms[0][0])])
    return _combined(value, known)


def _activated(left: np.ndarray, below: Extent) -> Extent:
    """A unit: the features that layers above are expressed in, so that operations are counted anew."""
    ends = [np.where(end > 0, end, left * end) for end in (below.low, below.high)]
    kink = (below.low < 0) & (below.high > 0)
    low, high = np.minimum(*ends), np.maximum(*ends)
    low, high = np.where(kink, np.minimum(low, 0.0), low), np.where(kink, np.maximum(high, 0.0), high)
    off = np.maximum(1.0, np.abs(left)) * below.error
    size = (np.maximum(np.abs(low), np.abs(high)) + off) * _ROOM
    # A feature with a slope below 0 may be two units, whose weights have that slope as a factor
    return Extent(low, high, size, off, 0.0 if _two_powers(left) else 1.0)


def _combined(value: Value, known: dict[int, Extent]) -> Extent:
    shift = np.zeros(value.size) if value.shift is None else value.shift
    centre, radius, size, off, operations = shift, np.zeros(value.size), np.abs(shift), np.zeros(value.size), 0.0
    for source, by in value.terms:
        below = known[id(source)]
        middle, half = 0.5 * below.low + 0.5 * below.high, 0.5 * below.high - 0.5 * below.low
        if by is None:
            parts, count = (middle, half, below.size, below.off), 0
        else:
            wide, count = abs(by), int(np.diff(by.indptr).max(initial=0)) + 1
            parts = by @ middle, wide @ half, wide @ below.size, wide @ below.off
        centre, radius, size, off = (a + b for a, b in zip((centre, radius, size, off), parts, strict=True))
        off = off + _TINY * (1.0 + below.size.max(initial=0.0))
        operations = max(operations, below.operations + count)
    operations += len(value.terms) + (2 + value.rounded.by / EPS if value.rounded else 1)
    radius = radius * _ROOM + operations * EPS * size
    if value.step is not None:
        radius, size = radius + value.step, size + value.step
    return Extent(centre - radius, centre + radius, size * _ROOM, off * _ROOM, operations)


def _two_powers(left: np.ndarray) -> bool:
    return bool(((left == 0) | (np.abs(left) == 1)).all())
