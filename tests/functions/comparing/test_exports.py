"""Checks of exports: the worst input is the one that the verdict rests on."""

from itertools import pairwise

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions import box, check_export, difference_bound, polytope, same_function
from tutelage.networks import Network, outputs


def late(bias):
    """relu(x + bias) of one input."""
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    return Network((one, one), (torch.full((1, 1), bias, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)))


def test_the_worst_input_is_the_row_that_differs():
    data = torch.tensor([[0.0], [5.5], [7.5], [0.5]])
    found = check_export(late(-5.0), late(-6.0), (-1, 1), data)
    assert found.verdict == "fails"
    assert (found.worst_row, found.worst_input.tolist(), found.outside) == (2, [7.5], True)
    assert found.parting_layer == 1


def test_the_worst_input_is_the_witness_where_the_search_finds_more():
    found = check_export(late(0.0), late(-0.5), (-1, 1), torch.tensor([[0.1], [-3.0]]))
    assert found.verdict == "fails"
    assert (found.worst_row, found.outside) == (None, False)
    assert found.worst_input.equal(found.closeness.witness)
    assert check_export(late(0.0), late(-0.5), (-1, 1)).worst_row is None


def random_network(*widths, seed=0):
    draw = torch.Generator().manual_seed(seed)
    weights = [torch.randn(1, a, b, generator=draw) * (2 / a) ** 0.5 for a, b in pairwise(widths)]
    return Network(tuple(weights), tuple(0.3 * torch.randn(1, b, generator=draw) for b in widths[1:]))


def with_split_units(network, seed=1):
    """The same function up to rounding: every hidden unit is two, multiples of it with a share of its fan-out each."""
    draw = torch.Generator().manual_seed(seed)
    weights, biases = list(network.weights), list(network.biases)
    for layer, width in enumerate(network.widths[1:-1]):
        scale, share = (0.2 + 3 * torch.rand(2, width, generator=draw)).flatten(), torch.rand(width, generator=draw)
        weights[layer], biases[layer] = weights[layer].repeat(1, 1, 2) * scale, biases[layer].repeat(1, 2) * scale
        fan_out = torch.cat([weights[layer + 1] * share[:, None], weights[layer + 1] * (1 - share)[:, None]], 1)
        weights[layer + 1] = fan_out / scale[:, None]
    return Network(tuple(weights), tuple(biases))


def test_units_that_were_split_pass():
    network = random_network(20, 24, 16, 3)
    other = with_split_units(network)
    found = check_export(network, other, (-1, 1), tolerance=1e-3, seconds=1)
    assert found.verdict == "passes"
    x = 2 * torch.rand(1000, 20, dtype=torch.float64) - 1
    apart = (outputs(network.to(dtype=x.dtype), x) - outputs(other.to(dtype=x.dtype), x))[0].abs().amax(0)
    assert (apart <= found.closeness.at_most).all()


def test_a_difference_beside_split_units_still_fails():
    network = random_network(20, 24, 16, 3)
    other = with_split_units(network)
    spoilt = Network(other.weights, (*other.biases[:-1], other.biases[-1] + 0.01))
    assert check_export(network, spoilt, (-1, 1), tolerance=1e-3, seconds=1).verdict == "fails"


def test_what_rounding_alone_finds_is_no_failure():
    """The same units in another order: float64 adds them up otherwise, and no input has another value."""
    # Of three terms some processors round both orders alike; of 64 none does at all of 500 points.
    units, fan_out = torch.ones(1, 1, 64, dtype=torch.float64), torch.linspace(0.1, 0.9, 64).double().view(1, 64, 1)
    first, second = Network((units, fan_out)), Network((units, fan_out.flip(1)))
    data = torch.linspace(0, 1, 500, dtype=torch.float64)[:, None]
    found = check_export(first, second, (-1, 1), data, tolerance=0.0, seconds=1)
    assert found.on_data.max() > 0
    assert found.verdict == "not decided"
    spoilt = Network((units * (1 + 2.0**-52), fan_out))
    assert check_export(first, spoilt, (-1, 1), data, tolerance=0.0, seconds=1).verdict == "fails"


