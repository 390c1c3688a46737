"""A checker is worth what it refuses."""

import math

import numpy as np
import pytest

from tutelage import TutelageError
from tutelage.alignment.determinants import determinants
from tutelage.alignment.four_checker import _determinant, check_four, negative
from tutelage.alignment.four_proof import FourProof, prove_four
from tutelage.alignment.interval_proof import EXCLUDED, OUTSIDE
from tutelage.alignment.proof_checker import _tables


@pytest.fixture(scope="module")
def proof():
    return prove_four(4, 6)


def changed(proof, code):
    """One proved box of the last level with another code."""
    levels = [codes.copy() for codes in proof.levels]
    levels[-1][np.flatnonzero(levels[-1] == 2)[0]] = code
    return FourProof(proof.margin, tuple(levels))


def test_a_proof_is_confirmed_box_by_box(proof):
    found = check_four(proof)
    assert found.valid
    assert found.proved == proof.counts()["proved"] > 1000


@pytest.mark.parametrize("code", [1, EXCLUDED, OUTSIDE, 9])
def test_a_box_that_is_set_aside_without_reason_is_seen(proof, code):
    assert not check_four(changed(proof, code)).covers


def test_a_box_that_is_open_is_only_not_counted(proof):
    found = check_four(changed(proof, 6))
    assert found.valid
    assert found.proved == proof.counts()["proved"] - 1


def test_open_boxes_that_are_called_proved_are_refused(proof):
    levels = [codes.copy() for codes in proof.levels]
    levels[-1][np.flatnonzero(levels[-1] == 6)[:200]] = 2
    found = check_four(FourProof(proof.margin, tuple(levels)))
    assert found.rejected > 100


def test_missing_boxes_and_finer_claims(proof):
    with pytest.raises(TutelageError, match="damaged"):
        check_four(FourProof(4, (*proof.levels[:-1], proof.levels[-1][:-1])))
    assert not check_four(FourProof(4, proof.levels[:-1])).covers
    assert not check_four(FourProof(5, proof.levels)).covers


def test_no_box_with_a_positive_determinant_is_confirmed():
    random = np.random.default_rng(1)
    turns = np.sort(random.uniform(0, 1, (2000, 4)), axis=1)
    each = determinants(2 * math.pi * turns)[1]
    for i in (2, 3):
        own = turns[each[:, i - 1] > 1e-9]
        assert len(own) > 100
        assert not negative(_tables(13), np.floor(own * 256).astype(np.int64), 8, i).any()


def test_determinants_of_whole_numbers():
    entries = np.random.default_rng(2).integers(-50, 50, (4, 4))
    rows = [[(np.array([x]), np.array([x])) for x in row] for row in entries]
    for along in range(4):
        low, high = _determinant(rows, along)
        assert low[0] == high[0] == round(np.linalg.det(entries))


def test_boxes_too_large_for_64_bits_are_not_confirmed_and_too_many_levels_refused():
    corners = np.array([[0, 1, 2, 3]])
    assert not negative(_tables(13), corners, 2, 2).any()
    with pytest.raises(TutelageError, match="down to level 13"):
        check_four(FourProof(4, tuple(np.zeros(1, np.uint8) for _ in range(15))))
