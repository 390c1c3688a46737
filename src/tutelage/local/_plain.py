"""The plain way to a loss and its gradient: kernels summed over pairs of units, a part of :mod:`._loops`."""

import math

import numpy as np
from numba import njit

from tutelage.compiling import INLINED

_CLOSE = 0.005  # sin(angle / 2)^2 below which it comes from the difference of the units
_REASSOCIATED = {**INLINED, "fastmath": {"contract", "reassoc"}}


def _arcsine(degree: int) -> tuple[float, ...]:
    """Coefficients of arcsin(sqrt z) / sqrt z for z up to 1/2, to rounding: interpolated at Chebyshev's points."""
    z = np.polynomial.chebyshev.chebpts1(degree + 1) / 4 + 0.25
    fit = np.polynomial.Chebyshev.fit(z, np.arcsin(np.sqrt(z)) / np.sqrt(z), degree, domain=[0, 0.5])
    return tuple(float(c) for c in fit.convert(kind=np.polynomial.Polynomial).coef)


_DEGREE = 21  # the error falls by 3 + sqrt 8 per degree, to 1e-16
_ARCSINE = _arcsine(_DEGREE)


@njit(**_REASSOCIATED)
def dot(x, i, y, j):
    """Row i of x times row j of y; rows are not cut out, since counting references to a view costs as much."""
    total = 0.0
    for a in range(x.shape[1]):
        total += x[i, a] * y[j, a]
    return total


@njit(**INLINED)
def copy(x, y):
    """x [m, d] into y; an assignment of whole arrays would compile the words of its error as well, for seconds."""
    for i in range(x.shape[0]):
        for a in range(x.shape[1]):
            y[i, a] = x[i, a]


@njit(**_REASSOCIATED)
def _row(u, p, sine, rest, cosine):
    """Sine, pi/2 less the angle, and cosine of column p of units u [d, n] with all later columns.

    With the sign of the product taken out, z = sin(angle / 2)^2 is a quarter of the squared distance of the units, and
    is computed so where 1 less the product would lose digits; loops go over columns, so that they fill the vectors.
    """
    d, every = u.shape
    for q in range(p + 1, every):
        cosine[q] = 0.0
    for a in range(d):
        for q in range(p + 1, every):
            cosine[q] += u[a, p] * u[a, q]
    for q in range(p + 1, every):
        # Several passes over the row: those without a branch become vector instructions.
        rest[q] = (1 - abs(cosine[q])) / 2
        cosine[q] = 1.0 if cosine[q] >= 0 else -1.0
    for q in range(p + 1, every):
        if rest[q] < _CLOSE:
            apart = 0.0
            for a in range(d):
                apart += (u[a, p] - cosine[q] * u[a, q]) ** 2
            rest[q] = apart / 4
    for q in range(p + 1, every):
        z = rest[q]
        # A polynomial and not the library's arcsine, which is a call per entry and would keep the loop scalar.
        root, value = math.sqrt(z), _ARCSINE[_DEGREE]
        for k in range(_DEGREE - 1, -1, -1):
            value = value * z + _ARCSINE[k]
        rest[q] = cosine[q] * (math.pi / 2 - 2 * root * value)
        sine[q] = 2 * root * math.sqrt(1 - z)
        cosine[q] *= 1 - 2 * z


@njit(**_REASSOCIATED)
def plain(w, taught, top, dw):
    """Loss, squared scale and squared norm of the gradient of one member: w [m, d], taught [r, d]; gradient into dw.

    top [m]: a factor of each student's output, 1 in the paper. A zero student has coefficient 0 and gradient 0.
    """
    m, d = w.shape
    every = m + taught.shape[0]
    u, n, coefficient = np.empty((d, every)), np.empty(every), np.empty(every)
    sine, rest, cosine = np.empty(every), np.empty(every), np.empty(every)
    scale = 0.0
    for p in range(every):
        vectors, i = (w, p) if p < m else (taught, p - m)
        n[p] = math.sqrt(dot(vectors, i, vectors, i))
        for a in range(d):
            u[a, p] = vectors[i, a] / n[p] if n[p] > 0 else 0.0
        coefficient[p] = top[p] * n[p] * n[p] if p < m else -n[p]
        scale += abs(coefficient[p])
    g, out, total = np.zeros((d, every)), np.zeros(every), 0.0
    for p in range(every):
        # Invariant: pairs with a smaller index than p have given their part to `g`, `out` and `total`; row p serves
        # both units of a pair. Teachers are units with a negative coefficient, and gradients with respect to them are
        # computed and not used.
        _row(u, p, sine, rest, cosine)
        mine, along = coefficient[p], coefficient[p] * math.pi / 2
        total += mine * mine * math.pi / 4
        for q in range(p + 1, every):
            other = coefficient[q]
            total += mine * other * (sine[q] + rest[q] * cosine[q])
            out[q] += mine * sine[q]
            along += other * sine[q]
            cosine[q] = other * rest[q]
        out[p] += along
        for a in range(d):
            pulled, pull = 0.0, mine * u[a, p]
            for q in range(p + 1, every):
                pulled += cosine[q] * u[a, q]
                g[a, q] += pull * rest[q]
            g[a, p] += pulled
    size = 0.0
    for p in range(m):
        along = 0.0
        for a in range(d):
            g[a, p] = 2 / math.pi * (g[a, p] + out[p] * u[a, p])
            along += g[a, p] * u[a, p]
        for a in range(d):
            dw[p, a] = top[p] * n[p] * (g[a, p] + along * u[a, p])
            size += dw[p, a] * dw[p, a]
    return 2 / math.pi * total, scale * scale, size
