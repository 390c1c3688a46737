"""Constructed networks are what they are made for: identifiable, transparent, with the fold structure of the lemma."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions.comparing.canonical import canonical
from tutelage.functions.domain import polytope
from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.identifiability import identifiability

WIDTHS = [(2, 2, 1), (2, 2, 2, 1), (3, 2, 2, 1), (3, 3, 2, 1), (3, 3, 3, 1), (2, 2, 2, 2, 1), (3, 3, 2, 2, 1),
          (4, 3, 3, 2, 1), (4, 4, 1)]  # fmt: skip


@pytest.mark.parametrize("widths", WIDTHS)
def test_the_first_draw_is_identifiable(widths):
    found = identifiability(construct(widths, (-1, 1), seed=7, check=False), (-1, 1))
    assert found.holds, str(found)
    assert [len(folds.found) for folds in found.layers] == list(widths[1:-1])


@settings(max_examples=10)
@given(st.sampled_from(WIDTHS[:5]), st.integers(0, 10**6))
def test_unit_two_is_active_wherever_unit_one_is_not(widths, seed):
    network = construct(widths, (-1, 1), seed, check=False)
    f = 2 * torch.rand(2000, widths[0], dtype=torch.float64) - 1
    for w, b in zip(network.weights[:-1], network.biases[:-1], strict=True):
        u = f @ w[0] + b[0]
        assert (u[:, :2] > 0).any(1).all()
        f = u.relu()


def test_a_triangle_and_a_large_box_will_do():
    triangle = polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([1.0, 1.0, 1.0]))
    assert identifiability(construct((2, 2, 2, 1), triangle, seed=1), triangle).holds
    assert identifiability(construct((2, 2, 2, 1), (-20.0, 40.0), seed=1), (-20.0, 40.0)).holds


def test_a_seed_is_a_network():
    first, again, other = (canonical(construct((2, 2, 1), (-1, 1), seed)) for seed in (3, 3, 4))
    assert torch.equal(first.weights[0], again.weights[0])
    assert not torch.allclose(first.weights[0], other.weights[0])


@pytest.mark.parametrize("widths", [(2, 3, 1), (3, 1, 1), (3, 2, 2), (3, 1)])
def test_widths_of_which_the_theorem_does_not_speak_are_refused(widths):
    with pytest.raises(TutelageError, match="cannot be used"):
        construct(widths, (-1, 1))
