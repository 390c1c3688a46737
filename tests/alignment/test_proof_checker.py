"""A checker is worth what it refuses."""

import math

import numpy as np
import pytest

from tutelage import TutelageError
from tutelage.alignment.interval_proof import EXCLUDED, OUTSIDE, IntervalProof, prove
from tutelage.alignment.proof_checker import Tables, check


@pytest.fixture(scope="module")
def proof():
    return prove(4, 8)


def changed(proof, level, at, code):
    levels = [codes.copy() for codes in proof.levels]
    levels[level][at] = code
    return IntervalProof(proof.margin, tuple(levels))


def test_a_proof_is_confirmed_box_by_box(proof):
    found = check(proof)
    assert found.valid
    assert found.proved == proof.counts()["proved"]


def test_a_wrong_determinant_is_refused(proof):
    """Give one box the verdict of every other determinant: not all three are negative on it."""
    at = int(np.flatnonzero(proof.levels[5] == 2)[0])
    found = [check(changed(proof, 5, at, i)) for i in (1, 3)]
    assert sum(c.rejected for c in found) > 0
    assert all(c.covers for c in found)


@pytest.mark.parametrize("code", [EXCLUDED, OUTSIDE, 6, 9])
def test_a_box_that_is_set_aside_without_reason_is_seen(proof, code):
    at = int(np.flatnonzero(proof.levels[5] == 2)[0])
    assert not check(changed(proof, 5, at, code)).covers


def test_missing_boxes_are_damage(proof):
    with pytest.raises(TutelageError, match="damaged"):
        check(IntervalProof(proof.margin, (*proof.levels[:-1], proof.levels[-1][:-1])))
    assert not check(IntervalProof(proof.margin, proof.levels[:-1])).covers


def test_a_claim_nearer_to_coincidence_than_was_shown_is_refused(proof):
    """The boxes excluded at margin 4 are not all within the neighbourhood of margin 5."""
    assert not check(IntervalProof(5, proof.levels)).covers


def test_tables_hold_the_kernel():
    tables = Tables(6)
    t = np.arange(129) * (math.pi / 64)
    sign = np.where(t <= math.pi, 1, -1)
    for table, wanted in (
        (tables.value, sign * (np.sin(t) + (math.pi - t) * np.cos(t))),
        (tables.slope, -sign * (math.pi - t) * np.sin(t)),
    ):
        assert np.allclose(table[0].astype(float) / 2**60, wanted, atol=1e-14)
        assert (table[1] - table[0] <= 2).all()
    fine = np.linspace(0, math.pi, 10_001)
    assert (-(math.pi - fine) * np.sin(fine)).min() >= tables.least / 2**60
