r"""Linear bounds of combinations of f and d = f - g, substituted backwards through sparse layers.

A row bounds :math:`\lambda \cdot d + \mu \cdot f` at some layer. One layer down both become linear in the features
below, :math:`d = W_g d' + (W_f - W_g) f' + b_d` and :math:`f = W_f f' + b_f`, and lines bound these features by the
pre-activations under them, until only inputs are left, where d is 0. Rounding is counted in: a sum of n products is
within (n + 16) EPS times the sum of their sizes of the exact one.
"""

from dataclasses import dataclass

import numpy as np

from tutelage.functions.bounds.intervals import Ranges, around
from tutelage.functions.layers.pairs import LayerPair
from tutelage.functions.relaxations import difference_line, lines
from tutelage.functions.rounding import EPS, UNDERFLOW
from tutelage.networks.graphs.values import Map

_FULL = 0.08  # share of entries above which rows are multiplied as dense ones


@dataclass(frozen=True, eq=False)
class LinesAround:
    """LinesAround on one layer: s f + o >= sigma(f) >= t f, and a d + b f + c above and below sigma(f) - sigma(g).

    Every array is [n]; sizes_f and sizes_d are the largest sizes of f and d before, above_f and above_d after the
    activation.
    """

    s: np.ndarray
    o: np.ndarray
    t: np.ndarray
    upper: list[np.ndarray]
    lower: list[np.ndarray]
    sizes_f: np.ndarray
    sizes_d: np.ndarray


def lines_around(layer: LayerPair, ranges: Ranges) -> LinesAround:
    """LinesAround that hold on given ranges."""
    (lf, uf), (lg, ug), (ld, ud) = ranges.f, ranges.g, ranges.d
    (s, o, t, _), (sg, og, tg, _) = lines(lf, uf, layer.left_f), lines(lg, ug, layer.left_g)
    # from both networks: f <= s f + o and g >= tg g, where g = f - d
    upper, lower = [tg, s - tg, o.copy()], [sg, t - sg, -og]
    # s - tg rounded: its error times the size of f is part of the offset
    room = EPS * 4 * np.maximum(np.abs(lf), np.abs(uf)) * 2
    upper[2], lower[2] = upper[2] + room, lower[2] - room
    if layer.left_f == layer.left_g:
        left = layer.left_f
        up, down = difference_line(ld, ud, left, True), difference_line(ld, ud, left, False)
        narrow = up[1] - down[1] <= upper[2] - lower[2]
        none, straight = np.zeros_like(lf), ranges.straight(layer)
        upper, lower = _chosen(narrow, [up[0], none, up[1]], upper), _chosen(narrow, [down[0], none, down[1]], lower)
        slope = np.where((lf >= 0) | (left == 1), 1.0, left)
        upper, lower = (_chosen(straight, [slope, none, none], line) for line in (upper, lower))
    sizes = [np.maximum(np.abs(a), np.abs(b)) for a, b in (ranges.f, ranges.d)]
    return LinesAround(s, o, t, upper, lower, sizes[0], sizes[1])


def _chosen(where: np.ndarray, first: list[np.ndarray], second: list[np.ndarray]) -> list[np.ndarray]:
    return [np.where(where, a, b) for a, b in zip(first, second, strict=True)]


