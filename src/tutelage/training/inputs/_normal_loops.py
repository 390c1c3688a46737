"""Standard normal numbers in a compiled loop: the same bits as :func:`tutelage.draws.normals`, several times faster.

Every operation is the one of :mod:`tutelage.draws`, in the same order and correctly rounded, so that nothing depends on
which of the two was used.
"""

import math

import numpy as np
from numba import njit

from tutelage import _draw_loops, draws
from tutelage._draw_loops import bits
from tutelage.compiling import PART, compiled, stamp_of

_CENTRE, _TAIL, _FAR = draws._CENTRE, draws._TAIL, draws._FAR_TAIL
_SERIES = tuple(2.0 / (2 * k + 1) for k in range(12))
_FRACTION, _HALF = np.int64((1 << 52) - 1), np.int64(0x3FE << 52)  # of the bits of a float64
_FRACTION_BITS, _BIAS = np.int64(52), np.int64(1022)
_SPAN = 1024  # numbers worked on at a time, so that they stay in cache


@njit(**PART)
def _polynomial(r, c):
    """Horner's rule on eight coefficients, written out so that it is vectorised."""
    value = c[7] * r + c[6]
    value = value * r + c[5]
    value = value * r + c[4]
    value = value * r + c[3]
    value = value * r + c[2]
    value = value * r + c[1]
    return value * r + c[0]


@njit(**PART)
def _series(square):
    """The series of the logarithm, by Horner's rule, written out so that it is vectorised."""
    value = _SERIES[11] * square + _SERIES[10]
    value = value * square + _SERIES[9]
    value = value * square + _SERIES[8]
    value = value * square + _SERIES[7]
    value = value * square + _SERIES[6]
    value = value * square + _SERIES[5]
    value = value * square + _SERIES[4]
    value = value * square + _SERIES[3]
    value = value * square + _SERIES[2]
    value = value * square + _SERIES[1]
    return value * square + _SERIES[0]


@njit(**PART)
def _centre(p):
    q = p - 0.5
    r = 0.180625 - q * q
    return q * (_polynomial(r, _CENTRE[0]) / _polynomial(r, _CENTRE[1]))


@njit(**PART)
def _tails(p, z, count, where, x, bits, m, m_bits, exponent):
    """Overwrite z where p lies in a tail, one number in seven: these are gathered, so that every loop fills vectors.

    x and m are float64 buffers and bits and m_bits the same memory as integers.
    """
    in_tails = 0
    for i in range(count):
        where[in_tails] = i
        in_tails += int(abs(p[i] - 0.5) > 0.425)
    for j in range(in_tails):
        x[j] = min(p[where[j]], 1 - p[where[j]])
    for j in range(in_tails):  # x = m 2^exponent with m in [1/2, 1)
        m_bits[j] = (bits[j] & _FRACTION) | _HALF
        exponent[j] = np.float64((bits[j] >> _FRACTION_BITS) - _BIAS)
    for j in range(in_tails):  # the root of -log x
        low = m[j] < 0.7071067811865476
        scaled = 2 * m[j] if low else m[j]
        power = exponent[j] - 1 if low else exponent[j]
        s = (scaled - 1) / (scaled + 1)
        x[j] = math.sqrt(-(s * _series(s * s) + power * 0.6931471805599453))
    for j in range(in_tails):
        m[j] = _polynomial(x[j] - 1.6, _TAIL[0]) / _polynomial(x[j] - 1.6, _TAIL[1])
    for j in range(in_tails):
        if x[j] > 5.0:
            m[j] = _polynomial(x[j] - 5.0, _FAR[0]) / _polynomial(x[j] - 5.0, _FAR[1])
    for j in range(in_tails):
        z[where[j]] = -m[j] if p[where[j]] < 0.5 else m[j]


def _make_fill(stamp: int):
    """The compiled entry point; for ``stamp`` see :mod:`tutelage.compiling`."""

    def fill(first, last, keys, out):
        """Draws 0, 1, ... of the streams first .. last-1, in place: keys uint64 [S], out [S, count].

        The centre of the distribution is computed for all numbers of a chunk, and the tails after it.
        """
        p, z, x, m, exponent = np.empty(_SPAN), np.empty(_SPAN), np.empty(_SPAN), np.empty(_SPAN), np.empty(_SPAN)
        where, as_bits, m_bits = np.empty(_SPAN, np.int32), x.view(np.int64), m.view(np.int64)
        for s in range(first, last):
            key = keys[s]
            for begin in range(0, out.shape[1], _SPAN):
                count = min(_SPAN, out.shape[1] - begin)
                for i in range(count):
                    fraction = np.int64(bits(key, np.uint64(begin + i)) >> np.uint64(12))
                    p[i] = (np.float64(fraction) + 0.5) * 2.0**-52
                for i in range(count):
                    z[i] = _centre(p[i])
                _tails(p, z, count, where, x, as_bits, m, m_bits, exponent)
                row = out[s, begin : begin + count]
                for i in range(count):
                    row[i] = z[i]
        return stamp

    return compiled(fill, exact=True)


fill = _make_fill(stamp_of(_draw_loops.__file__, __file__))
