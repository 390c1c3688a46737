"""Theorem 4.4 on fractions: it holds, speaks not of the trivial solution, and takes no floats."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.certificates.rational_angles import rational_angles

fractions = st.builds(Fraction, st.integers(-40, 40), st.integers(1, 12))


@given(st.lists(fractions, min_size=1, max_size=6), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_it_never_fails(angles, seed):
    lengths = torch.rand(1, len(angles), generator=torch.Generator().manual_seed(seed)) + 0.1
    [found] = rational_angles([angles], lengths)
    aligned = all(angle % 2 == 0 for angle in angles)
    assert found.verdict == ("not applicable" if aligned else "holds")


def test_the_trivial_solution_stands_still_and_is_not_spoken_of():
    [found] = rational_angles([[0, "2", Fraction(-4)]], torch.tensor([[0.5, 1.0, 0.5]]), teacher=2.0)
    assert found.verdict == "not applicable"
    assert found.unmet == ("largest angle with the teacher, over pi",)
    assert found.parts[0].conclusion.holds is False


def test_members_have_angles_and_lengths_of_their_own():
    found = rational_angles([["1/3", "5/3"], [0, "1/7"]], torch.tensor([[1.0, 1.0], [1.0, 1e-3]]))
    assert [c.verdict for c in found] == ["holds", "holds"]
    assert "1/7 pi" in found[1].conditions[0].witness


@pytest.mark.parametrize("angle", [0.5, torch.tensor(0.5), True])
def test_a_float_is_refused_for_it_cannot_be_known_to_be_rational(angle):
    with pytest.raises(TutelageError, match=r"student 1 of member 0.*can be known to be a rational"):
        rational_angles([["1/3", angle]], torch.ones(1, 2))


def test_refusals():
    with pytest.raises(TutelageError, match="no fraction"):
        rational_angles([["pi/3"]], torch.ones(1, 1))
    with pytest.raises(TutelageError, match="no fraction"):
        rational_angles([["1/0"]], torch.ones(1, 1))
    with pytest.raises(TutelageError, match="same number of angles"):
        rational_angles([["1/3"], ["1/3", "1/2"]], torch.ones(2, 1))
    with pytest.raises(TutelageError, match="positive"):
        rational_angles([["1/3"]], torch.zeros(1, 1))
