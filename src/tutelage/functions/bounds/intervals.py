"""Intervals of two networks and of their difference: the cheapest bounds, for networks too large for better ones."""

from typing import Any

import numpy as np
import torch

from tutelage.deadline import NEVER, Deadline, OutOfTime
from tutelage.functions.answers import Question
from tutelage.functions.bounds.backward import Layers, hidden_ranges
from tutelage.functions.interruptible import interruptible
from tutelage.functions.layers.pairs import Pair
from tutelage.functions.relaxations import Ends, difference_image, image
from tutelage.functions.rounding import EPS, UNDERFLOW
from tutelage.functions.search.hunt import Hunt

Ranges = list[tuple[np.ndarray, np.ndarray]]
"""Lower and upper bounds [n] of the pre-activations of f in every hidden layer."""


def backward_ranges(pair: Pair, low: np.ndarray, high: np.ndarray) -> Ranges | None:
    """Ranges of f by linear bounds substituted backwards: far tighter than intervals, and dearer.

    None where f has activations of several kinds or weights that were rounded.
    """
    if pair.slack_f.any() or (pair.left_f != pair.left_f[:1]).any() or len(pair.widths) < 3:
        return None
    weights, biases, w_at, b_at = [], [], 0, 0
    for m, n in zip(pair.widths, pair.widths[1:], strict=False):
        weights.append(torch.from_numpy(pair.wf[w_at : w_at + n * m].reshape(n, m)))
        biases.append(torch.from_numpy(pair.bf[b_at : b_at + n]))
        w_at, b_at = w_at + n * m, b_at + n
    centre, radius = (torch.from_numpy(a) for a in around(low, high))
    lows, highs, _ = hidden_ranges(Layers(tuple(weights), tuple(biases), float(pair.left_f[0]), centre, radius))
    return [(a.numpy(), b.numpy()) for a, b in zip(lows, highs, strict=True)]


def interval_bounds(
    pair: Pair, low: np.ndarray, high: np.ndarray, ranges: Ranges | None = None, deadline: Deadline = NEVER
) -> np.ndarray:
    """Bounds [C] on the difference of every output over a box [d], rounded outwards; infinite on overflow.

    ranges: of f, where better ones than intervals are known.
    """
    f = around(low, high)
    d = np.zeros_like(low), np.zeros_like(low)
    w_at, b_at, widths = 0, 0, pair.widths
    for layer in range(len(widths) - 1):
        deadline.check()
        n, m = widths[layer + 1], widths[layer]
        wf, wg, wd = (w[w_at : w_at + n * m].reshape(n, m) for w in (pair.wf, pair.wg, pair.wd))
        bf, bd, slack_f, slack_g = (b[b_at : b_at + n] for b in (pair.bf, pair.bd, pair.slack_f, pair.slack_g))
        w_at, b_at = w_at + n * m, b_at + n
        d = plus(times(wg, d), times(wd, f), bd, slack_f + slack_g, m)
        f = plus(times(wf, f), (np.zeros(n), np.zeros(n), np.zeros(n)), bf, slack_f, m)
        if layer < len(widths) - 2:
            range_f = ends(f)
            if ranges is not None:
                range_f = np.maximum(range_f[0], ranges[layer][0]), np.minimum(range_f[1], ranges[layer][1])
            f, d = after(range_f, ends(d), pair.left_f[layer], pair.left_g[layer])
    size = d[1] + np.abs(d[0])
    return np.where(np.isfinite(size), size * (1 + 4 * EPS), np.inf)


_UNITS = 4096  # unseen: it trades only time; the most hidden units whose ranges are bounded backwards


def bounded_at_once(pair: Pair, question: Question, hunt: Hunt, deadline: Deadline = NEVER) -> torch.Tensor:
    """Bounds [C] on the difference over the whole box: by intervals, then with better ranges of f where these help.

    A deadline that passes before the intervals are done raises OutOfTime; later it leaves out the better ranges.
    """
    low, high = hunt.low.numpy(), hunt.high.numpy()
    bounds = torch.from_numpy(interval_bounds(pair, low, high, deadline=deadline))
    if (bounds <= question.limits).all() or pair.widths[1:-1].sum() > _UNITS:
        return bounds
    try:
        with interruptible(deadline, len(pair.wf)):
            ranges = backward_ranges(pair, low, high)
        if ranges is not None:
            better = interval_bounds(pair, low, high, ranges, deadline)
            bounds = torch.minimum(bounds, torch.from_numpy(better))
    except OutOfTime:
        pass
    return bounds


Middle = tuple[np.ndarray, np.ndarray]
"""Centre and radius."""


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
