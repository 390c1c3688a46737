r"""Graphs as layers of units: what a later layer needs is carried past the layers between.

The level of a unit is one more than that of the highest unit it depends on; units of one level form one layer. A value
that is known to be at least 0 passes a layer of relu units as :math:`v = \max(0, v)`, any other as
:math:`v = \max(0, v) - \max(0, -v)`. Units with another slope below 0 are two relu units.
None of this rounds. What does is the product of affine maps that follow one another; whether it did is told.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from tutelage.errors import TutelageError
from tutelage.networks.graphs.values import EPS, MOST, Map, Value, fits, in_order, short


@dataclass(frozen=True, eq=False)
class Affine:
    """A value in terms of the features of a layer: matrix [size, features], shift [size] and slack [size], by how much
    rounding to steps may move it; positive: whether it is known to be at least 0; exact: whether it was not rounded."""

    matrix: Map
    shift: np.ndarray
    slack: np.ndarray
    positive: bool = False
    exact: bool = True


@dataclass(frozen=True, eq=False)
class SparseLayer:
    """One layer: weights [out, in], biases [out], by how much a pre-activation may be off, [out], and which
    pre-activations are known to be at least 0, [out]."""

    w: Map
    b: np.ndarray
    slack: np.ndarray
    positive: np.ndarray


@dataclass(frozen=True, eq=False)
class Lowered:
    """Layers from below; left: the slope of all hidden units below 0; exact: whether no number was rounded."""

    layers: tuple[SparseLayer, ...]
    left: float
    exact: bool


def lowered(output: Value) -> Lowered:
    """The function of a graph as layers: with its own units where these form one chain of one kind, else with relu."""
    graph = _Levels(output)
    kinds = {float(s) for v in graph.order if v.left is not None for s in np.unique(v.left)}
    native = len(kinds) == 1 and all(kind == -1 or 0 <= kind < 1 for kind in kinds)
    if native and not any(graph.carried(level) for level in range(1, graph.top + 1)):
        layers, exact = _layers(graph, plain=True)
        return Lowered(layers, kinds.pop(), exact)
    layers, exact = _layers(graph, plain=False)
    return Lowered(layers, 0.0, exact)


class _Levels:
    """The values of a graph by level, and what has to be carried past every level."""

    def __init__(self, output: Value) -> None:
        self.output, self.order = output, in_order(output)
        self.level: dict[int, int] = {}
        for value in self.order:
            below = max((self.level[id(source)] for source, _ in value.terms), default=0)
            self.level[id(value)] = below + int(value.bends)
        self.top = self.level[id(output)]
        self.bends = [value for value in self.order if value.bends]
        self._kept: dict[int, list[Value]] = {0: [v for v in self.order if not v.terms]}

    def at(self, level: int) -> list[Value]:
        """Units of a level that something later depends on."""
        return [v for v in self.bends if self.level[id(v)] == level]

    def atoms(self, level: int) -> list[Value]:
        """Values that the features of a layer hold: its units and what is carried past it."""
        return self._kept[0] if level == 0 else [*self.at(level), *self.carried(level)]

    def carried(self, level: int) -> list[Value]:
        """Values of lower levels that levels above this one need, chosen so that few units carry them."""
        if level not in self._kept:
            known = {id(v) for v in self.atoms(level - 1)}
            whole = self._needed(level, lambda v: self.level[id(v)] < level)
            single = self._needed(level, lambda v: id(v) in known)
            self._kept[level] = min(whole, single, key=_units)
        return self._kept[level]

    def _needed(self, level: int, stop) -> list[Value]:
        """What sources of later units, and the output, come down to: values of lower levels at which ``stop``."""
        stack = [v.terms[0][0] for v in self.bends if self.level[id(v)] > level] + [self.output]
        met: dict[int, Value] = {}
        done: set[int] = set()
        while stack:
            value = stack.pop()
            if id(value) in done:
                continue
            done.add(id(value))
            if self.level[id(value)] < level and stop(value):
                met[id(value)] = value
            elif not value.bends:
                stack.extend(source for source, _ in value.terms)
        return list(met.values())


def _units(values: Iterable[Value]) -> int:
    return sum(v.size * (1 if v.positive else 2) for v in values)


def _layers(graph: _Levels, plain: bool) -> tuple[tuple[SparseLayer, ...], bool]:
    """The layers, and whether none of their numbers was rounded."""
    exact = True
    (first,) = graph.atoms(0)
    known = {id(first): Affine(_identity(first.size), np.zeros(first.size), np.zeros(first.size))}
    width, layers = first.size, []
    for level in range(1, graph.top + 1):
        rows: list[Affine] = []
        places: dict[int, list[tuple[float | np.ndarray, int]]] = {}
        memo, at = dict(known), 0
        for value in graph.atoms(level):
            source = value.terms[0][0] if graph.level[id(value)] == level else value
            affine = _expressed(source, memo, width)
            exact = exact and affine.exact
            factors = [1.0] if plain else _factors(value, value is not source)
            places[id(value)] = []
            for factor, sign in zip(factors, (1.0, -1.0), strict=False):
                matrix, shift = (affine.matrix, affine.shift) if sign > 0 else (-affine.matrix, -affine.shift)
                rows.append(Affine(matrix, shift, affine.slack, source.positive and sign > 0))
                places[id(value)].append((factor, at))
                at += value.size
        layers.append(_stacked(rows))
        known = {number: _unit(parts, graph, number, at) for number, parts in places.items()}
        width = at
    top = _expressed(graph.output, dict(known), width)
    return (*layers, _stacked([top])), exact and top.exact


def _factors(value: Value, bends: bool) -> list[float | np.ndarray]:
    """What relu units of v and of -v count in the value: one or two factors."""
    if not bends:
        return [1.0] if value.positive else [1.0, -1.0]
    assert value.left is not None
    return [1.0, -value.left] if value.left.any() else [1.0]


def _unit(parts: list[tuple[float | np.ndarray, int]], graph: _Levels, number: int, width: int) -> Affine:
    """A value as a combination of the blocks of units that hold it."""
    n = next(v for v in graph.order if id(v) == number).size
    fits(n * len(parts), "the units that carry values past a layer")
    data = np.stack([np.broadcast_to(np.asarray(factor, np.float64), (n,)) for factor, _ in parts], 1)
    columns = np.stack([np.arange(n) + at for _, at in parts], 1)
    matrix = Map((data.ravel(), columns.ravel(), np.arange(n + 1) * len(parts)), shape=(n, width))
    return Affine(matrix, np.zeros(n), np.zeros(n))


def _expressed(value: Value, memo: dict[int, Affine], width: int) -> Affine:
    """A value in terms of the features of a layer of so many units; what is known of them is in the memo."""
    if id(value) not in memo:
        for part in in_order(value, memo):
            memo[id(part)] = _sum(part, memo, width)
    return memo[id(value)]


def _sum(value: Value, memo: dict[int, Affine], width: int) -> Affine:
    matrix, size = Map((value.size, width)), value.size
    shift = np.zeros(size) if value.shift is None else value.shift.astype(np.float64)
    slack = np.zeros(size) if value.step is None else 0.5 * value.step
    exact = value.rounded is None
    for source, by in value.terms:
        below = memo[id(source)]
        _check(by, below, value)
        part = below.matrix if by is None else by @ below.matrix
        more_shift = below.shift if by is None else by @ below.shift
        exact = exact and below.exact and _holds(by, below, part, matrix, shift, more_shift)
        matrix = part if matrix.nnz == 0 and part.shape == matrix.shape else matrix + part
        shift = shift + more_shift
        if below.slack.any():
            more = below.slack if by is None else abs(by) @ below.slack
            slack = (slack + more) * (1 + (8 + (0 if by is None else _longest(by))) * EPS)
    return Affine(Map(matrix), shift, slack, exact=exact)


def _holds(by: Map | None, below: Affine, part: Map, matrix: Map, shift: np.ndarray, more: np.ndarray) -> bool:
    """Whether the product of a map with what is below, and its sum with what is there already, were not rounded."""
    if by is not None and not (_product_holds(by, below.matrix, part) and _shift_holds(by, below.shift)):
        return False
    if matrix.nnz and _filled(matrix + part) != _filled(matrix) + _filled(part):
        return False
    both = shift + more
    back = both - shift
    return not ((shift - (both - back)) + (more - back)).any()  # what the sum lost (Knuth)


def _product_holds(by: Map, below: Map, part: Map) -> bool:
    """Every number is one product, whose factors are powers of two or both in float32."""
    filled = np.append(0, np.cumsum(below.data != 0))[below.indptr]
    products = int(np.diff(filled)[by.indices[by.data != 0]].sum())
    return products == _filled(part) and _times_holds(by.data, below.data)


def _shift_holds(by: Map, shift: np.ndarray) -> bool:
    return not shift.any() or (_longest(by) <= 1 and _times_holds(by.data, shift))


def _times_holds(a: np.ndarray, b: np.ndarray) -> bool:
    return _binary(a) or _binary(b) or (short(a) and short(b))


def _binary(numbers: np.ndarray) -> bool:
    """Whether all are 0, 1 or -1: no product with them is rounded."""
    return bool(((numbers == 0) | (np.abs(numbers) == 1)).all())


def _filled(matrix: Map) -> int:
    return int(np.count_nonzero(matrix.data))


def _longest(matrix: Map) -> int:
    """The most entries of a row."""
    return int(np.diff(matrix.indptr).max(initial=0))


def _check(by: Map | None, below: Affine, value: Value) -> None:
    """Raise before a product of maps that would not fit into memory."""
    if by is None or below.matrix.nnz == 0:
        return
    size = int(np.diff(below.matrix.indptr)[by.indices].sum())
    fits(min(size, by.shape[0] * below.matrix.shape[1], MOST), value.name)
    if size > 64 * MOST or min(size, by.shape[0] * below.matrix.shape[1]) > MOST:
        raise TutelageError(
            f"{value.name or 'a product of affine layers'} together with the layers before it has {size:,} products "
            f"of weights, and at most {MOST:,} are allowed: take a smaller model"
        )


def _stacked(rows: list[Affine]) -> SparseLayer:
    w = rows[0].matrix if len(rows) == 1 else sparse.vstack([r.matrix for r in rows], format="csr")
    positive = np.concatenate([np.full(len(r.shift), r.positive) for r in rows])
    shift, slack = np.concatenate([r.shift for r in rows]), np.concatenate([r.slack for r in rows])
    return SparseLayer(Map(w), shift, slack, positive)


def _identity(n: int) -> Map:
    return Map((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))
