"""Ranges of the pre-activations of f, g and d = f - g, and lines above and below their activations."""

from dataclasses import dataclass

import numpy as np

from tutelage.functions.bounds.intervals import Middle, ends, plus, times
from tutelage.functions.layers.sparse import LayerPair
from tutelage.functions.relaxations import Ends, apart, difference_line, lines
from tutelage.functions.rounding import EPS


@dataclass(frozen=True, eq=False)
class Ranges:
    """Lower and upper ends [n] of f and d in one layer, those of g = f - d, and whether g is at least 0 [n]."""

    f: Ends
    d: Ends
    positive_g: np.ndarray

    @property
    def g(self) -> Ends:
        low, high = apart(self.f, self.d)
        return np.where(self.positive_g, np.maximum(low, 0.0), low), high

    def straight(self, layer: LayerPair) -> np.ndarray:
        """Which units [n] are on one side of their kink in both networks."""
        f, g = self.f, self.g
        on = ((f[0] >= 0) | (layer.left_f == 1)) & ((g[0] >= 0) | (layer.left_g == 1))
        return on | ((f[1] <= 0) & (g[1] <= 0) & (layer.left_f == layer.left_g))


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


def by_intervals(layer: LayerPair, f: Middle, d: Middle) -> Ranges:
    """Ranges of one layer from those of the features below."""
    wf, wg, wd = layer.sizes
    zero = np.zeros(len(layer.bf))
    slack = layer.slack_f + layer.slack_g
    new_d = plus(times(layer.wg, d, wg), times(layer.wd, f, wd), layer.bd, slack, layer.terms)
    new_f = plus(times(layer.wf, f, wf), (zero, zero, zero), layer.bf, layer.slack_f, layer.terms)
    low, high = ends(new_f)
    low = np.where(layer.positive_f, np.maximum(low, 0.0), low)
    return Ranges((low, high), ends(new_d), layer.positive_g)


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
