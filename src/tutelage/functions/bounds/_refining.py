r"""Compiled: ranges of units that may bend, by linear bounds that are substituted backwards through both networks.

A zonotope fixes one form of every unit, for all that lies above. A bound that is substituted backwards takes, for each
unit below, the line above or the line below by the sign with which the unit enters, and so bounds one value closer
(Zhang et al. 2018). Where a zonotope leaves open on which side of its kink a unit is, this mostly settles it, and a
unit that does not bend has no noise in any bound above. It costs two rows per bound instead of a column per unit.

A row stands for P f + Q d + c, with f and d = f - g the pre-activations of a layer. One layer below, with s = sigma(f)
and a = sigma(f) - sigma(g), it is (P Wf + Q Wd) s + (Q Wg) a + P bf + Q bd + c; then lines around s (in f) and around a
(in f and d) are put in. Slopes are numbers like any other, with which the lines hold: what is rounded are coefficients,
by shares of sizes that are known, and that is added up in an error of its own.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, PART
from tutelage.functions.bounds._zonotopes import FAST, LARGEST, add_products, tightened, up
from tutelage.functions.relaxations import line
from tutelage.functions.rounding import EPS, UNDERFLOW

LF, UF, LG, UG, LD, UD = range(6)
_ROOM = 1 + 16 * EPS


class KnownLayers(NamedTuple):
    """What is known about every layer of both networks on a box.

    ranges [layers, units, 6]: of f, g and d. lines [layers, 9, units]: slope and offset above s, slope below it, then
    what f and d are multiplied with and the offset of a plane above a, and of one below. sizes [layers, 2, units]: of
    f, of a. met [layers, 2, units]: what coefficients of s and of a are multiplied with at most. errors [layers, 2,
    units]: what rows of f and of d are off by at most, per coefficient. tiny [layers]: what may underflow. sums
    [layers, units, 3]: of the sizes of the weights of f, g and d.
    """

    ranges: np.ndarray
    lines: np.ndarray
    sizes: np.ndarray
    met: np.ndarray
    errors: np.ndarray
    tiny: np.ndarray
    sums: np.ndarray


class RowPair(NamedTuple):
    """Coefficients of two rows, [2, units] each: p, q of f and d, then s, a of the layer below; active: scratch."""

    p: np.ndarray
    q: np.ndarray
    s: np.ndarray
    a: np.ndarray
    active: np.ndarray


@njit(**PART)
def new_known(layers, units):
    return KnownLayers(
        np.zeros((layers, units, 6)),
        np.zeros((layers, 9, units)),
        np.zeros((layers, 2, units)),
        np.zeros((layers, 2, units)),
        np.zeros((layers, 2, units)),
        np.zeros(layers),
        np.zeros((layers, units, 3)),
    )


@njit(**PART)
def new_rows(units):
    return RowPair(
        np.zeros((2, units)),
        np.zeros((2, units)),
        np.zeros((2, units)),
        np.zeros((2, units)),
        np.zeros(units, np.int64),
    )


@njit(**PART)
def straight(r, left_f, left_g):
    """Whether neither network bends at a unit, or both are flat below."""
    on = (r[LF] >= 0 or left_f == 1.0) and (r[LG] >= 0 or left_g == 1.0)
    return on or (r[UF] <= 0 and r[UG] <= 0 and left_f == left_g)


@njit(**PART)
def line_below(low, high, left):
    """The slope of a line below a unit: the one that leaves the smaller area."""
    if low >= 0 or left == 1.0:
        return 1.0
    return left if high <= -low else 1.0


@njit(**PART)
def share_line(low, high, left):
    """Slope and offset of a line above z d for d from low to high and z from left to 1."""
    at_low, at_high = max(left * low, low), max(left * high, high)
    slope = min(1.0, max(left, (at_high - at_low) / (high - low))) if high > low else 1.0
    rest = max(at_low - slope * low, at_high - slope * high)
    return slope, max(rest, 0.0) + 8 * EPS * max(abs(low), abs(high)) + UNDERFLOW


@njit(**OPTIONS)
def plane_above(lf, uf, lg, ug, ld, ud, left_f, left_g, plane):
    """The plane above sigma(f) - sigma(g) that is lowest at the middle: its slopes in f and d, and its offset."""
    middle_f, middle_d = 0.5 * lf + 0.5 * uf, 0.5 * ld + 0.5 * ud
    # A line above f less one below g.
    slope, offset = line(lf, uf, left_f)
    below = line_below(lg, ug, left_g)
    plane[0], plane[1], plane[2] = slope - below, below, offset
    best = plane[0] * middle_f + plane[1] * middle_d + offset
    if left_f == left_g:  # z d
        slope, offset = share_line(ld, ud, left_f)
        if slope * middle_d + offset < best:
            plane[0], plane[1], plane[2] = 0.0, slope, offset
            best = slope * middle_d + offset
        if left_f == 0.0:  # no more than the largest of both
            most = min(max(ud, 0.0), up(max(uf, 0.0) - max(lg, 0.0)))
            if most < best:
                plane[0], plane[1], plane[2] = 0.0, 0.0, most


@njit(**PART)
def draw_lines(known, layer, n, left_f, left_g):
    """The lines of a layer, from its ranges."""
    lines, plane = known.lines[layer], np.zeros(3)
    for i in range(n):
        r = known.ranges[layer, i]
        lines[0, i], lines[1, i] = line(r[LF], r[UF], left_f)
        lines[2, i] = line_below(r[LF], r[UF], left_f)
        if straight(r, left_f, left_g):
            slope = 1.0 if r[LF] >= 0 or left_f == 1.0 else left_f
            lines[3, i], lines[4, i], lines[5, i] = 0.0, slope, 0.0
            lines[6, i], lines[7, i], lines[8, i] = 0.0, slope, 0.0
        else:
            plane_above(r[LF], r[UF], r[LG], r[UG], r[LD], r[UD], left_f, left_g, plane)
            lines[3, i], lines[4, i], lines[5, i] = plane[0], plane[1], plane[2]
            # sigma(f) - sigma(g) is -(sigma(g) - sigma(f)); in f and d, u g + v (g - f) is u f - (u + v) d.
            plane_above(r[LG], r[UG], r[LF], r[UF], -r[UD], -r[LD], left_g, left_f, plane)
            lines[6, i], lines[7, i], lines[8, i] = -plane[0], plane[0] + plane[1], -plane[2]
        size_f, size_d = max(-r[LF], r[UF], 0.0), max(-r[LD], r[UD], 0.0)
        known.sizes[layer, 0, i] = size_f
        known.sizes[layer, 1, i] = size_d if left_f == left_g else 2 * size_f + size_d
        # Slopes are of size 1 at most, and their sums and differences of size 2.
        known.met[layer, 0, i] = size_f + lines[1, i]
        known.met[layer, 1, i] = 2 * (size_f + size_d) + max(lines[5, i], -lines[8, i], 0.0)


@njit(**PART)
def sum_rows(pair, known):
    """Sums of the sizes of the weights in every row, which do not depend on the box."""
    w_at = 0
    for layer in range(pair.widths.shape[0] - 1):
        n, m = pair.widths[layer + 1], pair.widths[layer]
        for i in range(n):
            sums = known.sums[layer, i]
            sums[:] = 0.0
            for j in range(w_at, w_at + m):
                sums[0] += abs(pair.wf[j])
                sums[1] += abs(pair.wg[j])
                sums[2] += abs(pair.wd[j])
            w_at += m


@njit(**PART)
def size_rows(known, layer, n, m, bf, bd, slack_f, slack_g, low, high):
    """What rows of a layer are rounded by: shares of the sizes of everything that is multiplied with weights."""
    most_s, most_a, total = 0.0, 0.0, 1.0
    for j in range(m):
        if layer == 0:
            s, a = max(abs(low[j]), abs(high[j])), 0.0
        else:
            s, a = known.sizes[layer - 1, 0, j], known.sizes[layer - 1, 1, j]
        most_s, most_a, total = max(most_s, s), max(most_a, a), total + s + a
    known.tiny[layer] = (n + m + 64) * UNDERFLOW * total
    rounding = (2 * n + m + 64) * EPS
    for i in range(n):
        sums = known.sums[layer, i]
        size_f = sums[0] * most_s + abs(bf[i])
        size_d = sums[1] * most_a + sums[2] * most_s + abs(bd[i])
        known.errors[layer, 0, i] = up(slack_f[i] + rounding * size_f)
        known.errors[layer, 1, i] = up(up(slack_f[i] + slack_g[i]) + rounding * size_d)


@njit(**FAST)
def met_by(p, q, n, bf, bd, errors):
    """The constant of a row p, q of f and d of a layer, and what it is off by."""
    value = error = 0.0
    error_f, error_d = errors[0], errors[1]
    for i in range(n):
        value += p[i] * bf[i] + q[i] * bd[i]
        error += abs(p[i]) * error_f[i] + abs(q[i]) * error_d[i]
    return value, error


@njit(**PART)
def through_weights(rows, known, layer, wf, wg, wd, bf, bd, value, error):
    """Two rows of f and d of a layer as rows of s and a of the layer below: s, a from p, q."""
    n, m = wf.shape
    for k in range(2):
        rows.s[k, :m] = 0.0
        rows.a[k, :m] = 0.0
        added, off = met_by(rows.p[k], rows.q[k], n, bf, bd, known.errors[layer])
        value[k] += added
        error[k] += off + (2 * n + m + 64) * EPS * abs(value[k]) + known.tiny[layer]
    count = 0
    for i in range(n):
        if rows.p[0, i] != 0.0 or rows.p[1, i] != 0.0:
            rows.active[count] = i
            count += 1
    add_products(rows.p[0], rows.p[1], rows.active, count, wf, m, rows.s[0], rows.s[1])
    count = 0
    for i in range(n):
        if rows.q[0, i] != 0.0 or rows.q[1, i] != 0.0:
            rows.active[count] = i
            count += 1
    add_products(rows.q[0], rows.q[1], rows.active, count, wd, m, rows.s[0], rows.s[1])
    add_products(rows.q[0], rows.q[1], rows.active, count, wg, m, rows.a[0], rows.a[1])


@njit(**FAST)
def by_lines(s, a, lines, met, n, p, q):
    """p and q from s and a, by the lines above or below; what their offsets add up to, and all sizes that were met."""
    above, offset, below = lines[0], lines[1], lines[2]
    f_up, d_up, o_up, f_down, d_down, o_down = lines[3], lines[4], lines[5], lines[6], lines[7], lines[8]
    met_s, met_a = met[0], met[1]
    added = size = 0.0
    for j in range(n):  # without branches, so that it is vectorised
        s_up, s_down, a_up, a_down = max(s[j], 0.0), min(s[j], 0.0), max(a[j], 0.0), min(a[j], 0.0)
        p[j] = s_up * above[j] + s_down * below[j] + a_up * f_up[j] + a_down * f_down[j]
        q[j] = a_up * d_up[j] + a_down * d_down[j]
        added += s_up * offset[j] + a_up * o_up[j] + a_down * o_down[j]
        size += abs(s[j]) * met_s[j] + abs(a[j]) * met_a[j]  # NaN if one of both is: max and min may drop it
    return added, size


@njit(**PART)
def through_units(rows, known, layer, n, value, error):
    """Two rows of s and a of a layer as rows of its f and d: p, q from s, a."""
    for k in range(2):
        added, size = by_lines(rows.s[k], rows.a[k], known.lines[layer], known.met[layer], n, rows.p[k], rows.q[k])
        value[k] += added
        error[k] += (2 * n + 64) * EPS * (size + abs(value[k])) + known.tiny[layer + 1]


@njit(**OPTIONS)
def substituted(rows, known, layer, pair, starts, low, high, value, error, most):
    """Upper bounds [2] of two rows of f and d of a layer, on the box: NaN or infinite where numbers overflow."""
    for k in range(layer, -1, -1):
        n, m = pair.widths[k + 1], pair.widths[k]
        w_at, b_at = starts[k, 0], starts[k, 1]
        through_weights(
            rows,
            known,
            k,
            pair.wf[w_at : w_at + n * m].reshape((n, m)),
            pair.wg[w_at : w_at + n * m].reshape((n, m)),
            pair.wd[w_at : w_at + n * m].reshape((n, m)),
            pair.bf[b_at : b_at + n],
            pair.bd[b_at : b_at + n],
            value,
            error,
        )
        if k:
            through_units(rows, known, k - 1, m, value, error)
    d = pair.widths[0]
    for k in range(2):
        reach, met = 0.0, 0.0
        for j in range(d):
            s = rows.s[k, j]
            reach += s * (high[j] if s > 0 else low[j])
            met += abs(s) * max(abs(high[j]), abs(low[j]))
        total = value[k] + reach
        room = error[k] + (2 * d + 64) * EPS * (met + abs(value[k])) + d * UNDERFLOW
        most[k] = up(up(total) + up(room * _ROOM))


@njit(**PART)
def ask(rows, n, i, p, q, value, error):
    """Both rows of one unit: p f + q d from above, and its negative."""
    rows.p[:, :n] = 0.0
    rows.q[:, :n] = 0.0
    rows.p[0, i], rows.p[1, i] = p, -p
    rows.q[0, i], rows.q[1, i] = q, -q
    value[:] = 0.0
    error[:] = 0.0


@njit(**PART)
def narrow(r, low, high, most):
    """A range made smaller by the bounds of its two rows, where these are numbers."""
    if -LARGEST < most[0] < r[high]:
        r[high] = most[0]
    if -LARGEST < most[1] < LARGEST and -most[1] > r[low]:
        r[low] = -most[1]


@njit(**PART)
def agreed(r):
    """The three ranges made smaller by one another."""
    r[LF], r[UF], r[LG], r[UG], r[LD], r[UD] = tightened(r[LF], r[UF], r[LG], r[UG], r[LD], r[UD])


@njit(**PART)
def count_bends(known, pair):
    """How many units above the first layer may bend, by the ranges of a zonotope."""
    count = 0
    for layer in range(1, pair.widths.shape[0] - 2):
        for i in range(pair.widths[layer + 1]):
            count += not straight(known.ranges[layer, i], pair.left_f[layer], pair.left_g[layer])
    return count


@njit(**PART)
def refine(rows, known, layer, pair, starts, low, high, left_f, left_g, stop):
    """Ranges of the units of a layer that may bend, made smaller; those of all units are known before."""
    value, error, most = np.zeros(2), np.zeros(2), np.zeros(2)
    n = pair.widths[layer + 1]
    for i in range(n):
        r = known.ranges[layer, i]
        # f first, which costs a third: where it settles the unit, or d does, the others are not asked for. g is what d
        # leaves of f, and is asked for where only g may bend.
        for kind in range(3):
            if stop[0]:
                return
            if straight(r, left_f, left_g) or (kind == 2 and r[LF] < 0 < r[UF]):
                break
            p, q = (1.0, 0.0) if kind == 0 else (0.0, 1.0) if kind == 1 else (1.0, -1.0)
            ask(rows, n, i, p, q, value, error)
            substituted(rows, known, layer, pair, starts, low, high, value, error, most)
            at = LF if kind == 0 else LD if kind == 1 else LG
            narrow(r, at, at + 1, most)
            agreed(r)


@njit(**PART)
def refine_output(rows, known, i, pair, starts, low, high, ends):
    """The range [2] of one output of d, made smaller."""
    value, error, most = np.zeros(2), np.zeros(2), np.zeros(2)
    layer = pair.widths.shape[0] - 2
    ask(rows, pair.widths[layer + 1], i, 0.0, 1.0, value, error)
    substituted(rows, known, layer, pair, starts, low, high, value, error, most)
    narrow(ends, 0, 1, most)
