"""Error bounds cover what rational arithmetic finds, and rational arithmetic is that of fractions."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from tutelage.functions.rounding import (
    EPS,
    ROUNDING,
    TINY,
    cancelled,
    difference_with_error,
    down,
    exact_difference,
    exact_outputs,
    gamma,
    up,
    values,
    with_error,
)
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of
from tutelage.networks.forward import activate, linear


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


EPSILON = Fraction(1, 2**52)  # the distance of 1 from the next float64
SMALLEST = Fraction(1, 2**1022)  # the smallest normal one


def room(terms):
    """What Higham allows a sum of so many products and 8 more additions, relatively, with a unit of half an epsilon."""
    return (terms + 8) * EPSILON


def absolute_product(row, matrix):
    return [
        sum(abs(Fraction(v)) * abs(Fraction(r[k])) for v, r in zip(row, matrix, strict=True))
        for k in range(len(matrix[0]))
    ]


def error_by_hand(network, point):
    """The error bound of :func:`with_error` in fractions, one scalar at a time, along the values in float64.

    A layer of n inputs passes |W| times the error on, and adds its own rounding, room(n) of all sizes in the sum, and a
    smallest number per product and for the bias; everything is enlarged by 4 room(n), for the bound is itself computed
    in float64. A unit that is surely off multiplies the error by a slope that is not negative, one product later; all
    others keep it, as no slope is steeper than 1. A slope other than 0 and 1 rounds the value once more.
    """
    left = {"relu": 0.0, "abs": -1.0, "linear": 1.0, "leaky": network.slope}[network.activation]
    f, error = point.view(1, 1, -1), [Fraction(0)] * len(point)
    for layer in range(network.depth):
        rows, n = network.weights[layer][0].tolist(), network.weights[layer].shape[1]
        b = [0.0] * len(rows[0]) if network.biases is None else network.biases[layer][0].tolist()
        sizes = [s + abs(Fraction(c)) for s, c in zip(absolute_product(f[0, 0].tolist(), rows), b, strict=True)]
        passed = absolute_product(error, rows)
        error = [(p + room(n) * s + (n + 1) * SMALLEST) * (1 + 4 * room(n)) for p, s in zip(passed, sizes, strict=True)]
        f = linear(network, layer, f)
        if layer == network.depth - 1:
            break
        off = [left >= 0 and Fraction(v) + e < 0 for v, e in zip(f[0, 0].tolist(), error, strict=True)]
        error = [Fraction(left) * e * (1 + room(0)) if o else e for o, e in zip(off, error, strict=True)]
        f = activate(network, f)
        if left not in (0.0, 1.0, -1.0):
            error = [e + room(0) * abs(Fraction(v)) + SMALLEST for v, e in zip(f[0, 0].tolist(), error, strict=True)]
    return error


def cancelling(seed, widths, activation, scale):
    """Every unit of the first layer is a sum of terms and nearly their opposites, so that some signs are rounding's."""
    draw = torch.Generator().manual_seed(seed)
    weights = [torch.randn(1, a, b, generator=draw, dtype=torch.float64) for a, b in itertools.pairwise(widths)]
    weights[0] = torch.cat(
        [weights[0], -weights[0] * (1 + 2.0**-51 * torch.randint(-2, 3, weights[0].shape, generator=draw))], 1
    )
    biases = [torch.zeros(1, n, dtype=torch.float64) for n in widths[1:]]
    biases[-1] = scale * torch.randn(1, widths[-1], generator=draw, dtype=torch.float64)
    x = torch.randn(4, widths[0], generator=draw, dtype=torch.float64) * scale
    return Network(tuple(weights), tuple(biases), activation, slope_of(activation, 0.1)), x.repeat(1, 2)


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
@pytest.mark.parametrize("scale", [1.0, 2.0**-1040, 1e-160])
def test_the_error_is_its_definition_in_fractions(random_net, activation, scale):
    """Neither smaller than the sum without its last enlargement, nor further from it than its own rounding."""
    for seed, widths in enumerate([(1, 1), (2, 3), (3, 4, 2), (2, 3, 3, 2), (1, 4, 1)]):
        plain = random_net(widths, seed, activation=activation, slope=0.1)
        small = Network((plain.weights[0] * scale, *plain.weights[1:]), None, activation, plain.slope)
        draw = torch.Generator().manual_seed(seed)
        points = 3 * torch.randn(6, widths[0], dtype=torch.float64, generator=draw)
        for network, x in ((plain, points), (small, points), cancelling(seed, widths, activation, scale)):
            for point, found in zip(x, with_error(network, x)[1][0].tolist(), strict=True):
                for e, q in zip(found, error_by_hand(network, point), strict=True):
                    assert abs(Fraction(e) - q) <= 3 * network.depth * EPSILON * q


def test_the_error_covers_its_own_rounding():
    """The same recursion without the enlargement, in fractions, lies below it: sums of 400 errors round too."""
    draw = torch.Generator().manual_seed(0)
    w = torch.rand(1, 400, 30, generator=draw, dtype=torch.float64)
    x = torch.rand(1, 400, generator=draw, dtype=torch.float64)
    found = with_error(Network((w,)), x)[1][0, 0].tolist()
    sizes = absolute_product(x[0].tolist(), w[0].tolist())
    assert all(room(400) * s < Fraction(e) < room(408) * s for e, s in zip(found, sizes, strict=True))


