"""The derivative's enclosures, and that the proof says what is true near coincident angles."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.determinants import determinants, signs
from tutelage.alignment.face_proof import _range_of_curves, _upper, prove_face
from tutelage.alignment.interval_proof import IntervalProof, load, prove
from tutelage.alignment.proof_checker import Tables, check


@given(st.integers(3, 12), st.data())
def test_ranges_hold_the_curvature(level, data):
    half = 1 << level
    low = data.draw(st.integers(0, 2 * half - 1))
    high = data.draw(st.integers(low, min(2 * half, low + 4)))
    at = np.linspace(low, high, 33) * (math.pi / half)
    at = np.minimum(at, 2 * math.pi - at)
    wanted = np.sin(at) - (math.pi - at) * np.cos(at)
    found = [_range_of_curves(np.array([low]), np.array([high]), half)]
    if level == 6:
        tables = Tables(level)
        found.append(tuple(x.astype(float) / 2**60 for x in tables.curves(np.array([low]), np.array([high]))))
    for least, most in found:
        assert least[0] <= wanted.min() + 1e-13
        assert most[0] >= wanted.max() - 1e-13
        assert most[0] - least[0] <= np.ptp(wanted) + 0.02


@given(st.integers(0, 10**6), st.integers(4, 9))
def test_upper_bounds_hold_differences_of_determinants(seed, level):
    random = np.random.default_rng(seed)
    corners = np.sort(random.choice(1 << level, (5, 3)), axis=1)
    upper = _upper(corners, level)
    angles = np.sort(corners + random.uniform(0.02, 0.98, corners.shape), axis=1) * (2 * math.pi / (1 << level))
    step = 1e-5 * np.array([1.0, 0.0, 0.0])
    ordered = (np.diff(angles, axis=1) > 2e-5).all(1)
    slope = (determinants(angles + step)[1] - determinants(angles - step)[1])[:, 1] / 2e-5
    assert (slope <= upper + 1e-7)[ordered].all()


def test_a_complete_proof_is_confirmed_and_true():
    """Sets with one small gap, wherever it is: det M_2 of the sorted angles is proved negative one by one."""
    proof = prove_face(5, 4, 10)
    assert proof.complete
    assert check(proof).valid
    random = np.random.default_rng(0)
    gaps = 1 / 16 + (1 - 3 / 16) * random.dirichlet(np.ones(3), 400) * 0.95
    small = random.uniform(1e-3, 1 / 32, (400, 1))
    gaps = np.concatenate([small, gaps * (1 - small) / gaps.sum(1, keepdims=True)], axis=1)
    for place in range(4):
        angles = 2 * math.pi * np.cumsum(np.roll(gaps, place, axis=1), axis=1)[:, :3]
        assert (signs(angles, complete=True).each[:, 1] == -1).all()


def test_a_slab_that_reaches_further_is_refused():
    proof = prove_face(6, 4, 10)
    assert check(proof).valid
    assert not check(IntervalProof(proof.margin, proof.levels, slab=5)).covers
    assert not check(IntervalProof(5, proof.levels, slab=6)).covers


def test_regions_are_volumes():
    """By random gaps of the circle."""
    gaps = np.random.default_rng(1).dirichlet(np.ones(4), 200_000)
    second = np.sort(gaps, axis=1)
    inside = (second[:, 0] < 1 / 32) & (second[:, 1] >= 1 / 16)
    assert IntervalProof(4, (), slab=5).region == pytest.approx(inside.mean(), abs=4 * inside.std() / 200_000**0.5)
    whole = gaps.min(1) >= 1 / 16
    assert IntervalProof(4, ()).region == pytest.approx(whole.mean(), abs=4 * whole.std() / 200_000**0.5)


def test_files_keep_the_slab(tmp_path):
    proof = prove_face(5, 4, 8)
    proof.save(tmp_path / "face.npz")
    assert load(tmp_path / "face.npz").digest == proof.digest != IntervalProof(4, proof.levels).digest


def test_refusals():
    with pytest.raises(TutelageError, match="thinner"):
        prove_face(4, 4, 8)
    with pytest.raises(TutelageError, match="box by box"):
        _ = prove_face(5, 4, 6).share
    assert prove(4, 6).share > 0