@dataclass
class Rows:
    """K rows: coefficients of d and of f [K, n], constants and errors [K]."""

    d: Map
    f: Map
    constant: np.ndarray
    error: np.ndarray

    def down(self, layer: LayerPair, above_f: np.ndarray, above_d: np.ndarray) -> None:
        """From the pre-activations of a layer to the features below it, whose sizes are given."""
        terms = _longest(self.d) + _longest(self.f) + layer.terms + 32
        wf, wg, wd = layer.sizes
        size_d = wg @ above_d + wd @ above_f + np.abs(layer.bd)
        size_f = wf @ above_f + np.abs(layer.bf)
        met = abs(self.d) @ size_d + abs(self.f) @ size_f
        slack = abs(self.d) @ (layer.slack_f + layer.slack_g) + abs(self.f) @ layer.slack_f
        self.constant = self.constant + (self.d @ layer.bd + self.f @ layer.bf)
        self.error = self.error + terms * EPS * (met + slack + np.abs(self.constant)) + slack + terms * UNDERFLOW
        self.f = Map(_product(self.d, layer.wd) + _product(self.f, layer.wf))
        self.d = _product(self.d, layer.wg)

    def through(self, lines: LinesAround) -> None:
        """From features to the pre-activations under them, by the lines above for positive coefficients."""
        reach = 8 * EPS * (
            abs(self.d) @ (lines.sizes_d + 2 * lines.sizes_f) + abs(self.f) @ lines.sizes_f
        )  # fmt: skip
        up, down = lines.upper, lines.lower
        new_d, _ = _mixed(self.d, up[0], down[0])
        more_f, _ = _mixed(self.d, up[1], down[1])
        new_f, _ = _mixed(self.f, lines.s, lines.t)
        _, added_d = _mixed(self.d, up[2], down[2])
        _, added_f = _mixed(self.f, lines.o, np.zeros_like(lines.o))
        terms = _longest(self.d) + _longest(self.f) + 16
        self.constant = self.constant + added_d + added_f
        self.error = self.error + reach + terms * EPS * (added_d + added_f + np.abs(self.constant)) + UNDERFLOW
        self.d, self.f = new_d, Map(new_f + more_f)
        self.d.eliminate_zeros()
        self.f.eliminate_zeros()

    def at_inputs(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Upper bounds [K] over a box of inputs, where d is 0; infinite where numbers overflow."""
        centre, radius = around(low, high)
        size = abs(self.f) @ (np.abs(centre) + radius)
        value = self.constant + self.f @ centre + abs(self.f) @ radius
        terms = _longest(self.f) + 32
        error = (self.error + terms * EPS * (size + np.abs(value) + np.abs(self.constant))) * (1 + 64 * EPS)
        bound = value + error * (1 + 64 * EPS) + UNDERFLOW
        return np.where(np.isfinite(bound), bound, np.inf)


def upper_bounds(
    layers: list[LayerPair], lines: list[LinesAround], rows: Rows, low: np.ndarray, high: np.ndarray, sizes: list[tuple]
) -> np.ndarray:
    """Upper bounds [K] of rows over pre-activations of the last of some layers, on a box.

    lines: of the layers below it; sizes: the largest sizes of the features of f and of d that go into every layer,
    those of the inputs first.
    """
    # Invariant: the rows bound what was asked by pre-activations of layer `number`, up to their constant and error. At
    # the inputs d is 0, so that its coefficients no longer matter.
    for number in reversed(range(len(layers))):
        rows.down(layers[number], *sizes[number])
        if number:
            rows.through(lines[number - 1])
    return rows.at_inputs(low, high)


def chosen(width: int, units: np.ndarray, of_d: bool, sign: float) -> Rows:
    """Rows that ask for single units, of d or of f, with a sign."""
    n = len(units)
    selection = Map((np.full(n, sign), units, np.arange(n + 1)), shape=(n, width))
    none = Map((n, width))
    return Rows(selection if of_d else none, none if of_d else selection, np.zeros(n), np.zeros(n))


def combined(d: np.ndarray, f: np.ndarray) -> Rows:
    """Rows with given coefficients [K, C] of d and f at the outputs."""
    return Rows(Map(d), Map(f), np.zeros(len(d)), np.zeros(len(d)))


def _product(rows: Map, w: Map) -> Map:
    """Rows times a layer; as a dense product where few rows are nearly full, which is many times faster."""
    if rows.nnz > _FULL * rows.shape[0] * rows.shape[1]:
        return Map((w.T @ np.ascontiguousarray(rows.toarray().T)).T)
    return Map(rows @ w)


def _mixed(rows: Map, above: np.ndarray, below: np.ndarray) -> tuple[Map, np.ndarray]:
    """Coefficients times one factor where positive and another where negative; and the sums of these products [K]."""
    data = rows.data * np.where(rows.data > 0, above[rows.indices], below[rows.indices])
    made = Map((data, rows.indices, rows.indptr), shape=rows.shape)
    return made, np.asarray(made.sum(axis=1)).ravel()


def _longest(rows: Map) -> int:
    return int(np.diff(rows.indptr).max(initial=0))
