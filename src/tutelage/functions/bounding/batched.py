r"""Linear bounds of f - g substituted backwards through dense layers, for many boxes at once.

As in :mod:`.sparse.backward`, with hidden units of both networks and of their difference bounded in the same way from
below: many times narrower than zonotopes on boxes where few units bend, and dearer.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tutelage.functions.bounding._boxes import Pair
from tutelage.functions.bounding.intervals import EPS, TINY, around
from tutelage.functions.bounding.sparse.ranges import LinesAround, Ranges, after, by_intervals, lines

_NUMBERS = 1 << 20  # numbers of an array of coefficients, at most


class Across:
    """A matrix [out, in] that multiplies many vectors, the rows of an array [B, in]."""

    def __init__(self, w: np.ndarray) -> None:
        self.w, self.turned = w, np.ascontiguousarray(w.T)

    def __matmul__(self, vectors: np.ndarray) -> np.ndarray:
        return vectors @ self.turned


@dataclass(frozen=True, eq=False)
class DenseLayer:
    """One layer of f and g, with the names of :class:`.sparse.pairs.Layer`."""

    wf: Across
    wg: Across
    wd: Across
    bf: np.ndarray
    bd: np.ndarray
    slack_f: np.ndarray
    slack_g: np.ndarray
    left_f: float
    left_g: float
    sizes: tuple[Across, Across, Across]
    positive_f: np.ndarray
    positive_g: np.ndarray
    terms: int


def dense_layers(pair: Pair) -> list[DenseLayer]:
    """The layers of a pair of networks of the same widths."""
    layers, w_at, b_at = [], 0, 0
    slopes = [*zip(pair.left_f.tolist(), pair.left_g.tolist(), strict=True), (1.0, 1.0)]
    for (m, n), (left_f, left_g) in zip(pairwise(pair.widths.tolist()), slopes, strict=True):
        flat = [w[w_at : w_at + n * m].reshape(n, m) for w in (pair.wf, pair.wg, pair.wd)]
        wf, wg, wd = (Across(w) for w in flat)
        bf, bd, slack_f, slack_g = (b[b_at : b_at + n] for b in (pair.bf, pair.bd, pair.slack_f, pair.slack_g))
        sizes = tuple(Across(np.abs(w)) for w in flat)
        known = np.zeros(n, bool)
        layers.append(
            DenseLayer(wf, wg, wd, bf, bd, slack_f, slack_g, left_f, left_g, sizes, known, known, 3 * m)  # type: ignore[arg-type]
        )
        w_at, b_at = w_at + n * m, b_at + n
    return layers


@dataclass
class BatchedRows:
    """K rows on B boxes: coefficients of d and of f [B, K, n], None for no d; constants and errors [B, K]."""

    d: np.ndarray | None
    f: np.ndarray | None
    constant: np.ndarray
    error: np.ndarray

    def down(self, layer: DenseLayer, above_f: np.ndarray, above_d: np.ndarray) -> None:
        """From the pre-activations of a layer to the features below it, of sizes [B, m]."""
        wf, wg, wd = layer.sizes
        terms = 2 * len(layer.bf) + layer.terms + 32
        met: np.ndarray | float = 0.0
        slack: np.ndarray | float = 0.0
        new_f: np.ndarray | None = None
        if self.f is not None:
            met = _times(np.abs(self.f), wf @ above_f + np.abs(layer.bf))
            slack = np.abs(self.f) @ layer.slack_f
            self.constant = self.constant + self.f @ layer.bf
            new_f = _product(self.f, layer.wf.w)
        if self.d is not None:
            size = wg @ above_d + wd @ above_f + np.abs(layer.bd)
            met = met + _times(np.abs(self.d), size)
            slack = slack + np.abs(self.d) @ (layer.slack_f + layer.slack_g)
            self.constant = self.constant + self.d @ layer.bd
            more = _product(self.d, layer.wd.w)
            new_f = more if new_f is None else new_f + more
            self.d = _product(self.d, layer.wg.w)
        self.error = self.error + terms * EPS * (met + slack + np.abs(self.constant)) + slack + terms * TINY
        self.f = new_f

    def through(self, line: LinesAround) -> None:
        """From features to the pre-activations under them, by the lines above for positive coefficients."""
        assert self.f is not None
        terms = 2 * line.s.shape[-1] + 16
        plus, minus = np.maximum(self.f, 0.0), np.minimum(self.f, 0.0)
        reach = _times(plus - minus, line.sizes_f)
        added = _times(plus, line.o)
        self.f = plus * line.s[:, None] + minus * line.t[:, None]
        if self.d is not None:
            plus, minus = np.maximum(self.d, 0.0), np.minimum(self.d, 0.0)
            reach = reach + _times(plus - minus, line.sizes_d + 2 * line.sizes_f)
            up, low = line.upper, line.lower
            added = added + (_times(plus, up[2]) + _times(minus, low[2]))
            self.f = self.f + (plus * up[1][:, None] + minus * low[1][:, None])
            self.d = plus * up[0][:, None] + minus * low[0][:, None]
        self.constant = self.constant + added
        self.error = self.error + 8 * EPS * reach + terms * EPS * (added + np.abs(self.constant)) + TINY

    def at_inputs(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Upper bounds [B, K] over boxes of inputs, where d is 0; infinite where numbers overflow."""
        assert self.f is not None
        centre, radius = around(low, high)
        size = np.abs(self.f)
        value = self.constant + _times(self.f, centre) + _times(size, radius)
        terms = low.shape[1] + 32
        met = _times(size, np.abs(centre) + radius) + np.abs(value) + np.abs(self.constant)
        error = (self.error + terms * EPS * met) * (1 + 64 * EPS)
        bound = value + error * (1 + 64 * EPS) + TINY
        return np.where(np.isfinite(bound), bound, np.inf)


