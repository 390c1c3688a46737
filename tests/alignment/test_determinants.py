"""Proved signs against high precision, and what is said of degenerate sets and bad input."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.angular import from_formula, named
from tutelage.alignment.determinants import (
    checked,
    determinants,
    distances,
    matrices,
    of_vectors,
    precise_signs,
    ratios,
    replaced,
    separation,
    signs,
)


def angle_sets(seed, sets, m):
    return np.random.default_rng(seed).uniform(0, 2 * math.pi, (sets, m))


def high_precision(angles, digits=60):
    """det M and det M_i by mpmath from the definition."""
    with mpmath.workdps(digits):
        every = [mpmath.mpf(0), *map(mpmath.mpf, angles.tolist())]

        def f(s, t):
            d = abs(s - t)
            d = min(d, 2 * mpmath.pi - d)
            return mpmath.sin(d) + (mpmath.pi - d) * mpmath.cos(d)

        m = len(angles)
        full = mpmath.matrix(m, m)
        for i in range(m):
            for j in range(m):
                full[i, j] = f(every[i + 1], every[j + 1])
        each = []
        for column in range(m):
            own = full.copy()
            for i in range(m):
                own[i, column] = f(every[i + 1], every[0])
            each.append(mpmath.det(own))
        return mpmath.det(full), each


@pytest.mark.parametrize("m", [1, 2, 3, 4, 6, 9])
def test_signs_are_those_of_high_precision(m):
    angles = angle_sets(m, 12, m)
    found = signs(angles, complete=True)
    for s in range(len(angles)):
        full, each = high_precision(angles[s])
        assert found.full[s] == mpmath.sign(full) == 1
        assert found.each[s].tolist() == [int(mpmath.sign(d)) for d in each]
        for i in range(m):
            assert abs(found.ratio[s, i] - float(each[i] / full)) <= found.bound[s, i]


@given(st.integers(0, 10**6), st.integers(2, 7), st.floats(-7, -1))
def test_bounds_hold_where_two_angles_nearly_coincide(seed, m, exponent):
    angles = angle_sets(seed, 1, m)
    angles[0, 0] = angles[0, 1] * (1 - 10**exponent)
    matrix, first = matrices(angles)
    rho, bound = ratios(matrix, first, named("relu").error)
    full, each = high_precision(angles[0])
    for i in range(m):
        assert abs(rho[0, i] - float(each[i] / full)) <= bound[0, i]


def test_entries_are_within_the_error_that_is_claimed():
    angles = angle_sets(0, 200, 2)
    matrix, _ = matrices(angles)
    for s, (a, b) in enumerate(angles.tolist()):
        with mpmath.workdps(40):
            d = abs(mpmath.mpf(a) - mpmath.mpf(b))
            d = min(d, 2 * mpmath.pi - d)
            wanted = mpmath.sin(d) + (mpmath.pi - d) * mpmath.cos(d)
            assert abs(matrix[s, 0, 1] - wanted) < named("relu").error


def test_more_digits_settle_what_float64_cannot():
    """Two angles 1e-7 apart: M is near singular, and the order of their signs is beyond float64."""
    angles = np.array([[0.5, 1.0, 1.0 + 1e-7, 4.0, 4.0 + 1e-7, 5.0]])
    found = signs(angles, complete=True)
    assert found.precise[0]
    assert (found.each[0] != 0).all()
    full, each = high_precision(angles[0], 80)
    assert found.each[0].tolist() == [int(mpmath.sign(d)) for d in each]
    assert full > 0


def test_precise_signs_of_the_arc_kernel():
    """[pi - theta_ij] is positive definite without antipodal pairs (Lemma 4.5)."""
    for row in angle_sets(5, 3, 5):
        assert precise_signs(row, "arc")[1] == 1


def test_coincident_and_antipodal_angles_are_said_and_not_computed():
    found = signs(np.array([[1.0, 1.0, 2.0], [0.0, 1.0, 2.0], [1.0, 1.0 + math.pi, 2.0], [1.0, 2.0, 4.5]]))
    assert found.degenerate.tolist() == [True, True, True, False]
    assert not found.each[:3].any()
    assert not found.nonpositive[:3].any()


def test_replaced_matrices_and_determinants_follow_the_definition():
    angles = angle_sets(7, 2, 4)
    matrix, first = matrices(angles)
    own = replaced(matrix, first)
    full, each = determinants(angles)
    for i in range(4):
        by_hand = matrix[1].copy()
        by_hand[:, i] = first[1]
        assert np.array_equal(own[1, i], by_hand)
        assert each[1, i] == pytest.approx(np.linalg.det(by_hand))
    assert full[0] == pytest.approx(np.linalg.det(matrix[0]))


def test_vectors_and_distances():
    teacher, students = np.array([0.0, 2.0]), np.array([[[1.0, 0.0], [0.0, 3.0], [-1.0, 0.0]]])
    angles = of_vectors(teacher, students)
    assert np.allclose(angles, [[1.5 * math.pi, 0, 0.5 * math.pi]])
    assert distances(angles)[0, 1, 3] == pytest.approx(math.pi)
    assert np.allclose(separation(angles), [[0], [0]])


def test_a_users_kernel_keeps_its_error_and_is_not_refined():
    kernel = from_formula(lambda t: np.cos(t), "cosine")
    found = signs(angle_sets(1, 5, 3), kernel)  # rank two: nothing can be proved of three students
    assert not found.full.any()
    assert not found.each.any()


def test_refusals():
    with pytest.raises(TutelageError, match="modulo"):
        checked(np.array([1.0, 7.0]))
    with pytest.raises(TutelageError, match="finite"):
        checked(np.array([1.0, np.nan]))
    with pytest.raises(TutelageError, match="zero vector"):
        of_vectors(np.array([1.0, 0.0]), np.zeros((1, 2, 2)))
