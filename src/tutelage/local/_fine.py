"""The fine way to a loss and its gradient: students grouped by teacher, a part of :mod:`._loops`.

What a group leaves of the residual is an average error and the wedges of its students (Zhou et al. 2021, eq. 3;
:mod:`._wedges`).
"""

import math

import numpy as np
from numba import njit

from tutelage.compiling import INLINED
from tutelage.local._plain import dot
from tutelage.local._wedges import add_effective, less_sine, overlap, wedge


@njit(**INLINED)
def _normalise(w, u, n, first):
    """Units and lengths of vectors w into the rows of u and n from the first on; a zero vector has unit 0."""
    for i in range(w.shape[0]):
        size = math.sqrt(dot(w, i, w, i))
        n[first + i] = size
        for a in range(w.shape[1]):
            u[first + i, a] = w[i, a] / size if size > 0 else 0.0


@njit(**INLINED)
def _outward(n, top, u, g, dw):
    """dw = top |w| (I + u u^T) g, the gradient in w from that in the effective neuron; return its squared norm."""
    size = 0.0
    for j in range(dw.shape[0]):
        along = dot(g, j, u, j)
        for a in range(dw.shape[1]):
            dw[j, a] = top[j] * n[j] * (g[j, a] + along * u[j, a])
            size += dw[j, a] * dw[j, a]
    return size


@njit(**INLINED)
def _beside(x, j, u, i, f, row):
    """Sine and cosine in x_j = cosine u_i + sine f_row for units; f_row is a unit at right angles to u_i, or 0."""
    d = x.shape[1]
    # Gram and Schmidt twice over: near u_i the difference has few digits, and what the first pass missed of u_i would
    # be as large as f itself. The sine is measured after the second.
    cosine = dot(x, j, u, i)
    for a in range(d):
        f[row, a] = x[j, a] - cosine * u[i, a]
    again = dot(f, row, u, i)
    for a in range(d):
        f[row, a] -= again * u[i, a]
    sine = math.sqrt(dot(f, row, f, row))
    for a in range(d):
        f[row, a] = f[row, a] / sine if sine > 0 else 0.0
    again = dot(f, row, u, i)  # near u_i the first difference has few digits, and f would lean
    for a in range(d):
        f[row, a] -= again * u[i, a]
    return sine, cosine


@njit(**INLINED)
def _folded(w, taught):
    """Students by teacher with their signs taken off, and all directions as seen from each teacher, rows i m + j.

    u, n, x: units of teachers, lengths and (flipped) units of students; sign, mine: of each student, its teacher;
    f, sine, cosine: x_j = cosine u_i + sine f; v: average neuron less teacher (Zhou et al. 2021, eq. 2), to twice the
    digits.
    """
    m, d = w.shape
    r = taught.shape[0]
    u, n_taught = np.empty((r, d)), np.empty(r)
    _normalise(taught, u, n_taught, 0)
    n, x, sign, mine = np.empty(m), np.empty((m, d)), np.ones(m), np.zeros(m, np.int64)
    f, sine, cosine = np.empty((r * m, d)), np.empty(r * m), np.empty(r * m)
    _normalise(w, x, n, 0)
    v, rest = -taught, np.zeros((r, d))
    for j in range(m):
        best = 10.0
        # Nearest teacher by the angle between lines, in [0, pi/2]: |w.x| does not know w from -w. A student on the far
        # side is flipped together with all its directions, so that below every student lies within a right angle of its
        # teacher.
        for i in range(r):
            row = i * m + j
            sine[row], cosine[row] = _beside(x, j, u, i, f, row)
            angle = math.atan2(sine[row], abs(cosine[row]))
            if angle < best:
                best, mine[j] = angle, i
        if cosine[mine[j] * m + j] < 0:
            sign[j] = -1.0
            for a in range(d):
                x[j, a] = -x[j, a]
            for i in range(r):
                row = i * m + j
                cosine[row] = -cosine[row]
                for a in range(d):
                    f[row, a] = -f[row, a]
        add_effective(w, j, sign[j], v, rest, mine[j])
    # v is a difference of nearly equal sums when the loss is small. Heads and tails were added apart, so its error is
    # one rounding of v, not of the masses.
    v += rest
    return u, n, x, sign, mine, f, sine, cosine, v


@njit(**INLINED)
def _apply(u, i, f, row, sine, cosine, v, out, j):
    """out_j += M(u_i, p) v_i for the unit p = cosine u_i + sine f_row (Zhou et al. 2021, eq. 4)."""
    share = 2 / math.pi
    along, beside = dot(u, i, v, i), dot(f, row, v, i)
    keep = 1 - share * math.atan2(sine, cosine)
    to_u = share * sine * (cosine * along + sine * beside)
    to_f = share * sine * (sine * along - cosine * beside)
    for a in range(u.shape[1]):
        out[j, a] += keep * v[i, a] + to_u * u[i, a] + to_f * f[row, a]


