"""How fast units move while the pattern of active samples stays as it is: parts of the loop of :mod:`._flow_loops`."""

import math

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS

OFF, ON, TIED = np.int8(0), np.int8(1), np.int8(2)
UNBALANCED = 1e-6  # of |w|^2: how far a^2 may be from it


@njit(**OPTIONS)
def _log_slope(code, m):
    """log -phi'(m), as :func:`.losses.log_slope`."""
    if code == 0:
        return -(m + math.log1p(math.exp(-m))) if m > 0 else -math.log1p(math.exp(m))
    if code == 1:
        return -m
    return -3 * math.log1p(m) if m > 0 else 0.0


@njit(**OPTIONS)
def dot(v, j, x, i):
    """Inner product of row j of v and row i of x."""
    total = 0.0
    for k in range(x.shape[1]):
        total += v[j, k] * x[i, k]
    return total


@njit(**OPTIONS)
def heights(w, x, out):
    """w_j.x_i for all units and samples: [p, n]."""
    for j in range(w.shape[0]):
        for i in range(x.shape[0]):
            out[j, i] = dot(w, j, x, i)


@njit(**OPTIONS)
def pulls(tau, a, height, y, pattern, code, pull, seen):
    """(1 + t) y_i |l_i'| for samples that some unit is active on or tied to, 0 for others: [n]."""
    for i in range(y.shape[0]):
        pull[i], seen[i] = 0.0, False
    for j in range(a.shape[0]):
        for i in range(y.shape[0]):
            if pattern[j, i] != OFF:
                seen[i] = True
            if pattern[j, i] == ON:
                pull[i] += a[j] * height[j, i]
    for i in range(y.shape[0]):
        if seen[i]:
            pull[i] = y[i] * math.exp(min(tau + _log_slope(code, y[i] * pull[i]), 700.0))


@njit(**OPTIONS)
def plain_speed(j, a, x, pull, pattern, row, out):
    """a_j times the pulls of the active samples of unit j, before ties are taken out, into row ``row`` of out."""
    for k in range(x.shape[1]):
        out[row, k] = 0.0
    for i in range(x.shape[0]):
        if pattern[j, i] == ON:
            for k in range(x.shape[1]):
                out[row, k] += pull[i] * x[i, k]
    for k in range(x.shape[1]):
        out[row, k] *= a[j]


@njit(**OPTIONS)
def tied_samples(pattern, j):
    number = 0
    for i in range(pattern.shape[1]):
        if pattern[j, i] == TIED:
            number += 1
    found = np.empty(number, np.int64)
    number = 0
    for i in range(pattern.shape[1]):
        if pattern[j, i] == TIED:
            found[number] = i
            number += 1
    return found


@njit(**OPTIONS)
def _multipliers(v, row, x, tied):
    """c with v[row] + sum c_k x_k orthogonal to all tied samples, by elimination in their Gram matrix."""
    number = tied.shape[0]
    gram, c = np.empty((number, number)), np.empty(number)
    for b in range(number):
        for e in range(number):
            gram[b, e] = dot(x, tied[b], x, tied[e])
        c[b] = -dot(v, row, x, tied[b])
    for b in range(number):
        for e in range(b + 1, number):
            factor = gram[e, b] / gram[b, b]
            for k in range(b, number):
                gram[e, k] -= factor * gram[b, k]
            c[e] -= factor * c[b]
    for b in range(number - 1, -1, -1):
        for e in range(b + 1, number):
            c[b] -= gram[b, e] * c[e]
        c[b] /= gram[b, b]
    return c


@njit(**OPTIONS)
def _take_out(v, row, x, tied):
    if tied.shape[0]:
        c = _multipliers(v, row, x, tied)
        for b in range(tied.shape[0]):
            for k in range(x.shape[1]):
                v[row, k] += c[b] * x[tied[b], k]


@njit(**OPTIONS)
def onto(w, j, x, tied):
    """Unit j moved onto the boundaries it is tied to, its length kept, which balance asks for."""
    if tied.shape[0]:
        before = dot(w, j, w, j)
        _take_out(w, j, x, tied)
        factor = math.sqrt(before / dot(w, j, w, j))
        for k in range(x.shape[1]):
            w[j, k] *= factor


@njit(**OPTIONS)
def balance(w, a, balanced):
    """Units that began with |a_j| = |w_j| and shrank until rounding and steps tell them apart are made so again.

    The flow keeps a_j^2 - |w_j|^2 (004, Lemma B.4), so an error made while a unit was long is seen once it is short.
    """
    for j in range(a.shape[0]):
        size = dot(w, j, w, j)
        if balanced[j] and abs(a[j] * a[j] - size) > UNBALANCED * size:
            a[j] = math.copysign(math.sqrt(size), a[j])


@njit(**OPTIONS)
def slope(tau, w, a, x, y, pattern, sliding, code, height, pull, seen, dw, da):
    """Speeds in tau into dw [p, d] and da [p]."""
    heights(w, x, height)
    pulls(tau, a, height, y, pattern, code, pull, seen)
    for j in range(a.shape[0]):
        plain_speed(j, a, x, pull, pattern, j, dw)
        total = 0.0
        for i in range(x.shape[0]):
            if pattern[j, i] == ON:
                total += pull[i] * height[j, i]
        da[j] = total
        if sliding[j]:
            _take_out(dw, j, x, tied_samples(pattern, j))
