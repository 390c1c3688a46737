"""Sums of sparse features: their moments, and that they lie along the teacher's units."""

import pytest
import torch

from tutelage.networks import Network
from tutelage.training.inputs.sparse_features import SparseFeatures


def test_one_unit_is_present_in_a_share_of_the_points_with_deviation_one():
    teacher = Network((torch.tensor([[[3.0], [4.0]]], dtype=torch.float64), torch.ones(1, 1, 1, dtype=torch.float64)))
    drawn = SparseFeatures(sparsity=0.8, std=2.0, train=40_000, evaluate=1).draw(teacher, [5]).train[0]
    along = drawn @ torch.tensor([0.6, 0.8], dtype=torch.float64)
    assert torch.allclose(along[:, None] * torch.tensor([[0.6, 0.8]]).double(), drawn, atol=1e-12)
    share = (along != 0).double().mean().item()
    assert share == pytest.approx(0.2, abs=4 * (0.2 * 0.8 / 40_000) ** 0.5)
    # x^2 has the mean 4 and the fourth moment 16 * 3 / 0.2
    assert along.square().mean().item() == pytest.approx(4, abs=4 * ((240 - 16) / 40_000) ** 0.5)


def test_they_cannot_be_drawn_at_every_step():
    with pytest.raises(ValueError, match="cannot be drawn at every step"):
        SparseFeatures().fresh(torch.zeros(1, dtype=torch.int64), 0, 1, 2, 3, torch.float32)
