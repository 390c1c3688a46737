"""Bounds on least eigenvalues hold against high precision, and for matrices made with known ones."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.definite import least_eigenvalues


@given(st.integers(1, 5), st.integers(0, 10**6), st.integers(-8, 8))
@settings(max_examples=40, deadline=None)
def test_the_least_eigenvalue_is_within_its_bound(m, seed, power):
    draw = np.random.default_rng(seed).standard_normal((m, m)) * 10.0**power
    matrix = draw + draw.T
    value, bound = least_eigenvalues(matrix[None])
    with mpmath.workdps(40):
        exact = min(mpmath.eigsy(mpmath.matrix(matrix.tolist()), eigvals_only=True))
        assert abs(exact - mpmath.mpf(value[0])) <= bound[0]
    assert bound[0] < 1e-12 * np.abs(matrix).sum()


def test_errors_of_the_entries_count_m_times():
    matrix = np.array([np.eye(3)])
    plain, wide = (least_eigenvalues(matrix, error)[1][0] for error in (0.0, 0.1))
    assert wide - plain == pytest.approx(0.3)
    shifted = matrix - 0.1  # the worst that such errors do
    assert least_eigenvalues(shifted)[0][0] >= 1 - wide


def test_what_is_not_symmetric_is_refused():
    with pytest.raises(TutelageError, match="symmetric"):
        least_eigenvalues(np.array([[[1.0, 2.0], [0.0, 1.0]]]))
    with pytest.raises(TutelageError, match="symmetric"):
        least_eigenvalues(np.ones((2, 3)))
