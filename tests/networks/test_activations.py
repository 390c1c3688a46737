"""A gate times the pre-activation is torch's activation, and the gate its derivative."""

import pytest
import torch

from tutelage.networks import ACTIVATIONS
from tutelage.networks.activations import gate

TORCH = {
    "relu": lambda u, slope: torch.relu(u),
    "leaky": torch.nn.functional.leaky_relu,
    "abs": lambda u, slope: torch.abs(u),
    "linear": lambda u, slope: u * 1,
}


def test_every_activation_has_its_twin_here():
    assert ACTIVATIONS.keys() == TORCH.keys()


def sample(dtype):
    """Both signs, both zeros, the smallest and the largest numbers."""
    tiny, huge = torch.finfo(dtype).tiny, torch.finfo(dtype).max
    spread = torch.linspace(-3, 3, 101, dtype=dtype)
    return torch.cat([spread, torch.tensor([0.0, -0.0, tiny, -tiny, huge, -huge], dtype=dtype)])


@pytest.mark.parametrize("activation", TORCH)
@pytest.mark.parametrize("slope", [0.0, 0.01, 0.5])
def test_the_gate_times_u_is_the_activation(activation, slope, dtype):
    u = sample(dtype)
    assert torch.equal(gate(activation, u, slope) * u, TORCH[activation](u, slope))


@pytest.mark.parametrize("activation", TORCH)
@pytest.mark.parametrize("slope", [0.0, 0.01, 0.5])
def test_the_gate_is_the_derivative_torch_takes_also_at_zero(activation, slope, dtype):
    u = sample(dtype).requires_grad_()
    (derivative,) = torch.autograd.grad(TORCH[activation](u, slope).sum(), u)
    measured = gate(activation, u.detach(), slope)
    assert measured.dtype == dtype
    assert torch.equal(measured, derivative)


@pytest.mark.parametrize("activation", TORCH)
def test_the_gate_leaves_its_argument_alone_and_keeps_its_shape(activation):
    u = torch.linspace(-1, 1, 24).view(2, 3, 4)
    before = u.clone()
    assert gate(activation, u, 0.1).shape == (2, 3, 4)
    assert torch.equal(u, before)
