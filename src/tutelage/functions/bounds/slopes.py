r"""The sign of a network's derivative on a box: where no part of it can be negative, the network never falls.

A network of units with slopes from 0 to 1 is piecewise linear. Its derivative by an input at any point of a box is
:math:`W_L D_{L-1} W_{L-1} \cdots D_1 W_1` with a slope in [0, 1] in every place of D, which is 0 or 1 where the range
of the unit on the box has one sign. Intervals of that product, from the top down, bound it; boxes are cut in two until
all are decided. Along a straight line the function is the integral of its derivative, so that a bound of 0 says more
than any bound on differences could: these are 0 where the two inputs meet, and no cutting makes an interval end there.
"""

import numpy as np

from tutelage import verifying
from tutelage.deadline import Deadline
from tutelage.functions.bounds.enclosures import Enclosure, line
from tutelage.functions.rounding import EPS, UNDERFLOW

_BATCH, _MOST = 256, 200_000  # boxes at a time, and that may wait


def never_falls(
    layers: list[verifying.StoredLayer],
    output: int,
    signs: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    limit: Deadline,
) -> bool:
    """Whether signs [d] times the derivatives of one output is at least 0 on a box, by every input whose sign is not 0.

    layers: of relu units. False also where the time was too short.
    """
    waiting_low, waiting_high = low[None], high[None]
    size = np.where(high > low, high - low, 1.0)
    # Invariant: the boxes that wait, and those that were proved, cover the domain.
    while len(waiting_low) and len(waiting_low) < _MOST and not limit.passed:
        # The last boxes first: the number that waits stays small where most are proved soon.
        lows, highs = waiting_low[-_BATCH:], waiting_high[-_BATCH:]
        waiting_low, waiting_high = waiting_low[:-_BATCH], waiting_high[:-_BATCH]
        with np.errstate(all="ignore"):
            open_ = ~(_least(layers, output, signs, lows, highs) >= 0).all(1)
        lows, highs = lows[open_], highs[open_]
        side, rows = ((highs - lows) / size).argmax(1), np.arange(len(lows))
        middle = 0.5 * lows[rows, side] + 0.5 * highs[rows, side]
        if not ((lows[rows, side] < middle) & (middle < highs[rows, side])).all():
            return False
        left, right = highs.copy(), lows.copy()
        left[rows, side] = right[rows, side] = middle
        waiting_low, waiting_high = (
            np.concatenate(x) for x in ((waiting_low, lows, right), (waiting_high, left, highs))
        )
    return not len(waiting_low)


def _least(
    layers: list[verifying.StoredLayer], output: int, signs: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Lower bounds [B, d] of signs times the derivatives on boxes [B, d], 0 where the sign is 0."""
    centre = 0.5 * low + 0.5 * high
    radius = np.maximum(high - centre, centre - low) * (1 + 4 * EPS) + UNDERFLOW * (high > low)
    x = Enclosure(centre, np.eye(low.shape[1]) * radius[..., None], 0 * centre)
    slopes = []
    for layer in layers[:-1]:
        u = x.into(layer)
        ends = u.ends()
        slopes.append(((ends[0] > 0).astype(float), (ends[1] >= 0).astype(float)))
        x = _relu(u)
    top = layers[-1].a[output, :-1]
    least = most = np.broadcast_to(top, (len(low), len(top)))
    for (flat, steep), layer in zip(reversed(slopes), reversed(layers[:-1]), strict=True):
        least, most = np.minimum(flat * least, steep * least), np.maximum(flat * most, steep * most)
        least, most = _times(least, most, layer.a[:, :-1]), -_times(-most, -least, layer.a[:, :-1])
    return np.where(signs > 0, least, np.where(signs < 0, -most, 0.0))


def _times(least: np.ndarray, most: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Lower bounds of rows between least and most [B, n] times w [n, m]; not below 0 where no term is."""
    up, down = np.maximum(w, 0.0), np.minimum(w, 0.0)
    # Terms of one sign apart: where none is negative the bound is 0 or more, which rounding must not turn into less.
    above = np.maximum(least, 0.0) @ up + np.minimum(most, 0.0) @ down
    below = np.minimum(least, 0.0) @ up + np.maximum(most, 0.0) @ down
    room = verifying.gamma(2 * len(w)) * (above - below) + UNDERFLOW
    negative = (least < 0).astype(float) @ (w > 0) + (most > 0).astype(float) @ (w < 0)  # terms, which may underflow
    return np.where(negative == 0, np.maximum(above - room, 0.0), above + below - room)


def _relu(u: Enclosure) -> Enclosure:
    """relu(u): between s u and s u + 2 h."""
    (low, high), n = u.ends(), u.c.shape[1]
    s, h = line(low, high)
    bends = np.flatnonzero(h.any(0))
    noise = np.eye(n)[:, bends] * h[..., None]
    error = s * u.error * (1 + 8 * EPS) + 8 * EPS * (s * u.size() + h) + UNDERFLOW
    return Enclosure(s * u.c + h, np.concatenate([s[..., None] * u.z, noise], 2), error)
