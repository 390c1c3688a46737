"""The closed form is the least-squares solution, the end of Newton's method, and the end of descent."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.distillation.learned import angle, learned, newton, unsigned_angle
from tutelage.distillation.tasks import Isotropic
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError


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
