"""Compiled: the difference of two networks bounded on many boxes, and which input to split each of them along."""

from typing import NamedTuple

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, compiled, stamp_of
from tutelage.functions.bounding import _zonotopes
from tutelage.functions.bounding._zonotopes import (
    EPS,
    TINY,
    Form,
    activate,
    affine,
    down,
    listed,
    range_of,
    up,
)

_FILES = (_zonotopes.__file__,)


class Pair(NamedTuple):
    """Two networks of the same widths, weights [out, in] one after the other; wd = wf - wg and bd = bf - bg, rounded.

    left_f, left_g: the slope below 0 of the activation of every hidden layer, 1 above.
    """

    widths: np.ndarray
    wf: np.ndarray
    wg: np.ndarray
    wd: np.ndarray
    bf: np.ndarray
    bg: np.ndarray
    bd: np.ndarray
    left_f: np.ndarray
    left_g: np.ndarray


@njit(**OPTIONS)
def new_form(n, columns):
    return Form(np.empty((n, columns)), np.empty(n), np.empty(n), np.empty(n, np.int64), np.zeros(1, np.int64))


@njit(**OPTIONS)
def enter(w, b, centre, radius, free, form):
    """The first layer on a box, its flat sides without generators: rows w x + b."""
    n = w.shape[1]
    rounding = (n + 16) * EPS
    for i in range(w.shape[0]):
        value, size = b[i], abs(b[i])
        for j in range(n):
            value += w[i, j] * centre[j]
            size += abs(w[i, j]) * (abs(centre[j]) + radius[j])
        form.z[i, 0] = value
        for k in range(free.shape[0]):
            form.z[i, 1 + k] = w[i, free[k]] * radius[free[k]]
        form.error[i] = rounding * size * (1 + 2 * rounding) + 2 * (n + 16) * TINY


@njit(**OPTIONS)
def forms_on(pair, low, high, inputs, forms, shares, plan):
    """Zonotopes of both outputs and of their difference on one box: the number of columns, -1 on overflow.

    forms: two for f, two for g, two for d; the outputs are in the second of each where the depth is odd, else the first.
    """
    widths = pair.widths
    centre, radius = 0.5 * low + 0.5 * high, np.empty(low.shape[0])
    free = np.empty(low.shape[0], np.int64)
    count = 0
    for j in range(low.shape[0]):
        reach = max(high[j] - centre[j], centre[j] - low[j])
        radius[j] = up(reach) if reach > 0 else 0.0
        if reach > 0:
            free[count] = j
            count += 1
    free = free[:count]
    columns, w_at, b_at = 1 + count, 0, 0
    for layer in range(widths.shape[0] - 1):
        n, m = widths[layer + 1], widths[layer]
        wf, wg, wd = (
            pair.wf[w_at : w_at + n * m].reshape((n, m)),
            pair.wg[w_at : w_at + n * m].reshape((n, m)),
            pair.wd[w_at : w_at + n * m].reshape((n, m)),
        )
        bf, bg, bd = pair.bf[b_at : b_at + n], pair.bg[b_at : b_at + n], pair.bd[b_at : b_at + n]
        w_at, b_at = w_at + n * m, b_at + n
        odd = layer % 2
        f, g, d = forms[odd], forms[2 + odd], forms[4 + odd]
        if layer == 0:
            enter(wf, bf, centre, radius, free, f)
            enter(wg, bg, centre, radius, free, g)
            enter(wd, bd, centre, radius, free, d)
        else:
            affine(
                wf, wg, wd, bf, bg, bd, forms[1 - odd], forms[3 - odd], forms[5 - odd], columns, f, g, d
            )
        if layer < widths.shape[0] - 2:
            left_f, left_g = pair.left_f[layer], pair.left_g[layer]
            columns = activate(f, g, d, n, columns, left_f, left_g, inputs if inputs == 0 else count, shares, plan)
            if columns < 0:
                return -1, free
    return columns, free


@njit(**OPTIONS)
def blame(forms, kind, chosen, columns, free, shares, score):
    """How much every input contributes to the radius of an output, through whatever generator: added to score [d]."""
    row = forms[kind].z[chosen]
    count = free.shape[0]
    for k in range(count):
        score[free[k]] += abs(row[1 + k])
    for c in range(1 + count, columns):
        size = abs(row[c])
        if size > 0.0:
            for k in range(count):
                score[free[k]] += size * shares[c, k]


def _bounded(stamp):
    @compiled
    def bounded(pair, lows, highs, weights, columns, split, bounds, scores):
        """Bounds [B, C, 2] of f - g on boxes [B, d], and a score [B, d] of the inputs to split along.

        weights [C]: of every output in the score of the largest weighted bound.
        """
        assert stamp >= 0
        widest = pair.widths.max()
        outputs, odd = pair.widths[-1], (pair.widths.shape[0] - 2) % 2
        forms = (
            new_form(widest, columns),
            new_form(widest, columns),
            new_form(widest, columns),
            new_form(widest, columns),
            new_form(widest, columns),
            new_form(widest, columns),
        )
        inputs = lows.shape[1] if split else 0
        shares, plan = np.zeros((columns if split else 1, max(inputs, 1))), np.empty((widest, 10))
        for n in range(lows.shape[0]):
            used, free = forms_on(pair, lows[n], highs[n], inputs, forms, shares, plan)
            if used < 0:
                bounds[n, :, 0], bounds[n, :, 1] = -np.inf, np.inf
                scores[n] = highs[n] - lows[n]
                continue
            worst, largest = 0, -1.0
            for i in range(outputs):
                bounds[n, i, 0], bounds[n, i, 1] = range_of(forms[4 + odd], i, used)
                size = weights[i] * max(-bounds[n, i, 0], bounds[n, i, 1])
                if not size < np.inf:
                    bounds[n, i, 0], bounds[n, i, 1] = -np.inf, np.inf
                if size > largest:
                    worst, largest = i, size
            if split:
                scores[n] = 0.0
                blame(forms, 4 + odd, worst, used, free, shares, scores[n])

    return bounded


bounded = _bounded(stamp_of(*_FILES))
