"""The bits of :mod:`tutelage.draws` for compiled loops: integers alone, so that every loop draws what torch draws."""

import numpy as np
from numba import njit

from tutelage import draws
from tutelage.compiling import PART

_GOLDEN, _MIX_1, _MIX_2 = (np.uint64(c) for c in (draws.GOLDEN, draws.MIX_1, draws.MIX_2))


@njit(**PART)
def _mix(z):
    """SplitMix64's finaliser on unsigned 64-bit integers; the same bits as :func:`tutelage.draws.mix`."""
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@njit(**PART)
def bits(key, counter):
    """64 bits of a stream at a place, both unsigned, as :func:`tutelage.draws.bits`."""
    return _mix(key + _mix(key + counter * _GOLDEN))
