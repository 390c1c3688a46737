"""Sectors, G and its extremal directions."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.margins.datasets import LabelledPoints, cones, half_spaces
from tutelage.margins.sectors import ascend, class_sums, extremal_sectors, field, landscape, signs


def test_the_sectors_of_the_lemma_by_hand():
    x = torch.tensor([[1.0, 0.0, 0.0], [-1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    plus, minus = extremal_sectors(LabelledPoints(x, torch.tensor([1, -1, -1])))
    assert plus.tolist() == [[1, -1, 0]]
    assert minus.tolist() == [[-1, 1, 1]]


def test_g_is_the_gradients_integral():
    data = half_spaces(range(3))
    w = torch.randn(3, 5, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True)
    [slope] = torch.autograd.grad(landscape(w, data).sum(), w)
    torch.testing.assert_close(field(w.detach(), data), slope)
    torch.testing.assert_close((w * slope).sum(2), landscape(w, data))  # homogeneous of degree 1


def test_a_tie_is_taken_out_of_the_field():
    x = torch.tensor([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    data = LabelledPoints(x, torch.tensor([1, 1, -1]))
    w = torch.tensor([[[0.0, 1.0]]], dtype=torch.float64)  # samples 0 and 2 on the boundary
    assert signs(w, data).tolist() == [[[0, 1, 0]]]
    torch.testing.assert_close(field(w, data), torch.tensor([[[0.0, 0.5]]], dtype=torch.float64))


@pytest.mark.parametrize("loss", ["logistic", "polynomial"])
def test_on_separable_data_every_ascent_ends_at_the_class_sum(loss):
    data = cones(range(4))
    for positive, target in zip((True, False), class_sums(data), strict=True):
        end = ascend(data, positive, starts=200, loss=loss)
        there = ~end.flat
        assert there.any(1).all()
        assert ((end.w - target.unsqueeze(1)).norm(dim=2)[there] < 1e-6).all()
        assert (end.residual[there] < 1e-6).all()
        assert ((end.value > 0) == positive)[there].all()


def test_elsewhere_there_are_several_ends():
    data = half_spaces(range(4))
    end = ascend(data, starts=100)
    target = class_sums(data)[0]
    assert ((end.w - target.unsqueeze(1)).norm(dim=2) > 0.01).any()


def test_starts_that_do_not_fit_are_refused():
    with pytest.raises(TutelageError, match="starts have shape"):
        ascend(cones([0]), starts=torch.ones(2, 5, 3))
