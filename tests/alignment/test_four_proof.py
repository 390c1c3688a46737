"""Bounds for four students hold against determinants at random, and the share is a volume."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.determinants import determinants, signs
from tutelage.alignment.four_proof import FourProof, children, load, prove_four, upper_bounds
from tutelage.alignment.interval_proof import SPLIT

STORED = Path(__file__).parents[2] / "docs" / "results" / "conjecture" / "m4_boxes.npz"


@pytest.fixture(scope="module")
def proof():
    return prove_four(5, 6)


def proved_boxes(proof):
    """Corners, levels and codes of all proved boxes."""
    corners, out = np.zeros((1, 4), np.int64), []
    for level, codes in enumerate(proof.levels):
        own = (codes == 2) | (codes == 3)
        out += [(corner, level, code) for corner, code in zip(corners[own], codes[own], strict=True)]
        corners = children(corners[codes == SPLIT])
    return out


@given(st.integers(0, 10**6), st.integers(3, 9))
def test_upper_bounds_hold_the_determinants(seed, level):
    random = np.random.default_rng(seed)
    corners = np.sort(random.choice(1 << level, (40, 4)), axis=1)
    upper = upper_bounds(corners, level)
    for _ in range(5):
        angles = (corners + random.uniform(0, 1, corners.shape)) * (2 * math.pi / (1 << level))
        ordered = (np.diff(angles, axis=1) > 0).all(1)
        assert (determinants(angles)[1][:, 1:3] <= upper + 1e-9)[ordered].all()


def test_bounds_come_down_to_the_determinant_as_boxes_shrink():
    at = np.array([0.11, 0.35, 0.6, 0.83])
    exact = determinants(2 * math.pi * at)[1][0, 1:3]
    gaps = [upper_bounds(np.floor(at * (1 << n)).astype(np.int64)[None], n)[0] - exact for n in (8, 12)]
    assert (gaps[1] < gaps[0] / 10).all()
    assert (gaps[1] < 0.1).all()


def test_in_proved_boxes_and_their_mirror_images_a_determinant_is_negative(proof):
    random = np.random.default_rng(0)
    boxes = proved_boxes(proof)
    for k in random.choice(len(boxes), 100, replace=False):
        corner, level, code = boxes[k]
        angles = np.sort((corner + random.uniform(0, 1, (20, 4))) * (2 * math.pi / (1 << level)), axis=1)
        inside = np.floor(angles / (2 * math.pi) * (1 << level)).astype(np.int64)
        angles = angles[(inside == corner).all(1)]
        assert (signs(angles, complete=True).each[:, code - 1] == -1).all()
        mirrored = 2 * math.pi - angles[:, ::-1]
        assert (signs(mirrored, complete=True).each[:, 4 - code] == -1).all()


def test_the_share_is_a_volume(proof):
    """Random sets, each looked up in the tree of boxes; boxes across a border count for less."""
    angles = np.sort(np.random.default_rng(2).uniform(0, 1, (20_000, 4)), axis=1)
    mirror = angles[:, 0] + angles[:, 3] >= 1
    angles[mirror] = 1 - angles[mirror, ::-1]
    hits, corners = np.zeros(20_000, bool), np.zeros((1, 4), np.int64)
    for level, codes in enumerate(proof.levels):
        keys = {tuple(c): code for c, code in zip(corners.tolist(), codes.tolist(), strict=True)}
        here = np.floor(angles * (1 << level)).astype(np.int64)
        hits |= np.array([keys.get(tuple(row), 0) in (2, 3) for row in here.tolist()])
        corners = children(corners[codes == SPLIT])
    error = 3 * hits.std() / 20_000**0.5
    assert hits.mean() - 0.05 < proof.share < hits.mean() + error


def test_files_and_refusals(tmp_path, proof):
    proof.save(tmp_path / "four.npz")
    again = load(tmp_path / "four.npz")
    assert again.digest == proof.digest != FourProof(4, proof.levels).digest
    assert again.counts() == proof.counts()
    with pytest.raises(TutelageError, match="from 2 to 8"):
        prove_four(1, 5)


def test_the_stored_proof_is_of_the_margin_it_says():
    stored = load(STORED)
    assert stored.margin == 6
    assert len(stored.levels) == 9
