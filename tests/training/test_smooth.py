"""Branch-free exp, tanh and erf against SciPy."""

import numpy as np
from numba import njit
from scipy import special

from tutelage.training import _smooth


@njit
def _all(x, out):
    for i in range(x.shape[0]):
        out[0, i] = _smooth.exp_below(-abs(x[i]))
        out[1, i] = _smooth.tanh(x[i])
        out[2, i] = _smooth.erf(x[i], _smooth.exp_below(-x[i] * x[i]))


def test_they_are_the_functions_to_their_stated_errors():
    x = np.concatenate([np.linspace(-30, 30, 200_001), [0.0, -0.0, 1e-300, 1e-10, 800.0, -800.0]])
    out = np.zeros((3, len(x)))
    _all(x, out)
    assert np.abs(out[0] - np.exp(-np.abs(x))).max() <= 2.3e-16
    assert np.abs(out[1] - np.tanh(x)).max() <= 2.3e-16
    assert np.abs(out[2] - special.erf(x)).max() <= 6e-15


def test_infinite_and_missing_numbers_do_not_look_finite():
    out = np.zeros((3, 1))
    _all(np.array([np.nan]), out)
    assert np.isnan(out).all()
