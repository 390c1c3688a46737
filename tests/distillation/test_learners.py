"""Learners: what they fit, where they end, and what they refuse."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.distillation import Distillation, HardTarget, Isotropic, Polynomial, Weakened, angle, learned
from tutelage.distillation.learners import newton, unsigned_angle
from tutelage.distillation.transfer import TransferSet
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
    with pytest.raises(TutelageError, match="at least 0"):
        Weakened(-1.0)
    with pytest.raises(TutelageError, match="steps must be at least 1"):
        HardTarget(0)


def test_an_infinite_delta_is_an_error():
    from tutelage.errors import TutelageError

    with pytest.raises(TutelageError, match="delta must be finite and at least 0, got inf"):
        Weakened(float("inf"))


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 10_000))
def test_learned_is_the_shortest_solution(dimension, count, seed):
    transfer = Isotropic(dimension).transfer([seed], count)
    twin = torch.linalg.pinv(transfer.x[0]) @ transfer.logits[0]
    assert torch.allclose(learned(transfer)[0], twin, atol=1e-8)
    if count >= dimension:
        assert torch.equal(learned(transfer), transfer.teacher)


def test_repeated_inputs_count_once():
    x = torch.tensor([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    transfer = TransferSet(x, torch.tensor([3.0, 1.0, 1.0]))
    assert torch.allclose(learned(transfer), torch.tensor([[2.0, 2.0, 0.0]], dtype=torch.float64))
    assert torch.allclose(newton(transfer), learned(transfer))


@pytest.mark.parametrize(
    ("dimension", "count", "norm"), [(8, 3, 1.0), (8, 3, 40.0), (3, 9, 1.0), (3, 9, 5.0), (4, 4, 10.0)]
)
def test_newton_finds_it_without_the_teacher(dimension, count, norm):
    transfer = Isotropic(dimension, norm=norm).transfer(range(5), count)
    assert torch.allclose(newton(transfer), learned(transfer), rtol=0, atol=1e-8 * norm)


def test_newton_says_when_it_has_not_settled():
    with pytest.raises(TutelageError, match="did not settle"):
        newton(Isotropic(4).transfer(range(2), 2), most=1)


def test_angles():
    e, f = torch.eye(2, dtype=torch.float64)
    assert float(angle(e, -e)) == pytest.approx(torch.pi)
    assert float(unsigned_angle(e, -e)) == pytest.approx(0)
    assert float(unsigned_angle(e, -e + 1e-9 * f)) == pytest.approx(1e-9)
    with pytest.raises(TutelageError, match="length 0"):
        angle(e, 0 * e)


def test_the_angle_of_lines_is_accurate_near_opposite_vectors():
    first, second = torch.tensor([1.0, 0.0], dtype=torch.float64), torch.tensor([-1.0, 1e-12], dtype=torch.float64)
    assert float(unsigned_angle(first, second)) == pytest.approx(1e-12, rel=1e-9, abs=0)
    assert float(angle([1, 0], torch.tensor([0, 2]))) == pytest.approx(torch.pi / 2)


def test_transfer_sets_from_arrays():
    few = TransferSet(torch.eye(3).numpy(), [1, 2, 3])
    assert learned(few).tolist() == [[1.0, 2.0, 3.0]]


def test_vectors_of_different_lengths_have_no_angle():
    with pytest.raises(TutelageError, match=r"the same number of entries, got shapes \[2, 4\] and \[5\]"):
        angle(torch.ones(2, 4), torch.ones(5))
