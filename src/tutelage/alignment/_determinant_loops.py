r"""The compiled loop behind the random search of :mod:`.conjecture_search`: one angle set after another.

A set is settled by a witness that needs no trust in how it was found (Farkas): if :math:`y^T M \ge 0` in every column
and :math:`y^T f_0 < 0`, no :math:`\rho > 0` solves :math:`M\rho = f_0`, so with M positive definite some det M_i is not
positive. y is a row of the inverse, to which a constant is added to make up for rounding: columns of M are not negative
and sum to at least pi. The entries' error (1e-14) and that of the sums are taken off both.
"""

import math

import numpy as np
from numba import njit

from tutelage import _draw_loops
from tutelage._draw_loops import bits
from tutelage.compiling import OPTIONS, compiled, stamp_of

# Generous: an entry has two terms of at most pi, each off by a few units in the last place.
_ENTRY = 1e-14


@njit(**OPTIONS)
def _uniform(key, counter):
    """As :func:`tutelage.draws.uniforms`."""
    return (np.float64(bits(key, counter) >> np.uint64(12)) + 0.5) * 2.0**-52


@njit(**OPTIONS)
def _entry(t, s, sine_t, cosine_t, sine_s, cosine_s):
    """f of the angle between t and s: sin d + (pi - d) cos d with d = |t - s|, turned over above pi."""
    sine, cosine, d = sine_t * cosine_s - cosine_t * sine_s, cosine_t * cosine_s + sine_t * sine_s, t - s
    if d < 0:
        d, sine = -d, -sine
    value = sine + (math.pi - d) * cosine
    return value if d <= math.pi else -value


@njit(**OPTIONS)
def _settled(angles, m, matrix, factor, first, rho, y, sines, cosines):
    """Whether a witness was found, and the smallest rho_i; angles [m] and room for the rest."""
    for i in range(m):
        sines[i], cosines[i] = math.sin(angles[i]), math.cos(angles[i])
    for i in range(m):
        first[i] = _entry(angles[i], 0.0, sines[i], cosines[i], 0.0, 1.0)
        matrix[i, i] = math.pi
        for j in range(i):
            matrix[i, j] = _entry(angles[i], angles[j], sines[i], cosines[i], sines[j], cosines[j])
            matrix[j, i] = matrix[i, j]
    # Invariant: columns 0 .. j-1 of `factor` are done, with 1 / l_jj on the diagonal so that solving needs no division.
    # A pivot that is not positive ends the attempt: such a set goes to interval arithmetic.
    for j in range(m):  # Cholesky; the diagonal holds inverses
        total = matrix[j, j]
        for k in range(j):
            total -= factor[j, k] * factor[j, k]
        if total <= 0:
            return False, 0.0
        factor[j, j] = 1 / math.sqrt(total)
        for i in range(j + 1, m):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = total * factor[j, j]
    for i in range(m):
        rho[i] = first[i]
    _solve(factor, rho, m)
    least = 0
    for i in range(m):
        if rho[i] < rho[least]:
            least = i
        y[i] = 0.0
    # Only the row of the inverse with the smallest rho_i is tried: the most negative prediction leaves most room for
    # rounding.
    y[least] = 1.0
    _solve(factor, y, m)
    return _is_witness(matrix, first, y, m), rho[least]


@njit(**OPTIONS)
def _solve(factor, x, m):
    for i in range(m):
        total = x[i]
        for k in range(i):
            total -= factor[i, k] * x[k]
        x[i] = total * factor[i, i]
    for i in range(m - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, m):
            total -= factor[k, i] * x[k]
        x[i] = total * factor[i, i]


@njit(**OPTIONS)
def _is_witness(matrix, first, y, m):
    size, worst = 0.0, 0.0
    for i in range(m):
        size += abs(y[i])
    for j in range(m):
        total = 0.0
        for i in range(m):
            total += y[i] * matrix[i, j]
        worst = min(worst, total)
    error = size * (_ENTRY + (m + 3) * 4e-16)
    # Adding the same constant to every y_i lifts every column by at least pi times it, since column sums are at least
    # pi (the diagonal entry). Four errors, so that what the check takes off again is covered.
    shift = (4 * error - worst) / math.pi
    size, below = 0.0, 0.0
    for i in range(m):
        y[i] += shift
        size += abs(y[i])
        below += y[i] * first[i]
    error = size * (_ENTRY + (m + 3) * 4e-16) * 1.000001
    # From here on nothing is trusted but sums of known error: y is some vector, and the two inequalities are checked
    # anew.
    if not below < -error:
        return False
    for j in range(m):
        total = 0.0
        for i in range(m):
            total += y[i] * matrix[i, j]
        if not total >= error:
            return False
    return True


def _make_search(stamp: int):
    def search(key, begin, end, m, left):
        """Sets begin .. end-1 of a stream, angle j of set s being draw s m + j: how many found no witness.

        The numbers of those go to ``left`` as far as it has room.
        """
        matrix, factor = np.zeros((m, m)), np.zeros((m, m))
        first, rho, y, sines, cosines = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
        angles = np.zeros(m)
        unsettled = 0
        for s in range(begin, end):
            for j in range(m):
                angles[j] = 2 * math.pi * _uniform(key, np.uint64(s * m + j))
            witnessed, _ = _settled(angles, m, matrix, factor, first, rho, y, sines, cosines)
            if not witnessed:
                if unsettled < left.shape[0]:
                    left[unsettled] = s
                unsettled += 1
        return unsettled + 0 * stamp

    return compiled(search)


def _make_settle(stamp: int):
    def settle(sets, settled, least):
        """Whether each of the sets [S, m] has a witness, and the smallest rho_i of it: into [S] both."""
        count, m = sets.shape
        matrix, factor = np.zeros((m, m)), np.zeros((m, m))
        first, rho, y, sines, cosines = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
        for s in range(count):
            settled[s], least[s] = _settled(sets[s], m, matrix, factor, first, rho, y, sines, cosines)
        return stamp

    return compiled(settle)


search = _make_search(stamp_of(_draw_loops.__file__, __file__))
settle = _make_settle(stamp_of(_draw_loops.__file__, __file__))