def test_bounding_ends_where_the_tolerance_is_proved():
    network = random_network(6, 12, 12, 2)
    close = network.map(lambda a: a * (1 + 1e-4 * torch.sin(torch.arange(a.numel())).view_as(a)))
    bounds = []
    found = check_export(network, close, (-1, 1), tolerance=0.5, on_progress=lambda bound, *_: bounds.append(bound))
    tight = difference_bound(network, close, (-1, 1), seconds=5)
    assert found.verdict == "passes"
    assert tight.at_most.max() < found.closeness.at_most.max() <= 0.5
    assert found.closeness.parts < tight.parts


@pytest.mark.parametrize("enough", [-1.0, float("nan"), "much", float("inf")])
def test_what_is_enough_is_a_number(enough):
    with pytest.raises(TutelageError, match="enough"):
        difference_bound(late(0.0), late(1.0), (-1, 1), enough=enough)


def test_domains_hold_their_boundary():
    assert box(-1, 1, dimension=2).holds(torch.tensor([1.0, -1.0]))
    assert not box(-1, 1, dimension=2).holds(torch.tensor([1.0, -1.0001]))
    triangle = polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 1.0]))
    assert triangle.holds(torch.tensor([0.3, 0.7]))
    assert not triangle.holds(torch.tensor([0.3, 0.701]))


def corner_pair(d=40):
    """Two networks that differ by one unit, which is active near one corner of the box from -1 to 1 alone."""
    draw = torch.Generator().manual_seed(3)
    w, v = (torch.randn(1, *shape, generator=draw, dtype=torch.float64) for shape in ((d, 8), (8, 1)))
    b = torch.randn(1, 8, generator=draw, dtype=torch.float64)
    zero = torch.zeros(1, 1, dtype=torch.float64)
    more = (
        torch.cat([w, torch.ones(1, d, 1, dtype=torch.float64)], dim=2),
        torch.cat([v, 5 + zero.view(1, 1, 1)], dim=1),
    )
    return Network((w, v), (b, zero)), Network(more, (torch.cat([b, 1 - d + zero], dim=1), zero))


def test_the_search_of_a_check_looks_at_corners_of_units():
    first, second = corner_pair()
    found = check_export(first, second, (-1, 1), seconds=20.0)
    assert found.verdict == "fails"
    assert found.closeness.largest.max() == pytest.approx(5.0)


def wide(seed, change=0.0):
    """784-512-512-10, changed at random by a share."""
    draw = torch.Generator().manual_seed(seed)
    widths = (784, 512, 512, 10)
    weights = tuple(torch.randn(1, a, b, generator=draw) * (2 / a) ** 0.5 for a, b in pairwise(widths))
    draw = torch.Generator().manual_seed(seed + 1)
    return Network(tuple(w * (1 + change * torch.randn(w.shape, generator=draw)) for w in weights))


def test_a_check_without_time_still_looks_at_points_and_says_what_it_left_out():
    first, second = wide(0), wide(0, 0.1)
    data = torch.rand(3000, 784, generator=torch.Generator().manual_seed(5))
    found = check_export(first, second, (0, 1), data, seconds=0.0)
    assert found.verdict == "fails"
    assert found.on_data.max() > 0.01
    assert found.closeness.largest.max() > 0.01
    alike = check_export(first, wide(0, 1e-6), (0, 1), data, seconds=0.0)
    assert alike.verdict == "not decided"
    assert 0 < alike.left_out < 3000
    assert alike.closeness.untried[:2] == ("given points", "random points")
    assert "the search had no time for given points, random points, corners" in alike.closeness.reason


def test_a_comparison_without_time_still_looks_at_points():
    first, second = wide(0), wide(0, 0.1)
    for domain in ((-1, 1), None):
        assert same_function(first, second, domain, seconds=0.0).verdict == "different"
    alike = same_function(first, wide(0, 1e-6), (-1, 1), seconds=0.0)
    assert alike.verdict == "not decided"
    assert "looked at: 64 random points, corners, boundaries of units and an ascent not tried" in alike.reason
