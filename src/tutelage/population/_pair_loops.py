"""The compiled loop behind the exact gradient of :mod:`.population`: pairs of units, one member after another.

The formulas are those of :mod:`.kernels`, which the tests hold this to. An angle between two students serves both, and
what is near 0 or pi is computed from differences of unit vectors, as there.
"""

import math

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, compiled, stamp_of

_CLOSE = 0.99  # as in kernels


@njit(**OPTIONS)
def _lengths(vectors, out):
    for i in range(vectors.shape[0]):
        total = 0.0
        for a in range(vectors.shape[1]):
            total += vectors[i, a] * vectors[i, a]
        out[i] = math.sqrt(total)


# Reordering a sum is the only freedom taken, and it lets the compiler use vector units. Infinities and NaN keep their
# meaning, so a diverged member stays visible.
@njit(**{**OPTIONS, "fastmath": {"contract", "reassoc"}})
def _dot(x, y):
    total = 0.0
    for a in range(x.shape[0]):
        total += x[a] * y[a]
    return total


@njit(**OPTIONS)
def _angle(x, y, length_x, length_y):
    """Angle, sine and cosine of two vectors; those of a zero vector are pi/2, 1 and 0."""
    if length_x == 0 or length_y == 0:
        return math.pi / 2, 1.0, 0.0
    cosine = _dot(x, y) / (length_x * length_y)
    if abs(cosine) <= _CLOSE:
        return math.acos(cosine), math.sqrt((1 - cosine) * (1 + cosine)), cosine
    apart, along = 0.0, 0.0
    for a in range(x.shape[0]):
        u, v = x[a] / length_x, y[a] / length_y
        apart += (u - v) * (u - v)
        along += (u + v) * (u + v)
    cosine = 1 - apart / 2 if cosine > 0 else along / 2 - 1
    apart, along = math.sqrt(apart), math.sqrt(along)
    return 2 * math.atan2(apart, along), apart * along / 2, cosine


@njit(**OPTIONS)
def _add(p, other, along, out):
    for a in range(out.shape[1]):
        out[p, a] += along * other[a]


def _make_gradients(stamp: int):
    def gradients(first, last, w, c, taught_w, taught_c, odd, even, dw, dc):
        """dJ/dw into dw [S, n, d] and, where it has room, dJ/dc into dc [S, n, C], of members first .. last-1.

        w [S, n, d], c [S, n, C]; taught_w [S or 1, m, d], taught_c likewise; odd, even: squares of a and b.
        """
        n, m, outputs = w.shape[1], taught_w.shape[1], c.shape[2]
        lengths, taught, outward = np.empty(n), np.empty(m), np.empty(n)
        scale = even * 2 / math.pi
        both = dc.shape[1] > 0
        for s in range(first, last):
            t = s if taught_w.shape[0] > 1 else 0
            _lengths(w[s], lengths)
            _lengths(taught_w[t], taught)
            dw[s] = 0
            outward[:] = 0
            if both:
                dc[s] = 0
            # Invariant: at the end of the pass for p, `outward[p]` holds all of sum_q g_pq |v_q| sin(theta_pq). Pairs
            # with a smaller q were added when that unit had its own pass, because a pair of students is visited once
            # and serves both of its units, which halves the arc cosines. These terms all point along w_p, so they are
            # added to the gradient once.
            for p in range(n):
                for q in range(p, n):
                    angle, sine, cosine = _angle(w[s, p], w[s, q], lengths[p], lengths[q])
                    # A unit with itself: the angle is 0 exactly, whatever rounding makes of the cosine.
                    if p == q and lengths[p] > 0:
                        angle, sine, cosine = 0.0, 0.0, 1.0
                    g = _dot(c[s, p], c[s, q])
                    along = g * (odd + even * (1 - 2 / math.pi * angle))
                    _add(p, w[s, q], along, dw[s])
                    outward[p] += g * sine * lengths[q]
                    if q > p:
                        _add(q, w[s, p], along, dw[s])
                        outward[q] += g * sine * lengths[p]
                    if both:
                        k = lengths[p] * lengths[q]
                        k *= odd * cosine + scale * (sine + (math.pi / 2 - angle) * cosine)
                        for o in range(outputs):
                            dc[s, p, o] += k * c[s, q, o]
                            if q > p:
                                dc[s, q, o] += k * c[s, p, o]
                for q in range(m):
                    angle, sine, cosine = _angle(w[s, p], taught_w[t, q], lengths[p], taught[q])
                    g = -_dot(c[s, p], taught_c[t, q])
                    _add(p, taught_w[t, q], g * (odd + even * (1 - 2 / math.pi * angle)), dw[s])
                    outward[p] += g * sine * taught[q]
                    if both:
                        k = lengths[p] * taught[q]
                        k *= odd * cosine + scale * (sine + (math.pi / 2 - angle) * cosine)
                        for o in range(outputs):
                            dc[s, p, o] -= k * taught_c[t, q, o]
                if lengths[p] > 0:
                    _add(p, w[s, p], scale * outward[p] / lengths[p], dw[s])
        return stamp

    return compiled(gradients)


gradients = _make_gradients(stamp_of(__file__))
