r"""Compiled bounds on two networks f, g and their difference d = f - g over a box: zonotopes with common generators.

A row of a zonotope says that a value is c + sum_k Z_k e_k + r for some \|e_k\| <= 1, common to all rows of both
zonotopes, and some \|r\| <= error. There is one for f and one for d; g is their difference. Carrying d along is what
keeps bounds tight where both networks are nearly equal, and where they are not, d is taken from f and g.

Rounding goes into the error: a sum of n products in floating point, in any order and fused or not, is within
(n + 16) EPS times the sum of their sizes of the exact one, and n UNDERFLOW for underflow.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, PART
from tutelage.functions import relaxations, rounding
from tutelage.functions.relaxations import line
from tutelage.functions.rounding import EPS, UNDERFLOW

LARGEST = 1e150  # beyond it products of two sizes overflow, and a box counts as not bounded
LANES = 8
"""Columns are filled up with zeros to a multiple of this, the numbers of a vector register."""
FAST = {**OPTIONS, "fastmath": {"contract", "reassoc"}}


class Zonotope(NamedTuple):
    """One zonotope: rows z [n, columns], errors and sizes [n], and the rows that are not zero, the first used[0]."""

    z: np.ndarray
    error: np.ndarray
    size: np.ndarray
    active: np.ndarray
    used: np.ndarray


@njit(**OPTIONS)
def new_form(n, columns):
    return Zonotope(np.empty((n, columns)), np.empty(n), np.empty(n), np.empty(n, np.int64), np.zeros(1, np.int64))


@njit(**OPTIONS)
def filled(columns):
    return (columns + LANES - 1) // LANES * LANES


up, down, mean_slope = (njit(**OPTIONS)(part) for part in (rounding.up, rounding.down, relaxations.mean_slope))


@njit(**FAST)
def size_of(row, columns):
    """Sum of the sizes of the generators of a row, rounded up; column 0 is the centre."""
    total = -abs(row[0])
    for k in range(columns):
        total += abs(row[k])
    return max(0.0, total + (columns + 16) * EPS * (total + 2 * abs(row[0])))


@njit(**FAST)
def mixed_size(p, x, q, y, columns):
    """The same for the row p x + q y, not rounded up."""
    total = 0.0
    for k in range(1, columns):
        total += abs(p * x[k] + q * y[k])
    return total


@njit(**FAST)
def add_products(v, w, active, count, z, columns, out_v, out_w):
    """out_v += sum of v[j] z[j] over the active rows j, and out_w += sum of w[j] z[j]."""
    # Four rows at a time: each column of the output is read and written once for four products.
    # Invariant: the rows before n have been added. The remainder of up to three rows is added one by one.
    n = 0
    while n + 4 <= count:
        i, j, k, m = active[n], active[n + 1], active[n + 2], active[n + 3]
        a, b, c, d = z[i], z[j], z[k], z[m]
        vi, vj, vk, vm = v[i], v[j], v[k], v[m]
        wi, wj, wk, wm = w[i], w[j], w[k], w[m]
        for x in range(columns):
            out_v[x] += vi * a[x] + vj * b[x] + vk * c[x] + vm * d[x]
            out_w[x] += wi * a[x] + wj * b[x] + wk * c[x] + wm * d[x]
        n += 4
    while n < count:
        i = active[n]
        a, vi, wi = z[i], v[i], w[i]
        for x in range(columns):
            out_v[x] += vi * a[x]
            out_w[x] += wi * a[x]
        n += 1


@njit(**FAST)
def spread_error(w, form, rounding):
    """What errors below and rounding make of one sum of products with w: sum_j |w_j| (error_j + rounding size_j)."""
    total = 0.0
    for n in range(form.used[0]):
        j = form.active[n]
        total += abs(w[j]) * (form.error[j] + rounding * form.size[j])
    return total


@njit(**OPTIONS)
def affine(wf, wg, wd, bf, bd, f, d, columns, above_f, above_d, stop):
    """One affine layer: f' = Wf f + bf and d' = Wg d + (Wf - Wg) f + (bf - bg); unfinished once stop[0] is set."""
    n, wide = wf.shape[0], filled(columns)
    rounding = (2 * wf.shape[1] + 16) * EPS
    inflate, least = 1 + 2 * rounding, (2 * wf.shape[1] + 16) * columns * UNDERFLOW
    for i in range(n):
        if stop[0]:
            return
        above_f.z[i, :wide] = 0.0
        above_d.z[i, :wide] = 0.0
        add_products(wf[i], wd[i], f.active, f.used[0], f.z, wide, above_f.z[i], above_d.z[i])
        above_f.z[i, 0] += bf[i]
        above_d.z[i, 0] += bd[i]
        error = spread_error(wf[i], f, rounding) + rounding * abs(bf[i])
        above_f.error[i] = error * inflate + least
        error = spread_error(wd[i], f, rounding) + spread_error(wg[i], d, rounding) + rounding * abs(bd[i])
        above_d.error[i] = error * inflate + least
    for i in range(0, n - 1, 2):
        if stop[0]:
            return
        add_products(wg[i], wg[i + 1], d.active, d.used[0], d.z, wide, above_d.z[i], above_d.z[i + 1])
    if n % 2:
        add_products(wg[n - 1], wg[n - 1], d.active, d.used[0], d.z, wide, above_d.z[n - 1], above_f.z[n])


@njit(**OPTIONS)
def range_of(form, i, columns):
    """Lower and upper bound of one row."""
    reach = up(size_of(form.z[i], columns) + form.error[i])
    return down(form.z[i, 0] - reach), up(form.z[i, 0] + reach)


@njit(**OPTIONS)
def range_of_other(f, d, i, columns):
    """Lower and upper bound of one row of g = f - d."""
    rounding = (columns + 16) * EPS
    reach = mixed_size(1.0, f.z[i], -1.0, d.z[i], columns)
    size = reach + abs(f.z[i, 0]) + abs(d.z[i, 0])
    reach = up(reach + f.error[i] + d.error[i] + rounding * size)
    centre = f.z[i, 0] - d.z[i, 0]
    return down(centre - reach), up(centre + reach)


@njit(**OPTIONS)
def tightened(lf, uf, lg, ug, ld, ud):
    """Ranges of f, g and d made smaller by d = f - g."""
    # Each range follows from the other two. One round in this order is what the tensor bounds and the fractions of the
    # checker do too, so that a proof found by one is checked by the other.
    uf, lf = min(uf, up(ug + ud)), max(lf, down(lg + ld))
    ug, lg = min(ug, up(uf - ld)), max(lg, down(lf - ud))
    ud, ld = min(ud, up(uf - lg)), max(ld, down(lf - ug))
    return lf, uf, lg, ug, ld, ud


@njit(**OPTIONS)
def choose(f, d, columns, ld, ud, on_f, on_g, off, sf, hf, sg, hg, left_f, left_g):
    """The form of sigma(f) - sigma(g) with the smallest radius: (p, q, with_f, with_g, own_noise).

    It is p d + q f, plus h_f and its noise times with_f, plus h_g and its noise times with_g, plus noise of its own.
    """
    if on_f and on_g:
        return 1.0, 0.0, 0.0, 0.0, 0.0
    if off:
        return left_f, 0.0, 0.0, 0.0, 0.0
    # From f and g: s_f f - s_g (f - d), with both noises. Where f is linear this is d plus what g bends, and so on.
    best = mixed_size(sg, d, sf - sg, f, columns) + hf + hg
    p, q, with_f, with_g, own_noise = sg, sf - sg, 1.0, -1.0, 0.0
    # The mean slope is the better form where f bends over much more than d is wide: its noise is a share of |d|, while
    # that of the two chords is a share of the ranges of f and g.
    if left_f == left_g:  # a slope between left and 1, times d
        middle, noise = mean_slope(max(ud, -ld), left_f)
        if abs(middle) * mixed_size(1.0, d, 0.0, f, columns) + noise < best:
            p, q, with_f, with_g, own_noise = middle, 0.0, 0.0, 0.0, noise
    return p, q, with_f, with_g, own_noise


@njit(**FAST)
def mix_rows(p, x, q, y, columns):
    """x = p x + q y."""
    for k in range(columns):
        x[k] = p * x[k] + q * y[k]


@njit(**FAST)
def scale_row(row, by, columns):
    for k in range(columns):
        row[k] *= by


@njit(**OPTIONS)
def listed(form, n, columns):
    """Sizes of all rows, and the list of those that are not zero."""
    count = 0
    for i in range(n):
        form.size[i] = size_of(form.z[i], columns) + abs(form.z[i, 0])
        if form.size[i] != 0.0 or form.error[i] != 0.0:
            form.active[count] = i
            count += 1
    form.used[0] = count


@njit(**OPTIONS)
def share_inputs(shares, column, inputs, x, columns):
    """How much each input has to do with a new generator, directly or through others: shares that add up to 1."""
    total = UNDERFLOW
    for k in range(inputs):
        shares[column, k] = abs(x[1 + k])
        total += abs(x[1 + k])
    for c in range(1 + inputs, columns):
        size = abs(x[c])
        if size > 0.0:
            total += size
            for k in range(inputs):
                shares[column, k] += size * shares[c, k]
    for k in range(inputs):
        shares[column, k] /= total


@njit(**PART)
def ranges_on(f, d, n, columns, ranges, stop):
    """Ranges [n, 6] of f, g and d; False on overflow or once stopped."""
    for i in range(n):
        if stop[0]:
            return False
        lf, uf = range_of(f, i, columns)
        lg, ug = range_of_other(f, d, i, columns)
        ld, ud = range_of(d, i, columns)
        # Written with `not <`, so that NaN counts as an overflow: a comparison with NaN is false.
        if not (uf - lf < LARGEST and ug - lg < LARGEST and ud - ld < LARGEST):
            return False
        r = ranges[i]
        r[0], r[1], r[2], r[3], r[4], r[5] = tightened(lf, uf, lg, ug, ld, ud)
    return True


@njit(**PART)
def activate(f, d, n, columns, left_f, left_g, inputs, shares, plan, ranges, stop):
    """sigma(f) and sigma(f) - sigma(g), in place: the number of columns afterwards, -1 once stopped.

    ranges [n, 6]: of f, g and d; plan [n, 8]: scratch; shares [columns, inputs]: written for every new generator where
    inputs > 0.
    """
    # Two passes, since rows may only be overwritten once columns are counted: the first decides on the form of every
    # row and counts its new generators, the second writes them.
    after = columns
    for i in range(n):
        if stop[0]:
            return -1
        r = ranges[i]
        lf, uf, lg, ug, ld, ud = r[0], r[1], r[2], r[3], r[4], r[5]
        sf, hf = line(lf, uf, left_f)
        sg, hg = line(lg, ug, left_g)
        hf, hg = 0.5 * hf, 0.5 * hg  # sigma(u) is s u + h +- h
        on_f, on_g = lf >= 0 or left_f == 1.0, lg >= 0 or left_g == 1.0
        off = uf <= 0 and ug <= 0 and left_f == left_g
        p, q, with_f, with_g, own_noise = choose(
            f.z[i], d.z[i], columns, ld, ud, on_f, on_g, off, sf, hf, sg, hg, left_f, left_g
        )
        plan[i, 0], plan[i, 1], plan[i, 2], plan[i, 3] = sf, hf, p, q
        plan[i, 4], plan[i, 5], plan[i, 6] = with_f * hf, with_g * hg, own_noise
        after += (hf > 0.0) + (plan[i, 5] != 0.0) + (own_noise > 0.0)
    wide = filled(after)
    for i in range(n):
        f.z[i, columns:wide] = 0.0
        d.z[i, columns:wide] = 0.0
    at = columns
    for i in range(n):
        if stop[0]:
            return -1
        at = bend(f, d, i, columns, at, plan[i], inputs, shares)
    listed(f, n, after)
    listed(d, n, after)
    return after


@njit(**OPTIONS)
def bend(f, d, i, columns, at, plan, inputs, shares):
    """Write one row after the activation, new generators from column ``at`` on: the next free column."""
    sf, hf, p, q, with_f, with_g, own_noise = plan[0], plan[1], plan[2], plan[3], plan[4], plan[5], plan[6]
    if p != 1.0 or q != 0.0:
        if p == 0.0 and q == 0.0:
            d.z[i, :columns] = 0.0
            d.error[i] = 0.0
        else:
            size = abs(p) * (size_of(d.z[i], columns) + abs(d.z[i, 0]))
            size += abs(q) * (size_of(f.z[i], columns) + abs(f.z[i, 0]))
            mix_rows(p, d.z[i], q, f.z[i], columns)
            error = abs(p) * d.error[i] + abs(q) * f.error[i] + 8 * EPS * size
            d.error[i] = error * (1 + 8 * EPS) + columns * UNDERFLOW
    if with_f != 0.0 or with_g != 0.0:
        d.error[i] = up(d.error[i] + 4 * EPS * (abs(d.z[i, 0]) + abs(with_f) + abs(with_g)))
        d.z[i, 0] += with_f + with_g
    if own_noise > 0.0:
        d.z[i, at] = own_noise
        if inputs:
            share_inputs(shares, at, inputs, f.z[i], columns)
        at += 1
    # The noise of f is common to f and d (one column for both): where it enters d as a multiple of itself the two
    # cancel, which is what keeps d small. The noise of g is of no other row, so that it has a column of d alone.
    if with_g != 0.0:
        d.z[i, at] = with_g
        if inputs:
            share_inputs(shares, at, inputs, f.z[i], columns)
        at += 1
    if hf > 0.0:
        f.z[i, at] = hf
        d.z[i, at] = with_f
        if inputs:
            share_inputs(shares, at, inputs, f.z[i], columns)
        at += 1
    if sf == 0.0:
        f.z[i, :columns] = 0.0
        f.z[i, 0] = hf
        f.error[i] = 0.0
    elif sf != 1.0 or hf > 0.0:  # a slope may round to 1 where the unit still bends
        size = size_of(f.z[i], columns) + abs(f.z[i, 0])
        scale_row(f.z[i], sf, columns)
        f.error[i] = (abs(sf) * f.error[i] + 4 * EPS * (abs(sf) * size + hf)) * (1 + 8 * EPS) + columns * UNDERFLOW
        f.z[i, 0] += hf
    return at
