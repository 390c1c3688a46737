"""The tangent kernel against gradients by autograd, and measures of how far training has moved it."""

import pytest
import torch

import tutelage as tt
from tutelage.measures import MEASURES
from tutelage.measures.kernels import tangent_kernel
from tutelage.measures.snapshot import slices
from tutelage.networks import Network, outputs


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("widths", [(4, 3, 2), (3, 3, 4, 2)])
def test_the_kernel_is_the_product_of_gradients(random_network, activation, bias, widths):
    net = random_network(widths, members=2, activation=activation, bias=bias)
    x = torch.randn(2, 5, widths[0], dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    kernel = tangent_kernel(net, x)
    arrays = [a.clone() for a in net.parameters]
    depth = net.depth

    def function(*a):
        return _outputs(a[:depth], a[depth:] or None, x, activation)

    jacobians = torch.autograd.functional.jacobian(function, tuple(arrays))  # [S, N, C, S, ...]
    for s in range(2):
        rows = torch.cat([j[s, :, :, s].flatten(2) for j in jacobians], 2)
        torch.testing.assert_close(kernel[s], torch.einsum("ncp,mcp->nm", rows, rows))
    torch.testing.assert_close(function(*arrays), outputs(net, x))


def _outputs(weights, biases, x, activation):
    f = x
    for layer, w in enumerate(weights):
        f = f @ w + (0 if biases is None else biases[layer].unsqueeze(1))
        if layer < len(weights) - 1:
            f = getattr(torch, activation)(f)
    return f


def test_nothing_has_moved_at_the_start_and_wide_small_steps_are_lazy(problem):
    p = problem(activation="tanh")
    names = ["kernel_alignment", "kernel_drift", "weight_drift"]
    run = tt.train(p.teacher, p.students, p.inputs, steps=300, learning_rate=0.05, record=[10])
    report = tt.measure(run, names)
    assert abs(report["kernel_alignment"][0] - 1).max() < 1e-12
    assert report["kernel_drift"][0].max() == report["weight_drift"][0].max() == 0
    assert (report["kernel_drift"][2] > report["kernel_drift"][1]).all()
    assert (report["kernel_alignment"][2] < 1).all()


def test_the_target_alignment_of_the_best_kernel_is_one():
    """A linear network of one input and output has K = x x', the kernel of its teacher's outputs."""
    one = Network((torch.ones(1, 1, 1, dtype=torch.float64),), activation="linear")
    inputs = tt.inputs.Gaussian(train=5, evaluate=50).draw(one, [0])
    (now,) = slices(one, one, inputs)
    assert abs(MEASURES["target_alignment"](now).item() - 1) < 1e-12


def test_the_participation_ratio_counts_directions():
    identity = Network(
        (torch.eye(4, dtype=torch.float64)[None], torch.ones(1, 4, 1, dtype=torch.float64)), activation="linear"
    )
    spread = tt.inputs.GaussianCovariance(variances=(1.0, 1.0, 0.0, 0.0), train=5, evaluate=20_000).draw(identity, [0])
    (now,) = slices(identity, identity, spread)
    assert abs(MEASURES["participation_ratio"](now).item() - 2) < 0.01
