"""Compiled: the difference of two networks bounded on many boxes, and which input to split each of them along."""

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, PART, compiled, stamp_of
from tutelage.functions import relaxations, rounding
from tutelage.functions.bounds import _refining, _zonotopes
from tutelage.functions.bounds._refining import (
    count_bends,
    draw_lines,
    new_known,
    new_rows,
    refine,
    refine_output,
    size_rows,
    sum_rows,
)
from tutelage.functions.bounds._zonotopes import (
    activate,
    affine,
    down,
    filled,
    mixed_size,
    new_form,
    range_of,
    ranges_on,
    up,
)
from tutelage.functions.rounding import EPS, UNDERFLOW

_FILES = (_zonotopes.__file__, _refining.__file__, relaxations.__file__, rounding.__file__)


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
        form.error[i] = rounding * size * (1 + 2 * rounding) + 2 * (n + 16) * UNDERFLOW


@njit(**PART)
def forms_on(pair, low, high, inputs, refined, forms, shares, plan, known, rows, starts, stop):
    """Zonotopes of the outputs of f and of f - g on one box: the number of columns, -1 on overflow or once stopped.

    forms: two for f and two for d; the outputs are in the second of each where the depth is odd, else the first.
    refined: whether ranges of units that may bend are bounded once more.
    """
    widths = pair.widths
    centre, radius = 0.5 * low + 0.5 * high, np.empty(low.shape[0])
    free = np.empty(low.shape[0], np.int64)
    count = 0
    for j in range(low.shape[0]):
        reach = max(high[j] - centre[j], centre[j] - low[j])
        # A flat side has no generator: 769 of 784 pixels may be fixed, and a column for each would cost their share of
        # every product.
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
        bf, bd = pair.bf[b_at : b_at + n], pair.bd[b_at : b_at + n]
        slack_f, slack_g = pair.slack_f[b_at : b_at + n], pair.slack_g[b_at : b_at + n]
        starts[layer, 0], starts[layer, 1] = w_at, b_at
        w_at, b_at = w_at + n * m, b_at + n
        odd = layer % 2
        f, d = forms[odd], forms[2 + odd]
        if layer == 0:
            enter(wf, bf, centre, radius, free, f)
            enter(wd, bd, centre, radius, free, d)
        else:
            affine(wf, wg, wd, bf, bd, forms[1 - odd], forms[3 - odd], columns, f, d, stop)
        for i in range(n):
            if slack_f[i] > 0.0 or slack_g[i] > 0.0:
                f.error[i] = up(f.error[i] + slack_f[i])
                d.error[i] = up(d.error[i] + up(slack_f[i] + slack_g[i]))
        if refined:
            size_rows(known, layer, n, m, bf, bd, slack_f, slack_g, low, high)
        if layer < widths.shape[0] - 2:
            left_f, left_g = pair.left_f[layer], pair.left_g[layer]
            if not ranges_on(f, d, n, columns, known.ranges[layer], stop):
                return -1, free
            if refined:
                if layer:  # zonotopes of the first layer are exact
                    refine(rows, known, layer, pair, starts, low, high, left_f, left_g, stop)
                draw_lines(known, layer, n, left_f, left_g)
            columns = activate(
                f, d, n, columns, left_f, left_g, count if inputs else 0, shares, plan, known.ranges[layer], stop
            )
            if columns < 0:
                return -1, free
        if stop[0]:  # the loops of this layer were left
            return -1, free
    return columns, free


@njit(**OPTIONS)
def blame(p, x, q, y, columns, free, shares, score):
    """How much every input contributes to the radius of p x + q y, through whatever generator: added to score [d]."""
    count = free.shape[0]
    for k in range(count):
        score[free[k]] += abs(p * x[1 + k] + q * y[1 + k])
    for c in range(1 + count, columns):
        size = abs(p * x[c] + q * y[c])
        if size > 0.0:
            for k in range(count):
                score[free[k]] += size * shares[c, k]


@njit(**OPTIONS)
def most(form, i, j, columns):
    """An upper bound of row i minus row j of one form."""
    x, y = form.z[i], form.z[j]
    size = mixed_size(1.0, x, -1.0, y, columns)
    total = size + abs(x[0]) + abs(y[0])
    reach = size + form.error[i] + form.error[j] + (columns + 16) * EPS * total
    return up(up(x[0] - y[0]) + up(reach))


@njit(**OPTIONS)
def most_of_other(f, d, i, j, columns, row):
    """An upper bound of row i minus row j of g = f - d; row: scratch, which holds the generators of it afterwards."""
    total = abs(f.z[i, 0]) + abs(f.z[j, 0]) + abs(d.z[i, 0]) + abs(d.z[j, 0])
    size = 0.0
    for k in range(columns):
        row[k] = (f.z[i, k] - f.z[j, k]) - (d.z[i, k] - d.z[j, k])
        if k:
            size += abs(row[k])
            total += abs(f.z[i, k]) + abs(f.z[j, k]) + abs(d.z[i, k]) + abs(d.z[j, k])
    error = f.error[i] + f.error[j] + d.error[i] + d.error[j] + (columns + 16) * EPS * total
    return up(up(row[0]) + up(size + error))


