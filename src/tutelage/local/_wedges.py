r"""Moments of a wedge, without cancellation: parts of the compiled loops of :mod:`._loops`.

A folded student with effective neuron g, at the angle :math:`\delta` from its teacher's unit u, leaves the residual
:math:`\rho(x) = g \cdot x\,(\mathrm{sgn}(g \cdot x) - \mathrm{sgn}(u \cdot x))`, which is zero outside the wedge
between the two hyperplanes. With :math:`g = |g|(u\cos\delta + e\sin\delta)`, any
:math:`p = u\cos\varphi + f\sin\varphi`, and :math:`c = e \cdot f`,

.. math::
    E[\rho\, x\, \mathrm{sgn}(p \cdot x)] = \tfrac{2}{\pi} |g| \bigl(u\,[(y - \sin y) - y(1 - \cos\delta)] +
    e\, y \sin\delta + f\, B \sin\varphi\bigr)

where y is the angle of p with u less that of p with g, :math:`N = \cos\delta\sin\varphi - \cos\varphi\sin\delta\, c`,
:math:`B = \sqrt{N^2 + \sin^2\delta (1 - c^2)} - N` and :math:`\sin y = c\sin\delta - B\cos\varphi`. All terms are of
order :math:`\delta^2` and are formed from quantities of that order, so digits are kept however small the angle is.
"""

import math

from numba import njit

from tutelage.compiling import INLINED

# Compensated sums are sums of rounding errors, which a compiler that may reorder would simplify to 0.
_EXACT = {name: value for name, value in INLINED.items() if name != "fastmath"}
_SPLIT = 134217729.0  # 2^27 + 1


@njit(**INLINED)
def less_sine(y):
    """y - sin y, by its series where the difference would lose digits."""
    if abs(y) > 0.5:
        return y - math.sin(y)
    # Six terms of the series leave out at most 1.1e-15 of the value, at 1/2.
    z = y * y
    return y * z / 6 * (1 - z / 20 * (1 - z / 42 * (1 - z / 72 * (1 - z / 110 * (1 - z / 156)))))


@njit(**INLINED)
def wedge(sine_d, cosine_d, sine, cosine, c):
    """(y, part along u, part along e, part along f) of the moment above, less the factor (2 / pi) |g|."""
    n = cosine_d * sine - cosine * sine_d * c
    q = sine_d * sine_d * max(0.0, (1 - c) * (1 + c))
    sine_1 = math.sqrt(n * n + q)
    b = sine_1 - n
    if n > 0:
        # b = sqrt(n^2 + q) - n cancels for n > 0, where q / (sqrt(n^2 + q) + n) is the same number.
        b = q / (sine_1 + n)
    sine_y = sine_d * c - cosine * b
    cosine_1 = cosine_d * cosine + sine_d * sine * c
    y = math.atan2(sine_y, cosine * cosine_1 + sine * sine_1)
    return y, less_sine(y) - y * sine_d * sine_d / (1 + cosine_d), y * sine_d, sine * b


@njit(**INLINED)
def overlap(delta_j, delta_k, y, cosine):
    r"""(pi / 2) E[rho_j rho_k] / (|g_j| |g_k|) of two students of one teacher: y as above with p = g_k; cosine of both.

    With the angle :math:`\theta` between them and :math:`x = \delta_j + \delta_k - \theta` it is
    :math:`2 \sin\theta \sin^2(x/2) + \cos\theta\, (x - \sin x)`.
    """
    x = max(0.0, delta_j + y)
    half = math.sin(x / 2)
    return 2 * math.sin(max(0.0, delta_k - y)) * half * half + cosine * less_sine(x)


@njit(**_EXACT)
def _product(a, b):
    """a b and what its rounding left out (Dekker 1971)."""
    p = a * b
    t = _SPLIT * a
    high_a = t - (t - a)
    low_a = a - high_a
    t = _SPLIT * b
    high_b = t - (t - b)
    low_b = b - high_b
    return p, ((high_a * high_b - p) + high_a * low_b + low_a * high_b) + low_a * low_b


@njit(**_EXACT)
def _sum(a, b):
    """a + b and what its rounding left out (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@njit(**_EXACT)
def _length(w, j):
    """|w_j| to twice the digits: a head and a tail."""
    head, tail = 0.0, 0.0
    for a in range(w.shape[1]):
        p, off = _product(w[j, a], w[j, a])
        head, more = _sum(head, p)
        tail += off + more
    # Newton's correction of the root in the lower digits: (|w|^2 - root^2) / (2 root).
    if head == 0:
        return 0.0, 0.0
    root = math.sqrt(head)
    p, off = _product(root, root)
    return root, ((head - p) - off + tail) / (2 * root)


@njit(**_EXACT)
def add_effective(w, j, sign, total, rest, i):
    """total_i + rest_i += sign |w_j| w_j, to twice the digits."""
    head, tail = _length(w, j)
    for a in range(w.shape[1]):
        p, off = _product(head, w[j, a])
        total[i, a], more = _sum(total[i, a], sign * p)
        rest[i, a] += sign * (off + tail * w[j, a]) + more
