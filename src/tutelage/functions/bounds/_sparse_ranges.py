"""Ranges of the pre-activations of f, g and d = f - g, and lines above and below their activations."""

from dataclasses import dataclass

import numpy as np

from tutelage.functions.bounds.intervals import EPS, TINY, Middle, activated, around, ends, plus, times
from tutelage.functions.layers.sparse import LayerPair

Ends = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Ranges:
    """Lower and upper ends [n] of f and d in one layer, those of g = f - d, and whether g is at least 0 [n]."""

    f: Ends
    d: Ends
    positive_g: np.ndarray

    @property
    def g(self) -> Ends:
        room = 2 * EPS * sum(np.abs(e) for e in (*self.f, *self.d)) + TINY
        low, high = self.f[0] - self.d[1] - room, self.f[1] - self.d[0] + room
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


def after(layer: LayerPair, ranges: Ranges) -> tuple[Middle, Middle]:
    """Centre and radius of the features of f and of their difference above a layer."""
    return activated(ranges.f, around(*ranges.d), layer.left_f, layer.left_g)


def lines(layer: LayerPair, ranges: Ranges) -> LinesAround:
    """LinesAround that hold on given ranges."""
    (lf, uf), (lg, ug), (ld, ud) = ranges.f, ranges.g, ranges.d
    s, o, t, p = _bent(lf, uf, layer.left_f)
    sg, og, tg, pg = _bent(lg, ug, layer.left_g)
    # from both networks: f <= s f + o and g >= tg g + pg, where g = f - d
    upper, lower = [tg, s - tg, _up(o - pg)], [sg, t - sg, -_up(og - p)]
    # s - tg rounded: its error times the size of f is part of the offset
    room = EPS * 4 * np.maximum(np.abs(lf), np.abs(uf)) * 2
    upper[2], lower[2] = upper[2] + room, lower[2] - room
    if layer.left_f == layer.left_g:
        left = layer.left_f
        up, down = _slope(ld, ud, left, True), _slope(ld, ud, left, False)
        narrow = up[1] - down[1] <= upper[2] - lower[2]
        none, straight = np.zeros_like(lf), ranges.straight(layer)
        upper, lower = _chosen(narrow, [up[0], none, up[1]], upper), _chosen(narrow, [down[0], none, down[1]], lower)
        slope = np.where((lf >= 0) | (left == 1), 1.0, left)
        upper, lower = (_chosen(straight, [slope, none, none], line) for line in (upper, lower))
    sizes = [np.maximum(np.abs(a), np.abs(b)) for a, b in (ranges.f, ranges.d)]
    return LinesAround(s, o, t, upper, lower, sizes[0], sizes[1])


def _chosen(where: np.ndarray, first: list[np.ndarray], second: list[np.ndarray]) -> list[np.ndarray]:
    return [np.where(where, a, b) for a, b in zip(first, second, strict=True)]


def _up(x: np.ndarray) -> np.ndarray:
    return x + (np.abs(x) * 4 * EPS + TINY)


def _bent(low: np.ndarray, high: np.ndarray, left: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Slopes and offsets of lines above and below an activation on [low, high]: s u + o above, t u + p below."""
    on, off = (low >= 0) | (left == 1), high <= 0
    fixed = np.where(on, 1.0, left)
    bends = ~(on | off)
    width = np.where(bends, high - low, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        s = np.clip((high - left * low) / width, min(left, 1.0), 1.0)
        s = np.where(np.isfinite(s), s, 1.0)
        o = np.maximum((left - s) * low, (1 - s) * high) * (1 + 8 * EPS) + TINY
    t = np.where(high > -low, 1.0, left)
    zero = np.zeros_like(low)
    return np.where(bends, s, fixed), np.where(bends, o, 0.0), np.where(bends, t, fixed), zero


def _slope(low: np.ndarray, high: np.ndarray, left: float, above: bool) -> tuple[np.ndarray, np.ndarray]:
    """A line above or below z d for d in [low, high] and any z in [left, 1]: slope and offset."""
    pick = np.maximum if above else np.minimum
    at_low, at_high = pick(left * low, low), pick(left * high, high)
    width = np.where(high > low, high - low, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        slope = np.clip((at_high - at_low) / width, min(left, 1.0), 1.0)
        slope = np.where(np.isfinite(slope), slope, 1.0)
        rest = pick(at_low - slope * low, at_high - slope * high)
    room = 8 * EPS * np.maximum(np.abs(low), np.abs(high)) + TINY
    offset = np.maximum(rest, 0.0) + room if above else np.minimum(rest, 0.0) - room
    return slope, offset
