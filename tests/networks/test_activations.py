"""A gate times the pre-activation is torch's activation and the gate its derivative; others equal torch's functions."""

import math

import numpy as np
import pytest
import torch

from tutelage import TutelageError
from tutelage.networks import ACTIVATIONS, Network, activation, forward, outputs
from tutelage.networks.activations import gate, named, piecewise_linear, value_and_derivative

TORCH = {
    "relu": lambda u, slope: torch.relu(u),
    "leaky": torch.nn.functional.leaky_relu,
    "abs": lambda u, slope: torch.abs(u),
    "linear": lambda u, slope: u * 1,
}


SMOOTH = {
    "erf": lambda u: torch.erf(u / math.sqrt(2)),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "softplus": torch.nn.functional.softplus,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    "hard-swish": torch.nn.functional.hardswish,
    "squared-relu": lambda u: torch.relu(u) ** 2,
}


def test_every_activation_has_its_twin_here():
    assert piecewise_linear() == list(TORCH)
    hermite = {name for name in ACTIVATIONS if name.startswith("hermite-")}
    assert {*TORCH, *SMOOTH} <= set(ACTIVATIONS)
    assert len(hermite) == 6


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_activation_is_torchs_function_with_its_derivative(name):
    u = torch.linspace(-6, 6, 241, dtype=torch.float64).requires_grad_()
    f = SMOOTH[name](u)
    (derivative,) = torch.autograd.grad(f.sum(), u)
    value, slope = value_and_derivative(name, u.detach())
    torch.testing.assert_close(value, f.detach(), rtol=1e-13, atol=1e-15)
    torch.testing.assert_close(slope, derivative, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("order", range(1, 7))
def test_hermite_polynomials_are_orthonormal_under_the_normal_distribution(order):
    x, weight = np.polynomial.hermite_e.hermegauss(20)
    rows = torch.stack([value_and_derivative(f"hermite-{k}", torch.from_numpy(x))[0] for k in range(1, 7)])
    gram = rows * torch.from_numpy(weight / math.sqrt(2 * math.pi)) @ rows.T
    assert (gram - torch.eye(6)).abs().max() < 1e-12
    u = torch.linspace(-2, 2, 41, dtype=torch.float64).requires_grad_()
    (derivative,) = torch.autograd.grad(ACTIVATIONS[f"hermite-{order}"].function(u, 0.0).sum(), u)
    torch.testing.assert_close(value_and_derivative(f"hermite-{order}", u.detach())[1], derivative)


def test_gates_of_smooth_activations_do_not_exist():
    with pytest.raises(TutelageError, match="'tanh' is not piecewise linear"):
        gate("tanh", torch.ones(1), 0.0)


@pytest.fixture
def forget():
    before = dict(ACTIVATIONS)
    yield
    for name in set(ACTIVATIONS) - set(before):
        del ACTIVATIONS[name]


def test_a_function_becomes_an_activation_with_its_derivative(forget):
    @activation
    def cubed(u):
        return u**3

    value, slope = value_and_derivative("cubed", torch.tensor([2.0]))
    assert (value.item(), slope.item()) == (8.0, 12.0)
    with pytest.raises(TutelageError, match="an activation called 'cubed' exists already: rename"):
        activation(_another())
    assert named(cubed) == "cubed"
    assert named(_another()) == "cubed-2"


def _another():
    def cubed(u):
        return u**2

    return cubed


def test_a_network_takes_a_function_and_computes_with_it(forget):
    net = Network((torch.eye(2)[None], torch.ones(1, 2, 1)), activation=lambda u: u.sin())
    x = torch.tensor([[0.5, -1.0]])
    torch.testing.assert_close(outputs(net, x)[0], x.sin().sum(1, keepdim=True))
    torch.testing.assert_close(forward(net, x).slopes[0][0], x.cos())


def test_a_function_that_changes_the_shape_is_an_error(forget):
    name = named(lambda u: u.sum(-1))
    with pytest.raises(TutelageError, match="must act entry by entry"):
        value_and_derivative(name, torch.ones(2, 3))


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


@pytest.mark.parametrize("value", [3.5, [1], {"a": 1}, None, float, torch.nn.ReLU])
def test_what_is_no_function_is_an_error_and_is_not_registered(value):
    """Values of any type were registered under the name of their type."""
    before = list(ACTIVATIONS)
    with pytest.raises(TutelageError, match="a name or a function of a tensor"):
        named(value)
    with pytest.raises(TutelageError, match="a name or a function of a tensor"):
        activation(value)
    assert list(ACTIVATIONS) == before