@njit(**PART)
def disagreement(f, d, classes, margin, columns, free, shares, score, row):
    """Below 0 where, on the box, the top class of g is that of f wherever f is sure of its own by the margin.

    For every class c that f may be sure of: the largest, over other classes j, of the smaller of the bounds on
    g_j - g_c and on (f_c - f_j) - (g_c - g_j) - margin. Ties of g are agreement.
    """
    worst = -np.inf
    at_c, at_j, at_k = 0, 0, 0
    for c in range(classes):
        sure, other = np.inf, 0
        for k in range(classes):
            if k != c:
                bound = most(f, c, k, columns)
                if not bound >= sure:
                    sure, other = bound, k
        # f is nowhere sure of class c, which therefore needs no proof; how far it is from being sure still says how
        # doubtful the box is.
        if down(sure - margin) < 0 and sure < margin:
            worst = max(worst, sure - margin)
            continue
        for j in range(classes):
            if j != c:
                bound = min(most_of_other(f, d, j, c, columns, row), up(most(d, c, j, columns) - margin))
                # A tie is agreement: a bound of 0 proves the class, and counts as below 0 like any other proof.
                value = bound if not (bound <= 0.0) else min(bound, -UNDERFLOW)
                if not value <= worst:
                    worst, at_c, at_j, at_k = value, c, j, other
    if shares.shape[0] > 1:
        most_of_other(f, d, at_j, at_c, columns, row)
        blame(1.0, row, 0.0, row, columns, free, shares, score)
        blame(1.0, f.z[at_c], -1.0, f.z[at_k], columns, free, shares, score)
    return worst if worst == worst else np.inf


@njit(**PART)
def outputs_on(d, columns, refined, limits, hope, bounds, pair, known, rows, starts, low, high):
    """Bounds [C, 2] of the outputs of f - g made smaller; the output with the largest excess over its limit, that
    excess, and whether no bound is more than ``hope`` times its limit."""
    worst, excess, near = 0, -np.inf, True
    for i in range(bounds.shape[0]):
        ends = bounds[i]
        least, most = range_of(d, i, columns)
        ends[0], ends[1] = max(ends[0], least), min(ends[1], most)
        if refined and limits[i] < np.inf:
            refine_output(rows, known, i, pair, starts, low, high, ends)
        size = max(-ends[0], ends[1])
        if not size < np.inf:
            ends[0], ends[1], size = -np.inf, np.inf, np.inf
        if limits[i] < np.inf and size - limits[i] > excess:
            worst, excess = i, size - limits[i]
        if not size <= hope * limits[i]:
            near = False
    return worst, excess, near


def _bounded(stamp):
    @compiled
    def bounded(pair, lows, highs, limits, margin, hope, columns, bounds, values, scores, stop):
        """Bounds [B, C, 2] of f - g on boxes [B, d], what is missing for a proof [B], and scores [B, d] to split by.

        Without a margin (NaN) what is missing is the largest excess of a bound over its limit [C]; with one, it is
        the disagreement of the top classes. A box is proved where that is 0 or less. scores: empty to leave them out.
        hope: times its limit that a bound may be, and how many units may bend, for ranges to be refined.
        stop: int8 [1] that another thread sets to 1 to end this soon; boxes not done by then have infinite bounds.
        """
        assert stamp >= 0
        widest, split = pair.widths.max(), scores.shape[1] > 0
        outputs, odd = pair.widths[-1], (pair.widths.shape[0] - 2) % 2
        wide = filled(columns)
        forms = (
            new_form(widest + 1, wide),
            new_form(widest + 1, wide),
            new_form(widest + 1, wide),
            new_form(widest + 1, wide),
        )
        f, d = forms[odd], forms[2 + odd]
        inputs = lows.shape[1] if split else 0
        shares, plan = np.zeros((columns if split else 1, max(inputs, 1))), np.empty((widest, 8))
        row, depth = np.empty(wide), pair.widths.shape[0] - 1
        known, rows = new_known(depth, widest), new_rows(widest)
        starts = np.zeros((depth, 2), np.int64)
        sum_rows(pair, known)
        for n in range(lows.shape[0]):
            bounds[n, :, 0], bounds[n, :, 1], values[n] = -np.inf, np.inf, np.inf
            for attempt in range(2):
                refined = attempt == 1
                used, free = forms_on(
                    pair, lows[n], highs[n], inputs, refined, forms, shares, plan, known, rows, starts, stop
                )
                if used < 0:
                    if not refined:  # not bounded at all: cut along the longest side, which needs nothing of the bound
                        for j in range(scores.shape[1]):
                            scores[n, j] = highs[n, j] - lows[n, j]
                    break
                worst, excess, near = outputs_on(
                    d, used, refined, limits, hope[0], bounds[n], pair, known, rows, starts, lows[n], highs[n]
                )
                if split:
                    scores[n] = 0.0
                if margin == margin:
                    excess = disagreement(f, d, outputs, margin, used, free, shares, scores[n], row)
                elif split:
                    blame(1.0, d.z[worst], 0.0, d.z[worst], used, free, shares, scores[n])
                values[n] = excess
                if not (split and near and excess > 0 and margin != margin):
                    break
                if not refined and count_bends(known, pair) > hope[1]:
                    break

    return bounded


bounded = _bounded(stamp_of(*_FILES))
