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
_CENTRE, _TAIL, _FAR = (np.array(table) for table in (draws._CENTRE, draws._TAIL, draws._FAR_TAIL))
_SERIES = np.array([2.0 / (2 * k + 1) for k in range(12)])


@njit(**PART)
def _mix(z):
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@njit(**PART)
def _polynomial(r, c):
    value = c[c.shape[0] - 1]
    for i in range(c.shape[0] - 2, -1, -1):
        value = value * r
        value = value + c[i]
    return value


@njit(**PART)
def _log(x):
    m, exponent = math.frexp(x)
    if m < 0.7071067811865476:
        m = 2 * m
        exponent -= 1
    s = (m - 1) / (m + 1)
    return s * _polynomial(s * s, _SERIES) + exponent * 0.6931471805599453


@njit(**PART)
def _quantile(p):
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * (_polynomial(r, _CENTRE[0]) / _polynomial(r, _CENTRE[1]))
    r = math.sqrt(-_log(min(p, 1 - p)))
    if r <= 5.0:
        z = _polynomial(r - 1.6, _TAIL[0]) / _polynomial(r - 1.6, _TAIL[1])
    else:
        z = _polynomial(r - 5.0, _FAR[0]) / _polynomial(r - 5.0, _FAR[1])
    return -z if p < 0.5 else z


def _make_fill(stamp: int):
    """The compiled entry point; for ``stamp`` see :mod:`tutelage.compiling`."""

    def fill(first, last, keys, out):
        """Draws 0, 1, ... of the streams first .. last-1, in place: keys uint64 [S], out [S, count]."""
        for s in range(first, last):
            key = keys[s]
            for i in range(out.shape[1]):
                z = _mix(key + _mix(key + np.uint64(i) * _GOLDEN))
                out[s, i] = _quantile((np.float64(z >> np.uint64(12)) + 0.5) * 2.0**-52)
        return stamp

    return compiled(fill, exact=True)


fill = _make_fill(stamp_of(__file__))
