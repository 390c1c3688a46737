"""Standard normal numbers in a compiled loop: the same bits as :func:`tutelage.draws.normals`, several times faster.

Every operation is the one of :mod:`tutelage.draws`, in the same order and correctly rounded, so that nothing depends on
which of the two was used.
"""

import math

import numpy as np
from numba import njit

from tutelage import draws
from tutelage.compiling import PART, compiled, stamp_of

_GOLDEN, _MIX_1, _MIX_2 = (np.uint64(c) for c in (draws.GOLDEN, draws.MIX_1, draws.MIX_2))
_CENTRE, _TAIL, _FAR = draws._CENTRE, draws._TAIL, draws._FAR_TAIL
_SERIES = tuple(2.0 / (2 * k + 1) for k in range(12))
_SPAN = 1024  # numbers worked on at a time, so that they stay in cache


@njit(**PART)
def _mix(z):
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


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
def _log(x):
    m, exponent = math.frexp(x)
    if m < 0.7071067811865476:
        m = 2 * m
        exponent -= 1
    s = (m - 1) / (m + 1)
    square = s * s
    value = _SERIES[11]
    for i in range(10, -1, -1):
        value = value * square + _SERIES[i]
    return s * value + exponent * 0.6931471805599453


@njit(**PART)
def _centre(p):
    q = p - 0.5
    r = 0.180625 - q * q
    return q * (_polynomial(r, _CENTRE[0]) / _polynomial(r, _CENTRE[1]))


@njit(**PART)
def _tail(p):
    r = math.sqrt(-_log(min(p, 1 - p)))
    if r <= 5.0:
        z = _polynomial(r - 1.6, _TAIL[0]) / _polynomial(r - 1.6, _TAIL[1])
    else:
        z = _polynomial(r - 5.0, _FAR[0]) / _polynomial(r - 5.0, _FAR[1])
    return -z if p < 0.5 else z


def _make_fill(stamp: int):
    """The compiled entry point; for ``stamp`` see :mod:`tutelage.compiling`."""

    def fill(first, last, keys, out):
        """Draws 0, 1, ... of the streams first .. last-1, in place: keys uint64 [S], out [S, count].

        The centre of the distribution is computed for all numbers of a chunk, without a branch, and the tails, one
        number in seven, after it.
        """
        p, z = np.empty(_SPAN), np.empty(_SPAN)
        for s in range(first, last):
            key = keys[s]
            for begin in range(0, out.shape[1], _SPAN):
                count = min(_SPAN, out.shape[1] - begin)
                for i in range(count):
                    bits = _mix(key + _mix(key + np.uint64(begin + i) * _GOLDEN))
                    p[i] = (np.float64(np.int64(bits >> np.uint64(12))) + 0.5) * 2.0**-52
                for i in range(count):
                    z[i] = _centre(p[i])
                for i in range(count):
                    if abs(p[i] - 0.5) > 0.425:
                        z[i] = _tail(p[i])
                row = out[s, begin : begin + count]
                for i in range(count):
                    row[i] = z[i]
        return stamp

    return compiled(fill, exact=True)


fill = _make_fill(stamp_of(__file__))
