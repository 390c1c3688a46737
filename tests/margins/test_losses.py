"""Losses by their logarithms."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.margins.losses import LOSSES, log_loss, log_slope, loss_of, margin_of

M = torch.linspace(-4, 40, 89, dtype=torch.float64)


@pytest.mark.parametrize("name", LOSSES)
def test_the_slope_is_the_derivative_of_the_loss(name):
    m = M.clone().requires_grad_()
    [slope] = torch.autograd.grad(log_loss(name, m).exp().sum(), m)
    torch.testing.assert_close(-slope, log_slope(name, M).exp(), rtol=1e-9, atol=0)


@pytest.mark.parametrize("name", LOSSES)
def test_the_inverse_gives_the_margin_back(name):
    m = torch.cat([M, torch.tensor([300.0, 2000.0], dtype=torch.float64)])
    torch.testing.assert_close(margin_of(name, log_loss(name, m)), m, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_constants_are_those_of_the_slope(name):
    assert loss_of(name).at_zero == pytest.approx(float(log_slope(name, torch.zeros(1)).exp()))
    assert float(log_slope(name, M).exp().max()) <= loss_of(name).bound


def test_nothing_vanishes_far_out():
    far = torch.tensor([5000.0], dtype=torch.float64)
    assert float(log_loss("logistic", far)) == -5000 == float(log_slope("logistic", far))


def test_an_unknown_loss_is_refused():
    with pytest.raises(TutelageError, match="unknown loss 'hinge'"):
        loss_of("hinge")