@njit(**INLINED)
def fine_gradient(w, taught, top, dw):
    """The gradient into dw and its squared norm, by groups: sum_i M(w*_i, w_j) v_i + sum_k E[rho_k x sgn(w_j.x)]."""
    m, d = w.shape
    r = taught.shape[0]
    u, n, x, sign, mine, f, sine, cosine, v = _folded(w, taught)
    g, along_u, along_f = np.zeros((m, d)), np.empty(r), np.empty(r)
    for j in range(m):
        if n[j] == 0:
            continue
        along_u[:] = 0.0
        along_f[:] = 0.0
        for i in range(r):
            _apply(u, i, f, i * m + j, sine[i * m + j], cosine[i * m + j], v, g, j)
        for k in range(m):
            if n[k] == 0:
                continue
            # Student k differs from a share of its teacher only inside its wedge, so it acts on j by the moment of that
            # wedge alone, of second order in the small angle of k.
            i = mine[k]
            row_k, row_j = i * m + k, i * m + j
            c = dot(f, row_k, f, row_j)
            _, to_u, to_e, to_f = wedge(sine[row_k], cosine[row_k], sine[row_j], cosine[row_j], c)
            factor = 2 / math.pi * n[k] * n[k]
            along_u[i] += factor * to_u
            along_f[i] += factor * to_f
            for a in range(d):
                g[j, a] += factor * to_e * f[row_k, a]
        for i in range(r):
            for a in range(d):
                g[j, a] += along_u[i] * u[i, a] + along_f[i] * f[i * m + j, a]
    size = _outward(n, top, x, g, dw)
    for j in range(m):
        for a in range(d):
            dw[j, a] *= sign[j]
    return size


@njit(**INLINED)
def _among_teachers(u, v):
    """Directions of teachers as seen from each other, rows i r + k: (f, sine, cosine), and v^T M v."""
    r, d = u.shape
    f, sine, cosine, out = np.zeros((r * r, d)), np.zeros(r * r), np.ones(r * r), np.zeros((r, d))
    for i in range(r):
        for k in range(r):
            row = i * r + k
            if i != k:
                sine[row], cosine[row] = _beside(u, k, u, i, f, row)
            _apply(u, i, f, row, sine[row], cosine[row], v, out, k)
    flat = 0.0
    for k in range(r):
        flat += dot(out, k, v, k)
    return f, sine, cosine, flat


@njit(**INLINED)
def fine_split(w, taught):
    """||R1||^2, <R1, R2> and ||R2||^2 of one member (Zhou et al. 2021, eq. 3): 2 L is the first, twice the second, and
    the third.
    """
    m, r = w.shape[0], taught.shape[0]
    u, n, x, _, mine, f, sine, cosine, v = _folded(w, taught)
    f_t, sine_t, cosine_t, flat = _among_teachers(u, v)
    products, delta = np.zeros(m * r), np.empty(m)  # e_j.f of teacher k as seen from j's own, rows j r + k
    mixed, spiky = 0.0, 0.0
    for j in range(m):
        row_j = mine[j] * m + j
        delta[j] = math.atan2(sine[row_j], cosine[row_j])
        for k in range(r):
            row = mine[j] * r + k
            products[j * r + k] = dot(f, row_j, f_t, row)
            _, to_u, to_e, to_f = wedge(sine[row_j], cosine[row_j], sine_t[row], cosine_t[row], products[j * r + k])
            inner = to_u * dot(u, mine[j], v, k) + to_e * dot(f, row_j, v, k) + to_f * dot(f_t, row, v, k)
            mixed += 2 / math.pi * n[j] * n[j] * inner
    for j in range(m):
        i = mine[j]
        row_j = i * m + j
        for k in range(m):
            # Either of a pair could be expanded; the one nearer to its teacher has the thinner wedge and the smaller
            # moment.
            if n[j] == 0 or n[k] == 0 or delta[j] > delta[k] or (delta[j] == delta[k] and j > k):
                continue  # the one nearer to its teacher is expanded, and a pair counted once
            other, t = i * m + k, i * r + mine[k]
            c = dot(f, row_j, f, other)
            if j == k:
                value = less_sine(2 * delta[j])
            elif mine[k] == i:
                y, _, _, _ = wedge(sine[row_j], cosine[row_j], sine[other], cosine[other], c)
                value = 2 * overlap(delta[j], delta[k], y, dot(x, j, x, k))
            else:
                _, u_1, e_1, f_1 = wedge(sine[row_j], cosine[row_j], sine[other], cosine[other], c)
                _, u_0, e_0, f_0 = wedge(sine[row_j], cosine[row_j], sine_t[t], cosine_t[t], products[j * r + mine[k]])
                value = (u_1 - u_0) * cosine[other] + (e_1 - e_0) * sine[other] * c
                value = 2 * (value + f_1 * sine[other] - f_0 * dot(f_t, t, x, k))
            spiky += 2 / math.pi * n[j] * n[j] * n[k] * n[k] * value
    return flat, mixed, spiky
