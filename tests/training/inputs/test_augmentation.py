"""The augmentations of Def. 7 of Tian 2020, point by point."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.networks import Network
from tutelage.training.inputs import Inputs
from tutelage.training.inputs.augmentation import step, teacher_agnostic, teacher_aware


def test_the_step_is_the_seeds():
    assert step(0.1, units=9, c=2.0) == pytest.approx(2 * 0.1 / (2.0 * 27))


@pytest.mark.parametrize("shape", [(5, 3), (2, 5, 3)])
def test_every_point_is_moved_along_every_axis_both_ways(shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    out = teacher_agnostic(x, 0.25)
    assert out.shape == (*shape[:-2], 7 * 5, 3)
    expected = {tuple(p) for p in x.reshape(-1, 3).tolist()}
    for axis in range(3):
        for sign in (0.25, -0.25):
            moved = x.clone()
            moved[..., axis] += sign
            expected |= {tuple(p) for p in moved.reshape(-1, 3).tolist()}
    assert {tuple(p) for p in out.reshape(-1, 3).tolist()} == expected
    assert torch.equal(out[..., :5, :], x)
    assert torch.equal(teacher_agnostic(Inputs(x, x, (0,)), 0.25), out)


def test_a_part_is_drawn_from_the_whole_without_repetition():
    x = torch.randn(4, 2, generator=torch.Generator().manual_seed(0))
    whole = {tuple(p) for p in teacher_agnostic(x, 0.1).tolist()}
    some = [tuple(p) for p in teacher_agnostic(x, 0.1, moved=7).tolist()]
    assert len(some) == 4 + 7 == len(set(some))
    assert set(some) < whole
    assert some != [tuple(p) for p in teacher_agnostic(x, 0.1, moved=7, seed=1).tolist()]


def test_points_near_a_boundary_are_moved_across_it():
    teacher = Network(
        (torch.tensor([[[3.0], [4.0]]]), torch.ones(1, 1, 1)), (torch.tensor([[-5.0]]), torch.zeros(1, 1))
    )
    x = torch.tensor([[0.6, 0.8], [5.0, 5.0]])  # on the boundary, and far from it
    [out] = teacher_aware(x, teacher, band=0.1, step=0.5)
    assert torch.allclose(out, torch.cat([x, torch.tensor([[0.9, 1.2], [0.3, 0.4]])]))
    [part] = teacher_aware(x, teacher, band=0.1, step=0.5, moved=1)
    assert len(part) == 3


def test_every_member_has_as_many_points_as_its_bands_hold():
    teacher = Network((torch.tensor([[[1.0, 2.0]], [[1.0, 1.0]]]), torch.ones(2, 2, 1)))
    x = torch.tensor([[0.01], [1.0]])
    assert [len(points) for points in teacher_aware(x, teacher, band=0.1, step=0.5)] == [6, 6]
    shifted = Network(teacher.weights, (torch.tensor([[0.0, 9.0], [0.0, 0.0]]), torch.zeros(2, 1)))
    assert [len(points) for points in teacher_aware(torch.stack([x, x]), shifted, 0.1, 0.5)] == [4, 6]


def test_what_cannot_be_done_is_refused():
    x = torch.zeros(2, 1)
    with pytest.raises(TutelageError, match="step must be above 0"):
        teacher_agnostic(x, 0.0)
    with pytest.raises(TutelageError, match="count must be at most 4"):
        teacher_agnostic(x, 1.0, moved=9)
    flat = Network((torch.zeros(1, 1, 1), torch.ones(1, 1, 1)))
    with pytest.raises(TutelageError, match="unit 0 of teacher 0 has weights 0"):
        teacher_aware(x, flat, 0.1, 0.1)