def _product(rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    return (rows.reshape(-1, rows.shape[-1]) @ w).reshape(*rows.shape[:2], -1)


def _times(rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Rows [B, K, n] times one vector [B, n] per box: [B, K]."""
    return np.matmul(rows, vectors[:, :, None])[:, :, 0]


class BackwardBounds:
    """Bounds on the differences of chosen outputs, on batches of boxes."""

    def __init__(self, pair: Pair, outputs: np.ndarray) -> None:
        self.layers, self.outputs = dense_layers(pair), outputs
        self.batch = max(1, _NUMBERS // (2 * int(pair.widths.max()) ** 2))

    def __call__(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Bounds [B, K] on boxes [B, d], for the K chosen outputs."""
        parts = [slice(at, at + self.batch) for at in range(0, len(low), self.batch)]
        with np.errstate(over="ignore", invalid="ignore"):
            found = [self._bounds(low[own], high[own]) for own in parts]
        return np.concatenate(found) if found else np.empty((0, len(self.outputs)))

    def _bounds(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        f, d = around(low, high), (np.zeros_like(low), np.zeros_like(low))
        known: list[LinesAround] = []
        sizes = []
        for number, layer in enumerate(self.layers[:-1]):
            sizes.append((np.abs(f[0]) + f[1], np.abs(d[0]) + d[1]))
            ranges = by_intervals(layer, f, d)  # type: ignore[arg-type]
            if number:
                ranges = self._narrowed(number, ranges, known, sizes, low, high)
            known.append(lines(layer, ranges))  # type: ignore[arg-type]
            f, d = after(layer, ranges)  # type: ignore[arg-type]
        sizes.append((np.abs(f[0]) + f[1], np.abs(d[0]) + d[1]))
        top = len(self.layers) - 1
        eye = np.eye(len(self.layers[top].bf))[self.outputs]
        both = self._upper(top, _rows(np.concatenate([eye, -eye]), True), known, sizes, low, high)
        return np.maximum(np.maximum(both[:, : len(eye)], both[:, len(eye) :]), 0.0)

    def _narrowed(self, number: int, ranges: Ranges, known, sizes, low: np.ndarray, high: np.ndarray) -> Ranges:
        """Ranges of one layer with those of units that may bend made narrower: of f, then of d where f still bends."""
        layer = self.layers[number]
        for of_d in (False, True):
            bends = ~ranges.straight(layer)  # type: ignore[arg-type]
            most = int(bends.sum(1).max())
            if not most:
                break
            units = np.argsort(~bends, axis=1, kind="stable")[:, :most]  # those that bend first, and others beside them
            rows = _units(layer, units, of_d, *sizes[number])
            both = self._upper(number, rows, known, sizes, low, high, begun=True)
            least, largest = (end.copy() for end in (ranges.d if of_d else ranges.f))
            better = np.minimum(np.take_along_axis(largest, units, 1), both[:, :most])
            np.put_along_axis(largest, units, better, 1)
            better = np.maximum(np.take_along_axis(least, units, 1), -both[:, most:])
            np.put_along_axis(least, units, better, 1)
            own = (least, largest)
            ranges = Ranges(ranges.f if of_d else own, own if of_d else ranges.d, ranges.positive_g)
        return ranges

    def _upper(
        self, number: int, rows: BatchedRows, known, sizes, low: np.ndarray, high: np.ndarray, begun: bool = False
    ) -> np.ndarray:
        """Upper bounds [B, K] of rows over the pre-activations of a layer; begun: over the features below it."""
        for layer in reversed(range(number + 1)):
            if not begun or layer < number:
                rows.down(self.layers[layer], *sizes[layer])
            if layer:
                rows.through(known[layer - 1])
        return rows.at_inputs(low, high)


def _units(layer: DenseLayer, units: np.ndarray, of_d: bool, above_f: np.ndarray, above_d: np.ndarray) -> BatchedRows:
    """Plus and minus single units [B, K] of a layer, in terms of the features below it: [B, 2 K] rows."""
    wf, wg, wd = layer.sizes
    if of_d:
        size, slack, b = wg @ above_d + wd @ above_f + np.abs(layer.bd), layer.slack_f + layer.slack_g, layer.bd
    else:
        size, slack, b = wf @ above_f + np.abs(layer.bf), layer.slack_f, layer.bf
    terms = layer.terms + 32
    error = terms * EPS * (np.take_along_axis(size, units, 1) + slack[units]) + slack[units] + terms * TINY

    def both(rows: np.ndarray) -> np.ndarray:
        return np.concatenate([rows, -rows], 1)

    error = np.concatenate([error, error], 1)
    if of_d:
        return BatchedRows(both(layer.wg.w[units]), both(layer.wd.w[units]), both(b[units]), error)
    return BatchedRows(None, both(layer.wf.w[units]), both(b[units]), error)


def _rows(coefficients: np.ndarray, of_d: bool) -> BatchedRows:
    """The same rows [K, n] on every box, of d or of f."""
    one, zero = coefficients[None], np.zeros((1, len(coefficients)))
    return BatchedRows(one if of_d else None, None if of_d else one, zero, zero)
