"""Falling and log-concave kernels: closed forms against a fine grid, straight ones against random points."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.angular import from_formula, from_samples, named
from tutelage.alignment.angular_shape import falls, least_eigenvalues, log_concave


@pytest.mark.parametrize("kind", ["relu", "leaky", "linear", "arc"])
def test_what_closed_forms_prove_is_seen_on_a_fine_grid(kind):
    kernel = named(kind, 0.3)
    assert kernel.shaped
    for found in (falls(kernel, 300), log_concave(kernel, 300)):
        assert found.holds is True
        assert found.value > 0


@given(st.floats(-1, 1), st.floats(0, 3))
@settings(max_examples=100, deadline=None)
def test_a_leaky_kernel_is_shaped_as_its_formula_says(slope, angle):
    """f' and f f'' - f'^2 by their closed forms against differences of f."""
    kernel, h = named("leaky", slope), 1e-4
    angle = min(max(angle, 2 * h), math.pi - 2 * h)
    below, here, above = kernel(np.array([angle - h, angle, angle + h]))
    a, b = (1 + slope) / 2, (1 - slope) / 2
    line = 2 * math.pi * a * a + 4 * b * b * (math.pi / 2 - angle)
    rise, bend = (above - below) / (2 * h), (above - 2 * here + below) / h**2
    assert rise == pytest.approx(-line * math.sin(angle), abs=1e-5)
    assert here * bend - rise**2 == pytest.approx((4 * b * b * math.sin(angle)) ** 2 - line**2, abs=1e-3)
    assert kernel.shaped == (a * a >= b * b)


def test_the_kernel_of_abs_rises_again_and_is_not_log_concave():
    assert falls(named("abs")).holds is False
    assert falls(named("abs")).at[0] > math.pi / 2
    assert log_concave(named("abs")).holds is False


def test_the_smallest_margin_is_where_it_is_said_to_be():
    kernel = from_formula(lambda t: 1 / (1 + t))
    found = log_concave(kernel)
    a, b = found.at
    assert found.holds is False
    assert found.value == pytest.approx(1 / ((1 + a) * (1 + b)) - 1 / (1 + a + b))


def test_a_formula_is_refuted_or_not_decided_and_never_proved():
    assert falls(from_formula(np.cos)).holds is None
    assert log_concave(from_formula(np.cos)).holds is None
    assert falls(from_formula(np.sin)).holds is False


@given(st.lists(st.floats(0.01, 2), min_size=2, max_size=8), st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_what_corners_prove_of_a_straight_kernel_holds_between_them(drops, seed):
    kernel = from_samples([*np.cumsum(drops[::-1])[::-1].tolist(), 0.0])
    found = log_concave(kernel)
    assert falls(kernel).holds is True
    a, b = np.random.default_rng(seed).uniform(0, math.pi, (2, 2000))
    a, b = a[a + b < math.pi], b[a + b < math.pi]
    gaps = kernel(a) * kernel(b) - kernel(a + b) * kernel(np.zeros(1))
    if found.holds:
        assert (gaps > -1e-12).all()
    else:
        assert found.value <= found.bound


def test_a_straight_kernel_that_is_flat_or_rises():
    assert falls(from_samples([3.0, 1.0, 1.0, 0.0])).holds is False
    rising = from_samples([1.0, 2.0, 2.5])
    assert falls(rising).holds is False
    assert log_concave(rising).holds is None  # corners say yes, and are not enough
    with pytest.raises(TutelageError, match="at least 2 steps"):
        falls(named("relu"), 1)


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
