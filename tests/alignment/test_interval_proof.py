"""Enclosures hold what they should, and proofs are about what they say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.determinants import determinants
from tutelage.alignment.interval_proof import (
    EXCLUDED,
    OPEN,
    _range_of_slopes,
    _range_of_values,
    _uppers,
    children,
    load,
    prove,
)


@given(st.integers(3, 12), st.data())
def test_ranges_hold_the_kernel_and_its_slope(level, data):
    half = 1 << level
    low = data.draw(st.integers(0, 2 * half - 1))
    high = data.draw(st.integers(low, min(2 * half, low + 4)))
    at = np.linspace(low, high, 33) * (math.pi / half)
    sign = np.where(at <= math.pi, 1, -1)
    value, slope = sign * (np.sin(at) + (math.pi - at) * np.cos(at)), -sign * (math.pi - at) * np.sin(at)
    for found, wanted in ((_range_of_values, value), (_range_of_slopes, slope)):
        least, most = found(np.array([low]), np.array([high]), half)
        assert least[0] <= wanted.min() + 1e-13
        assert most[0] >= wanted.max() - 1e-13
        assert most[0] - least[0] <= np.ptp(wanted) + 0.02  # and are not idle


@given(st.integers(0, 10**6), st.integers(3, 9))
def test_upper_bounds_are_upper_bounds(seed, level):
    """Over random points of random boxes, ordered as the boxes ask."""
    random = np.random.default_rng(seed)
    corners = np.sort(random.choice(1 << level, (5, 3)), axis=1)
    uppers = np.stack(_uppers(corners, level), 1)
    for _ in range(20):
        angles = np.sort(corners + random.uniform(0, 1, corners.shape), axis=1) * (2 * math.pi / (1 << level))
        assert (determinants(angles)[1] <= uppers + 1e-12).all()


def test_proved_boxes_are_negative_where_sampled():
    proof, corners = prove(4, 8), np.zeros((1, 3), np.int64)
    random, tried = np.random.default_rng(0), 0
    for level, codes in enumerate(proof.levels):
        own = (codes >= 1) & (codes <= 3)
        angles = (corners[own] + random.uniform(0, 1, (own.sum(), 3))) * (2 * math.pi / (1 << level))
        ordered = (np.diff(angles, axis=1) > 0).all(1)
        if ordered.any():
            each = determinants(angles[ordered])[1]
            assert (each[np.arange(len(each)), codes[own][ordered] - 1] < 0).all()
            tried += len(each)
        corners = children(corners[codes == 0])
    assert proof.complete
    assert tried > 1000


def test_a_proof_cut_short_says_what_is_open():
    proof = prove(5, 6)
    assert not proof.complete
    assert proof.counts()["open"] == (np.concatenate(proof.levels) == OPEN).sum() > 0
    assert 0 < proof.share < prove(5, 9).share < 1


def test_the_share_is_a_volume():
    """At margin k sets with all gaps above 2 pi / 2^k make up (1 - 4 / 2^k)^3; proved boxes cover nearly these."""
    proof = prove(5, 9)
    assert proof.share > 0.9 * (1 - 4 / 32) ** 3
    assert (np.concatenate(proof.levels) == EXCLUDED).any()


def test_files_keep_a_proof(tmp_path):
    proof = prove(3, 7)
    proof.save(tmp_path / "boxes.npz")
    assert load(tmp_path / "boxes.npz").digest == proof.digest != prove(4, 8).digest


def test_refusals():
    with pytest.raises(TutelageError, match="levels"):
        prove(5, 4)
