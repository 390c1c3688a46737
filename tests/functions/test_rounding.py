"""Error bounds cover what rational arithmetic finds, and rational arithmetic is that of fractions."""

from fractions import Fraction

import pytest
import torch

from tutelage.functions.rounding import difference_with_error, exact_difference, exact_outputs, with_error
from tutelage.networks import Network


def by_hand(network, point):
    """The outputs with one fraction per number."""
    f = [Fraction(v) for v in point.tolist()]
    for layer in range(network.depth):
        rows = network.weights[layer][0].tolist()
        b = [0.0] * len(rows[0]) if network.biases is None else network.biases[layer][0].tolist()
        f = [sum((v * Fraction(r[k]) for v, r in zip(f, rows, strict=True)), Fraction(b[k])) for k in range(len(b))]
        if layer < network.depth - 1:
            low = {"relu": Fraction(0), "abs": Fraction(-1), "linear": Fraction(1), "leaky": Fraction(network.slope)}
            f = [v if v > 0 else low[network.activation] * v for v in f]
    return f


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_exact_outputs_are_those_of_fractions_and_within_the_error(random_net, activation, scale):
    for seed in range(5):
        network = random_net((3, 5, 4, 2), seed, activation=activation, slope=0.01)
        network = Network((network.weights[0] * scale, *network.weights[1:]), network.biases, activation, 0.01)
        x = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        value, error = with_error(network, x)
        for point, v, e in zip(x, value[0], error[0], strict=True):
            exact = exact_outputs(network, point)
            assert exact == by_hand(network, point)
            assert all(
                abs(Fraction(a) - q) <= Fraction(b) for a, b, q in zip(v.tolist(), e.tolist(), exact, strict=True)
            )


def test_differences_are_covered(random_net):
    a, b = random_net((2, 4, 3, 2), 1), random_net((2, 3, 2), 2)
    x = torch.randn(20, 2, dtype=torch.float64)
    gap, error = difference_with_error(a, b, x)
    for point, v, e in zip(x, gap[0].tolist(), error[0].tolist(), strict=True):
        for value, room, exact in zip(v, e, exact_difference(a, b, point), strict=True):
            assert abs(Fraction(value) - exact) <= Fraction(room)
            assert room < 1e-13


def test_overflow_has_an_infinite_error_and_an_exact_value():
    w = torch.full((1, 1, 1), 1e200, dtype=torch.float64)
    net = Network((w, w))
    value, error = with_error(net, torch.ones(1, 1, dtype=torch.float64))
    assert error.item() == torch.inf
    assert value.item() == 0
    assert exact_outputs(net, torch.ones(1)) == [Fraction(1e200) ** 2]
