r"""Compiled bounds on two networks and on their difference over one box: three zonotopes with common generators.

A row of a zonotope says that a value is c + sum_k Z_k e_k + r for some |e_k| <= 1, common to all rows of all three
zonotopes, and some |r| <= error. Rounding goes into the error: a sum of n products in floating point, in any order and
fused or not, is within (n + 16) EPS times the sum of their sizes of the exact one, n TINY for underflow.

The difference of two units is carried along as a form of its own, since it is small where both are nearly equal.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS

EPS = 2.0**-52
TINY = 1e-300
LARGEST = 1e150
FAST = {**OPTIONS, "fastmath": {"contract", "reassoc"}}


@njit(**FAST)
def size_of(row, columns):
    """Sum of the sizes of the generators of a row, rounded up; column 0 is the centre."""
    total = 0.0
    for k in range(1, columns):
        total += abs(row[k])
    return total * (1 + (columns + 16) * EPS)


@njit(**FAST)
def combined_size(p, x, q, y, r, z, columns):
    """The same for the row p x + q y + r z."""
    total = 0.0
    for k in range(1, columns):
        total += abs(p * x[k] + q * y[k] + r * z[k])
    return total


@njit(**FAST)
def add_products(w, active, count, z, columns, out):
    """out += sum over active units j of w[j] z[j]."""
    n = 0
    while n + 4 <= count:
        j, k, l, m = active[n], active[n + 1], active[n + 2], active[n + 3]
        wj, wk, wl, wm = w[j], w[k], w[l], w[m]
        zj, zk, zl, zm = z[j], z[k], z[l], z[m]
        for c in range(columns):
            out[c] += wj * zj[c] + wk * zk[c] + wl * zl[c] + wm * zm[c]
        n += 4
    while n < count:
        j = active[n]
        wj, zj = w[j], z[j]
        for c in range(columns):
            out[c] += wj * zj[c]
        n += 1


@njit(**FAST)
def spread_error(w, active, count, error, size, rounding):
    """What errors below and rounding make of one sum: sum_j |w_j| (error_j + rounding size_j)."""
    total = 0.0
    for n in range(count):
        j = active[n]
        total += abs(w[j]) * (error[j] + rounding * size[j])
    return total


class Form(NamedTuple):
    """One zonotope: rows z [n, columns], errors and sizes [n], and the rows that are not zero, the first count[0]."""

    z: np.ndarray
    error: np.ndarray
    size: np.ndarray
    active: np.ndarray
    count: np.ndarray


@njit(**OPTIONS)
def row_of(w, b, below, columns, y):
    """Write one row w . below + b into y; its error without the inflation for its own rounding."""
    add_products(w, below.active, below.count[0], below.z, columns, y)
    y[0] += b
    rounding = (2 * w.shape[0] + 16) * EPS
    return spread_error(w, below.active, below.count[0], below.error, below.size, rounding) + rounding * abs(b)


@njit(**OPTIONS)
def affine(wf, wg, wd, bf, bg, bd, f, g, d, columns, above_f, above_g, above_d):
    """One affine layer of all three zonotopes: f' = Wf f + bf, g' = Wg g + bg, f' - g' = Wf (f - g) + (Wf - Wg) g."""
    inflate = 1 + (4 * wf.shape[1] + 32) * EPS
    least = (2 * wf.shape[1] + 16) * columns * TINY
    for i in range(wf.shape[0]):
        above_f.z[i, :columns] = 0.0
        above_g.z[i, :columns] = 0.0
        above_d.z[i, :columns] = 0.0
        above_f.error[i] = row_of(wf[i], bf[i], f, columns, above_f.z[i]) * inflate + least
        above_g.error[i] = row_of(wg[i], bg[i], g, columns, above_g.z[i]) * inflate + least
        error = row_of(wf[i], bd[i], d, columns, above_d.z[i]) + row_of(wd[i], 0.0, g, columns, above_d.z[i])
        above_d.error[i] = error * inflate + least


@njit(**OPTIONS)
def down(x):
    return x - (abs(x) * 2 * EPS + TINY)


@njit(**OPTIONS)
def up(x):
    return x + (abs(x) * 2 * EPS + TINY)


@njit(**OPTIONS)
def tightened(lf, uf, lg, ug, ld, ud):
    """Ranges of f, g and d made smaller by d = f - g."""
    uf, lf = min(uf, up(ug + ud)), max(lf, down(lg + ld))
    ug, lg = min(ug, up(uf - ld)), max(lg, down(lf - ud))
    ud, ld = min(ud, up(uf - lg)), max(ld, down(lf - ug))
    return lf, uf, lg, ug, ld, ud


@njit(**OPTIONS)
def relaxed(low, high, left):
    """sigma(x) = s x + h +- h on [low, high] for the slopes left below 0 and 1 above: (s, h, whether h is needed)."""
    if low >= 0 or left == 1.0:
        return 1.0, 0.0, False
    if high <= 0:
        return left, 0.0, False
    slope = (high - left * low) / (high - low)
    slope = min(1.0, max(left, slope))
    most = max((left - slope) * low, (1 - slope) * high)
    return slope, 0.5 * most * (1 + 8 * EPS) + TINY, True


@njit(**OPTIONS)
def choose(f, g, d, columns, ef, eg, ed, lf, uf, lg, ug, ld, ud, sf, hf, sg, hg, left_f, left_g):
    """The form of sigma(f) - sigma(g) with the smallest radius: (p, q, r, of f's noise, of g's noise, own noise).

    It is p d + q f + r g, plus the centres and noises of the relaxed f and g where asked for, plus noise of its own.
    """
    on_f, on_g = lf >= 0 or left_f == 1.0, lg >= 0 or left_g == 1.0
    if on_f and on_g:
        return 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if uf <= 0 and ug <= 0 and left_f == left_g:
        return left_f, 0.0, 0.0, 0.0, 0.0, 0.0
    best = combined_size(0.0, d, sf, f, -sg, g, columns) + hf + hg + abs(sf) * ef + abs(sg) * eg
    p, q, r, with_f, with_g, own = 0.0, sf, -sg, 1.0, -1.0, 0.0
    if on_f:
        size = combined_size(1.0, d, 0.0, f, 1 - sg, g, columns) + hg + ed + abs(1 - sg) * eg
        if size < best:
            best = size
            p, q, r, with_f, with_g, own = 1.0, 0.0, 1 - sg, 0.0, -1.0, 0.0
    elif on_g:
        size = combined_size(1.0, d, sf - 1, f, 0.0, g, columns) + hf + ed + abs(sf - 1) * ef
        if size < best:
            best = size
            p, q, r, with_f, with_g, own = 1.0, sf - 1, 0.0, 1.0, 0.0, 0.0
    if left_f == left_g:
        middle = 0.5 * (1 + left_f)
        noise = max(1 - middle, middle - left_f) * max(ud, -ld) * (1 + 8 * EPS) + TINY
        size = abs(middle) * (combined_size(1.0, d, 0.0, f, 0.0, g, columns) + ed) + noise
        if size < best:
            p, q, r, with_f, with_g, own = middle, 0.0, 0.0, 0.0, 0.0, noise
    return p, q, r, with_f, with_g, own


@njit(**OPTIONS)
def range_of(form, i, columns):
    """Lower and upper bound of one row."""
    reach = size_of(form.z[i], columns) + form.error[i]
    return down(form.z[i, 0] - up(reach)), up(form.z[i, 0] + up(reach))


@njit(**FAST)
def scale_row(row, by, columns):
    for k in range(columns):
        row[k] *= by


@njit(**FAST)
def mix_rows(p, x, q, y, r, z, columns):
    """x = p x + q y + r z."""
    for k in range(columns):
        x[k] = p * x[k] + q * y[k] + r * z[k]


@njit(**OPTIONS)
def whole(form, i, columns):
    """Size of a row with its centre."""
    return size_of(form.z[i], columns) + abs(form.z[i, 0])


@njit(**OPTIONS)
def listed(form, n, columns):
    """Sizes of all rows, and the list of those that are not zero."""
    count = 0
    for i in range(n):
        form.size[i] = whole(form, i, columns)
        if form.size[i] != 0.0 or form.error[i] != 0.0:
            form.active[count] = i
            count += 1
    form.count[0] = count


@njit(**OPTIONS)
def share_inputs(shares, column, inputs, x, y):
    """How much each input generator has to do with a new generator: a row of shares that add up to 1."""
    total = TINY
    for k in range(inputs):
        total += abs(x[1 + k]) + abs(y[1 + k])
    for k in range(inputs):
        shares[column, k] = (abs(x[1 + k]) + abs(y[1 + k])) / total


@njit(**OPTIONS)
def activate(f, g, d, n, columns, left_f, left_g, inputs, shares, plan):
    """sigma(f), sigma(g) and their difference, in place: the number of columns afterwards, -1 on overflow.

    plan [n, 11]: scratch; shares [columns, inputs]: written for every new generator where inputs > 0.
    """
    after = columns
    for i in range(n):
        lf, uf = range_of(f, i, columns)
        lg, ug = range_of(g, i, columns)
        ld, ud = range_of(d, i, columns)
        if not (uf - lf < LARGEST and ug - lg < LARGEST and ud - ld < LARGEST):
            return -1
        lf, uf, lg, ug, ld, ud = tightened(lf, uf, lg, ug, ld, ud)
        sf, hf, new_f = relaxed(lf, uf, left_f)
        sg, hg, new_g = relaxed(lg, ug, left_g)
        p, q, r, with_f, with_g, own = choose(
            f.z[i], g.z[i], d.z[i], columns, f.error[i], g.error[i], d.error[i],
            lf, uf, lg, ug, ld, ud, sf, hf, sg, hg, left_f, left_g,
        )  # fmt: skip
        plan[i, 0], plan[i, 1], plan[i, 2], plan[i, 3] = sf, hf, sg, hg
        plan[i, 4], plan[i, 5], plan[i, 6], plan[i, 7], plan[i, 8], plan[i, 9] = p, q, r, with_f, with_g, own
        after += new_f + new_g + (own > 0.0)
    for i in range(n):
        for z in (f.z, g.z, d.z):
            z[i, columns:after] = 0.0
    at = columns
    for i in range(n):
        sf, hf, sg, hg = plan[i, 0], plan[i, 1], plan[i, 2], plan[i, 3]
        p, q, r, with_f, with_g, own = plan[i, 4], plan[i, 5], plan[i, 6], plan[i, 7], plan[i, 8], plan[i, 9]
        size = abs(p) * whole(d, i, columns) + abs(q) * whole(f, i, columns) + abs(r) * whole(g, i, columns)
        error = abs(p) * d.error[i] + abs(q) * f.error[i] + abs(r) * g.error[i]
        shift = with_f * hf + with_g * hg
        if p != 1.0 or q != 0.0 or r != 0.0:
            mix_rows(p, d.z[i], q, f.z[i], r, g.z[i], columns)
            error += 8 * EPS * (size + abs(hf) + abs(hg)) + columns * TINY
            if size == 0.0 and shift == 0.0 and error <= columns * TINY:
                error = 0.0
        d.z[i, 0] += shift
        d.error[i] = error * (1 + 8 * EPS)
        if own > 0.0:
            d.z[i, at] = own
            if inputs:
                share_inputs(shares, at, inputs, f.z[i], g.z[i])
            at += 1
        if hf > 0.0:
            f.z[i, at] = hf
            d.z[i, at] = with_f * hf
            if inputs:
                share_inputs(shares, at, inputs, f.z[i], f.z[i])
            at += 1
        if hg > 0.0:
            g.z[i, at] = hg
            d.z[i, at] = with_g * hg
            if inputs:
                share_inputs(shares, at, inputs, g.z[i], g.z[i])
            at += 1
        bend(f, i, columns, sf, hf)
        bend(g, i, columns, sg, hg)
    listed(f, n, after)
    listed(g, n, after)
    listed(d, n, after)
    return after


@njit(**OPTIONS)
def bend(form, i, columns, slope, half):
    """One row times a slope and up by half of what the chord lies above the kink."""
    if slope == 1.0 and half == 0.0:
        return
    if slope == 0.0:
        form.z[i, :columns] = 0.0
        form.z[i, 0] = half
        form.error[i] = 0.0
        return
    size = whole(form, i, columns)
    scale_row(form.z[i], slope, columns)
    form.z[i, 0] += half
    form.error[i] = (abs(slope) * form.error[i] + 4 * EPS * (abs(slope) * size + half)) * (1 + 8 * EPS) + columns * TINY
