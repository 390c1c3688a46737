"""Enclosures of the derivative by two gaps, and that the proof says what is true where both vanish."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.determinants import determinants, signs
from tutelage.alignment.edge_proof import EDGES, _upper, prove_edge
from tutelage.alignment.interval_proof import IntervalProof, load
from tutelage.alignment.proof_checker import Tables, check

STORED = Path(__file__).parents[2] / "docs" / "results" / "conjecture"
SMALL = {"opposite": (0, 2), "neighbour": (0, 1)}


def second(gaps):
    """det M_2 of gaps [S, 4] in turns."""
    return determinants(2 * math.pi * np.cumsum(gaps, axis=1)[:, :3])[1][:, 1]


def by_differences(gaps, edge, h=1e-4):
    """Of det M_2 by two gaps, what is added to each being taken from the one that follows the pair."""
    first, other = SMALL[edge]
    ways = {"opposite": ((first, 1), (other, 3)), "neighbour": ((first, 3), (other, 2))}[edge]
    total = 0
    for p in (1, -1):
        for q in (1, -1):
            moved = gaps.copy()
            for sign, (gap, taken) in zip((p, q), ways, strict=True):
                moved[:, gap] += sign * h
                moved[:, taken] -= sign * h
            total = total + p * q * second(moved)
    return total / (4 * h * h * (2 * math.pi) ** 2)


@given(st.integers(0, 10**6), st.integers(4, 9), st.sampled_from(EDGES))
def test_upper_bounds_hold_differences_of_determinants(seed, level, edge):
    """Divided by s where the bound is, so only the sign is compared there."""
    random = np.random.default_rng(seed)
    corners = np.sort(random.choice(1 << level, (5, 3)), axis=1)
    upper = _upper(corners, level, edge)
    turns = np.sort(corners + random.uniform(0.02, 0.98, corners.shape), axis=1) / (1 << level)
    gaps = np.diff(np.concatenate([np.zeros((5, 1)), turns, np.ones((5, 1))], axis=1), axis=1)
    clear = (gaps > 1e-3).all(1)
    slope = by_differences(gaps, edge)
    near = np.abs(np.abs(turns[:, 2] - turns[:, 0]) - 0.5) * 2 * math.pi < 0.7
    assert (slope <= upper + 0.02)[clear & ~(near & (edge == "opposite"))].all()
    assert (slope < 0.02)[clear & (upper < 0)].all()


@pytest.mark.parametrize("edge", EDGES)
def test_a_complete_proof_is_confirmed_and_true(edge):
    """Sets with two such small gaps, in both places they can be: det M_2 is proved negative one by one."""
    proof = prove_edge(edge, 5, 3, 11)
    assert proof.complete
    assert check(proof).valid
    random = np.random.default_rng(0)
    gaps = np.empty((200, 4))
    small = list(SMALL[edge])
    large = [g for g in range(4) if g not in small]
    gaps[:, small] = random.uniform(1e-3, 1 / 32, (200, 2))
    rest = 1 - gaps[:, small].sum(1)
    part = random.uniform(1 / 8, rest - 1 / 8)
    part[:50] = rest[:50] / 2  # nearly antipodal where the pairs are opposite
    gaps[:, large] = np.stack([part, rest - part], 1)
    for turned in (gaps, gaps[:, ::-1]):
        angles = 2 * math.pi * np.cumsum(turned, axis=1)[:, :3]
        assert (signs(angles, complete=True).each[:, 1] == -1).all()


@pytest.mark.parametrize("edge", EDGES)
def test_more_than_was_shown_is_refused(edge):
    proof = prove_edge(edge, 5, 3, 11)
    assert not check(IntervalProof(proof.margin, proof.levels, 4, proof.edge)).covers
    assert not check(IntervalProof(4, proof.levels, 5, proof.edge)).covers
    assert not check(IntervalProof(proof.margin, proof.levels, 5, 3 - proof.edge)).valid
    wrong = [codes.copy() for codes in proof.levels]
    wrong[-1][np.flatnonzero(wrong[-1] == 2)[0]] = 1
    assert check(IntervalProof(proof.margin, tuple(wrong), 5, proof.edge)).rejected == 1


def test_where_the_gaps_are_wide_boxes_are_not_confirmed():
    """The derivative is positive at some sets with wide gaps."""
    random = np.random.default_rng(3)
    turns = np.sort(random.uniform(0, 1, (4000, 3)), axis=1)
    gaps = np.diff(np.concatenate([np.zeros((4000, 1)), turns, np.ones((4000, 1))], axis=1), axis=1)
    wide = (gaps > 0.02).all(1)
    turns, gaps, tables = turns[wide], gaps[wide], Tables(10)
    for place, edge in enumerate(EDGES, start=1):
        positive = by_differences(gaps, edge) > 0.05
        assert positive.sum() > 10
        corners = np.floor(turns[positive] * (1 << 10)).astype(np.int64)
        assert not tables.crossing(corners, 10, place).any()
        assert (_upper(corners, 10, edge) > 0).all()


def test_regions_are_volumes():
    """By random gaps of the circle: of either kind there are two pairs."""
    gaps = np.random.default_rng(1).dirichlet(np.ones(4), 400_000)
    small, large = gaps < 1 / 8, gaps >= 1 / 16
    inside = (small[:, [0, 2]].all(1) & large[:, [1, 3]].all(1)) * 1.0 + small[:, [1, 3]].all(1) * large[:, [0, 2]].all(
        1
    )
    assert IntervalProof(4, (), 3, 1).region == pytest.approx(inside.mean(), abs=4 * inside.std() / 400_000**0.5)


@pytest.mark.parametrize("edge", EDGES)
def test_stored_proofs_are_what_their_names_say(edge):
    proof = load(STORED / f"m3_{edge}_edge_boxes.npz")
    assert proof.complete
    assert EDGES[proof.edge - 1] == edge
    assert proof.slab == 6


def test_files_and_refusals(tmp_path):
    proof = prove_edge("opposite", 5, 4, 7)
    proof.save(tmp_path / "edge.npz")
    assert load(tmp_path / "edge.npz").digest == proof.digest != IntervalProof(4, proof.levels, 5).digest
    with pytest.raises(TutelageError, match="did you mean 'opposite'"):
        prove_edge("oposite")
    with pytest.raises(TutelageError, match="no wider"):
        prove_edge("opposite", 3, 4, 8)
