"""Searches draw what they say, settle by proof, and would notice a counterexample."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.conjecture_search import climb, random_angles, random_search, settled
from tutelage.alignment.determinants import matrices, separation, signs


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_the_loop_agrees_with_proved_signs(seed, m):
    angles = np.random.default_rng(seed).uniform(0, 2 * math.pi, (20, m))
    found, least = settled(angles)
    proved = signs(angles)
    assert not (found & proved.counterexample).any()
    matrix, first = matrices(angles)
    rho = np.linalg.solve(matrix, first[..., None])[..., 0]
    assert np.allclose(least, rho.min(1), atol=1e-6)


def test_two_students_can_have_positive_determinants_and_are_found():
    """Conjecture 5.5 starts at m = 3: for two students at equal angles on both sides both rho are positive."""
    found = random_search(2, 2000)
    assert len(found.positive) > 10
    assert found.unsettled == 0
    assert (signs(found.positive).each > 0).all()
    angles = np.array([[1.0, 2 * math.pi - 1.0]])
    assert not settled(angles)[0][0]
    assert signs(angles).counterexample[0]


@pytest.mark.parametrize("m", [3, 5, 8])
def test_random_sets_are_settled(m):
    found = random_search(m, 20_000, seed=1)
    assert (found.unsettled, len(found.positive)) == (0, 0)


def test_the_search_looks_at_the_sets_it_names():
    """The sets of two students that it reopens are those without a witness among the sets of these numbers."""
    angles = random_angles(2, np.arange(500), seed=3)
    assert random_search(2, 500, seed=3).reopened == int((~settled(angles)[0]).sum())


def test_threads_and_blocks_do_not_matter():
    one, two = (random_search(2, 3000, seed=4, threads=t) for t in (1, 2))
    assert np.array_equal(one.positive, two.positive)


def test_climbing_goes_up_and_keeps_its_distance():
    few, many = climb(3, 8, 5), climb(3, 8, 200)
    assert many.value > few.value
    assert separation(many.angles[None])[0][0] >= 0.1
    assert many.value == pytest.approx(many.values.max(), abs=1e-9)
    assert many.proved_negative
    assert many.multiple < -1


def test_climbing_finds_positive_values_where_there_are_some():
    assert climb(2, 16, 50).value > 0.3


def test_refusals():
    with pytest.raises(TutelageError, match="m of at least 2"):
        random_search(1, 10)
    with pytest.raises(TutelageError, match="do not fit"):
        climb(70)
