"""Learners: what they fit, where they end, and what they refuse."""

import pytest
import torch

from tutelage.distillation import Distillation, HardTarget, Isotropic, Polynomial, Weakened, angle, learned
from tutelage.errors import TutelageError


@pytest.fixture(scope="module")
def few():
    return Polynomial(12, kappa=1.0).transfer(range(6), 4)


@pytest.mark.parametrize("delta", [0.0, 0.5, 10.0])
def test_weakened_learners_fit_the_labels_and_lie_delta_away(few, delta):
    w, goal = Weakened(delta)(few, range(6)), learned(few)
    assert (few.heights(w) - few.logits).abs().max() < 1e-12 * (1 + delta)
    assert torch.allclose((w - goal).norm(dim=1), delta * goal.norm(dim=1))
    assert torch.equal(Weakened(delta)(few[[2]], [2])[0].isfinite(), w[2].isfinite())
    assert torch.allclose(Weakened(delta)(few[[2]], [2])[0], w[2])


def test_nothing_is_weakened_once_the_data_span_the_space():
    many = Isotropic(3).transfer(range(4), 5)
    assert torch.equal(Weakened(2.0)(many, range(4)), Distillation()(many, range(4)))


def test_hard_targets_descend_the_logistic_loss(few):
    signs = 2 * few.hard_labels - 1
    w = torch.zeros(6, 12, dtype=torch.float64)
    for _ in range(30):
        pull = torch.sigmoid(-signs * few.heights(w)) * signs
        w = w + few.safe_step.unsqueeze(1) * (pull.unsqueeze(1) @ few.x).squeeze(1) / few.count
    assert torch.allclose(HardTarget(30)(few, range(6)), w, atol=1e-10)


def test_hard_targets_without_end_are_max_margin(few):
    w = HardTarget(None)(few, range(6))
    margin = (2 * few.hard_labels - 1) * few.heights(w)
    assert torch.allclose(margin.amin(1), torch.ones(6, dtype=torch.float64))
    assert few.across(w).abs().max() < 1e-10
    other = Isotropic(3).transfer(range(4), 8)  # more inputs than dimensions
    best = HardTarget(None)(other, range(4))
    assert ((2 * other.hard_labels - 1) * other.heights(best)).amin() > 1 - 1e-9
    gaps = [angle(HardTarget(k)(other, range(4)), best).max() for k in (10, 1000, 20_000)]
    assert gaps[0] > gaps[1] > gaps[2]


def test_what_is_refused():
    with pytest.raises(TutelageError, match="0 or more"):
        Weakened(-1.0)
    with pytest.raises(TutelageError, match="at least one step"):
        HardTarget(0)


def test_an_infinite_delta_is_an_error():
    from tutelage.errors import TutelageError

    with pytest.raises(TutelageError, match="delta is 0 or more and finite, not inf"):
        Weakened(float("inf"))
