"""Intervals of two networks and of their difference: the cheapest bounds, for networks too large for better ones.

The difference is carried along as a network of its own, d' = Wg d + (Wf - Wg) f + bd, so that nearly equal networks
have narrow intervals of d however wide those of f are. Bounds hold in exact arithmetic of the stored weights; they cost
nine products of a matrix and a vector per layer, and grow with the depth by the absolute row sums of Wg.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tutelage.deadline import NEVER, Deadline
from tutelage.functions.bounds.backward import Layers, hidden_ranges
from tutelage.functions.layers.pairs import LayerPair
from tutelage.functions.relaxations import Ends, apart, difference_image, image
from tutelage.functions.rounding import EPS, UNDERFLOW

Middle = tuple[np.ndarray, np.ndarray]
"""Centre and radius."""


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


def backward_ranges(
    layers: list[LayerPair], low: np.ndarray, high: np.ndarray, steps: int = 0, deadline: Deadline | None = None
) -> list[Ends] | None:
    """Ranges of f in every hidden layer by linear bounds substituted backwards: far tighter than intervals, and dearer.

    None where f has activations of several kinds. steps: of the gradient for every range, as far as the deadline lets.
    """
    kinds = {layer.left_f for layer in layers[:-1]}
    if len(kinds) != 1:
        return None
    # Only f is bounded backwards: its ranges enter the difference through (Wf - Wg) f, which is small for nearly equal
    # networks, so that looser ranges of d cost little.
    weights, biases, slacks = (
        tuple(torch.from_numpy(a) for a in arrays)
        for arrays in zip(*((l.wf, l.bf, l.slack_f) for l in layers), strict=True)
    )
    centre, radius = (torch.from_numpy(a) for a in around(low, high))
    lows, highs, _ = hidden_ranges(Layers(weights, biases, kinds.pop(), centre, radius, slacks), steps, deadline)
    return [(a.numpy(), b.numpy()) for a, b in zip(lows, highs, strict=True)]


def interval_bounds(
    layers: list[LayerPair],
    low: np.ndarray,
    high: np.ndarray,
    ranges: list[Ends] | None = None,
    deadline: Deadline = NEVER,
) -> np.ndarray:
    """Bounds [C] on the difference of every output over a box [d], rounded outwards; infinite on overflow.

    ranges: of f in every hidden layer, where better ones than intervals are known.
    """
    # d' = Wg d + (Wf - Wg) f + bd: equal networks keep d = 0 in every layer, whatever the size of f.
    f, d = around(low, high), around(np.zeros_like(low), np.zeros_like(low))
    for number, layer in enumerate(layers):
        deadline.check()
        met = by_intervals(layer, f, d)
        if number < len(layers) - 1:
            known = met.f if ranges is None else ranges[number]
            range_f = np.maximum(met.f[0], known[0]), np.minimum(met.f[1], known[1])
            f, d = after(range_f, met.d, layer.left_f, layer.left_g)
    size = np.maximum(np.abs(met.d[0]), np.abs(met.d[1]))
    return np.where(np.isfinite(size), size, np.inf)


def around(low: np.ndarray, high: np.ndarray) -> Middle:
    """Centre and radius of intervals, the radius rounded up."""
    with np.errstate(invalid="ignore", over="ignore"):
        centre = 0.5 * low + 0.5 * high
        reach = np.maximum(high - centre, centre - low)
    return centre, np.where(reach > 0, reach * (1 + 4 * EPS) + UNDERFLOW, reach)


def times(w: Any, x: Middle, size: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre, radius and size of W x; size: the sizes of W, where they are known."""
    size = np.abs(w) if size is None else size
    return w @ x[0], size @ x[1], size @ (np.abs(x[0]) + x[1])


def plus(x, y, b: np.ndarray, slack: np.ndarray, terms: int) -> Middle:
    rounding = (2 * terms + 32) * EPS
    radius = (x[1] + y[1] + slack + rounding * (x[2] + y[2] + np.abs(b))) * (1 + rounding) + 4 * terms * UNDERFLOW
    return x[0] + y[0] + b, radius


def ends(x: Middle) -> tuple[np.ndarray, np.ndarray]:
    room = 2 * EPS * (np.abs(x[0]) + x[1]) + UNDERFLOW
    return x[0] - x[1] - room, x[0] + x[1] + room


def after(range_f: Ends, range_d: Ends, left_f: float, left_g: float) -> tuple[Middle, Middle]:
    """Centre and radius of the features of f and of their difference, from the ranges of the pre-activations."""
    return around(*image(*range_f, left_f)), around(*difference_image(range_f, range_d, left_f, left_g))