def test_the_error_of_a_difference_is_its_definition_in_fractions(random_net):
    flat = Network((torch.zeros(1, 2, 1, dtype=torch.float64),))
    one = Network((torch.ones(1, 2, 1, dtype=torch.float64),))
    x = torch.randn(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for a, b in ((random_net((2, 4, 1), 1), random_net((2, 3, 1), 2)), (flat, one), (flat, flat)):
        gaps, errors = difference_with_error(a, b, x)
        (of_a, error_a), (of_b, error_b) = with_error(a, x), with_error(b, x)
        assert torch.equal(gaps, (of_a - of_b).abs())
        parts = (t.flatten().tolist() for t in (gaps, errors, error_a, error_b))
        for gap, error, p, q in zip(*(map(Fraction, part) for part in parts), strict=True):
            exact = (p + q + 2 * room(0) * gap) * (1 + room(8)) + SMALLEST
            assert abs(error - exact) <= 3 * EPSILON * exact


def test_numbers_are_moved_outwards_by_two_roundings():
    assert (Fraction(EPS), Fraction(TINY), gamma(5)) == (EPSILON, SMALLEST, float(room(5)))
    assert 64 * EPSILON / 2 < ROUNDING <= 64 * EPSILON  # a mean rounds by half an epsilon, a chain is 64 of them
    draw = torch.Generator().manual_seed(0)
    for a, b, c in torch.randn(500, 3, generator=draw, dtype=torch.float64).tolist():
        exact = (Fraction(a) - Fraction(b)) * Fraction(c)
        assert Fraction(down((a - b) * c)) < exact < Fraction(up((a - b) * c))
    assert Fraction(up(1.0)) == 1 + 2 * EPSILON == 2 - Fraction(down(1.0))
    assert Fraction(up(-1.0)) == 2 * EPSILON - 1
    assert down(0.0) == -up(0.0) < -TINY


def test_a_value_that_overflows_on_the_way_is_unknown():
    """A finite sum of infinite size, and the error of such a unit times a weight of 0, which is no number."""
    w = torch.tensor([[[1e308], [1e308]]], dtype=torch.float64)
    x = torch.tensor([[1.5, -1.0]], dtype=torch.float64)
    for network in (Network((w,)), Network((w, torch.zeros(1, 1, 1, dtype=torch.float64)))):
        value, error = with_error(network, x)
        assert (value.item(), error.item()) == (0, torch.inf)


def double(*weights):
    return Network(tuple(torch.tensor(w, dtype=torch.float64) for w in weights))


def test_exact_values_where_numbers_are_zero_large_or_the_smallest_there_are():
    """Beside a zero powers of two are those of the other numbers; (1 + e)^2 - (1 + 2 e) is e^2, the lowest bit."""
    e = 2.0**-52
    net = double([[[1 + e], [-1 - 2 * e]]], [[[1.0]]])
    assert exact_outputs(net, torch.tensor([1 + e, 1.0], dtype=torch.float64)) == [EPSILON**2]
    net = double([[[1e20, 0.0, 3e15], [0.0, 0.0, -1e22]]], [[[1e30], [5.0], [1.0]]])
    net = replace(net, biases=(torch.zeros(1, 3, dtype=torch.float64), torch.tensor([[0.5]], dtype=torch.float64)))
    for point in ([1e17 + 16, 0.0], [0.0, 0.0], [1e10, -1e10]):
        x = torch.tensor(point, dtype=torch.float64)
        assert exact_outputs(net, x) == by_hand(net, x)
        assert all(value.denominator <= 2 for value in exact_outputs(net, x))


def test_a_layer_without_units_leaves_the_biases():
    net = Network((torch.ones(1, 2, 0), torch.ones(1, 0, 2)), (torch.ones(1, 0), torch.tensor([[0.5, 3.0]])))
    assert exact_outputs(net, torch.ones(2)) == [Fraction(1, 2), Fraction(3)]


def test_networks_of_other_widths_have_no_difference(random_net):
    with pytest.raises(ValueError, match=r"shorter|longer"):
        exact_difference(random_net((2, 1), 0), random_net((2, 3), 0), torch.zeros(2))


def test_values_are_those_in_float64_and_of_sparse_networks_too(random_net):
    net = random_net((2, 3, 2), 0, dtype=torch.float32)
    x = torch.randn(3, 2)
    assert torch.equal(values(net, x), outputs(net.to(dtype=torch.float64), x.double())[0])


def test_what_cancelled_is_put_to_zero_up_to_the_limit_itself():
    limit = 1e-15 * 3.0
    summed = torch.tensor([limit, -limit, math.nextafter(limit, 1)], dtype=torch.float64)
    kept, lost = cancelled(summed, torch.full((3,), 3.0, dtype=torch.float64), 1e-15)
    assert kept.tolist()[:2] == [0, 0]
    assert lost.tolist() == [limit, limit, 0]
    assert kept[2] > limit
