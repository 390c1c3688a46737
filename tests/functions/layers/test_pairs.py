"""Two networks side by side: no function changes, and what rounding does is in the slack."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.functions.exact_forms import ends, exact_layers, output_forms

from tutelage.functions import difference_bound
from tutelage.functions.layers.pairs import joined
from tutelage.functions.rounding import exact_outputs
from tutelage.networks import Network


def random_network(widths, draw, activation="relu"):
    weights = [torch.randn(1, a, b, generator=draw, dtype=torch.float64) * (2 / a) ** 0.5 for a, b in pairwise(widths)]
    biases = [0.3 * torch.randn(1, b, generator=draw, dtype=torch.float64) for b in widths[1:]]
    return Network(tuple(weights), tuple(biases), activation)


def scaled_and_moved(network, draw, orders=3.0):
    """The same function up to rounding: hidden units in another order, scaled by 10^-orders to 10^orders."""
    weights, biases = [w.clone() for w in network.weights], [b.clone() for b in network.biases]
    for layer, width in enumerate(network.widths[1:-1]):
        order = torch.randperm(width, generator=draw)
        scale = 10 ** (orders * (2 * torch.rand(width, generator=draw, dtype=torch.float64) - 1))
        weights[layer], biases[layer] = weights[layer][:, :, order] * scale, biases[layer][:, order] * scale
        weights[layer + 1] = weights[layer + 1][:, order] / scale[:, None]
    return Network(tuple(weights), tuple(biases), network.activation)


def without_units(network, layer, count):
    """Without the last units of a hidden layer, which is another function."""
    weights, biases = list(network.weights), list(network.biases)
    weights[layer], biases[layer] = weights[layer][:, :, :-count], biases[layer][:, :-count]
    weights[layer + 1] = weights[layer + 1][:, :-count]
    return Network(tuple(weights), tuple(biases), network.activation)


def exact_ends(pair, x):
    """Ends of f - g at one input, from the pair in exact arithmetic, slack included: [C, 2]."""
    row = [Fraction(v) for v in x.tolist()]
    _, d = output_forms(exact_layers(pair), row, row)
    return [ends(form) for form in d]


@given(st.integers(0, 10**6), st.sampled_from(["relu", "leaky", "abs"]), st.integers(0, 2), st.booleans())
def test_the_exact_difference_lies_within_the_slack(seed, activation, removed, one_more_layer):
    draw = torch.Generator().manual_seed(seed)
    widths = (3, 5, 4, 2) if one_more_layer else (3, 5, 2)
    first = random_network(widths, draw, activation)
    second = scaled_and_moved(first, draw)
    second = without_units(second, 0, removed) if removed else second
    low, high = -torch.rand(3, generator=draw).double(), 3 * torch.rand(3, generator=draw).double()
    pair = joined(first, second, torch.maximum(low.abs(), high.abs()).numpy())
    for x in low + (high - low) * torch.rand(4, 3, generator=draw).double():
        exact = [a - b for a, b in zip(exact_outputs(first, x), exact_outputs(second, x), strict=True)]
        for value, (least, most) in zip(exact, exact_ends(pair, x), strict=True):
            assert least <= value <= most
            assert most - least < Fraction(1e-9)


def test_without_the_slack_rounding_would_be_forgotten():
    draw = torch.Generator().manual_seed(0)
    first = random_network((3, 8, 8, 1), draw)
    second = scaled_and_moved(first, draw)
    x = torch.rand(3, generator=draw).double()
    pair = joined(first, second, np.ones(3))
    assert pair.slack_g.any()
    bare = pair._replace(slack_g=np.zeros_like(pair.slack_g))
    (a,), (b,) = exact_outputs(first, x), exact_outputs(second, x)
    ((least, most),) = exact_ends(bare, x)
    assert least == most != a - b


def test_scaled_and_moved_units_are_put_beside_their_own():
    draw = torch.Generator().manual_seed(1)
    first = random_network((4, 6, 5, 2), draw)
    pair = joined(first, scaled_and_moved(first, draw), np.ones(4))
    assert np.abs(pair.wd).max() < 1e-14
    apart = joined(first, scaled_and_moved(first, draw))  # without sizes of inputs units are not scaled
    assert not apart.slack_g.any()
    assert np.abs(apart.wd).max() > 0.1


def test_a_network_beside_itself_or_a_close_one_keeps_its_order_and_has_no_slack():
    draw = torch.Generator().manual_seed(2)
    first = random_network((4, 6, 5, 2), draw)
    close = first.map(lambda a: a * (1 + 0.01 * torch.randn(a.shape, generator=draw, dtype=a.dtype)))
    for other in (first, close):
        pair = joined(first, other, np.ones(4))
        assert not pair.slack_g.any()
        assert np.array_equal(pair.wg[:24].reshape(6, 4), other.weights[0][0].T.numpy())


def test_units_are_not_scaled_to_the_size_of_idle_ones():
    """Beside a network that lost its idle units: a unit that resembles an idle one would get a factor of 1e-9."""
    draw = torch.Generator().manual_seed(5)
    first = random_network((3, 12, 8, 2), draw)
    idle = torch.ones(12, dtype=torch.float64)
    idle[-6:] = 1e-9
    first = Network((first.weights[0] * idle, *first.weights[1:]), (first.biases[0] * idle, *first.biases[1:]))
    second = without_units(first, 0, 6)
    plain, other = joined(first, second), joined(first, second, np.ones(3))
    assert np.array_equal(plain.wd, other.wd)
    assert difference_bound(first, second, (-1, 1), 1e-6, seconds=20).verdict == "holds"


@pytest.mark.parametrize("size", [1e200, 1e300])
def test_factors_that_float64_cannot_hold_are_not_tried(size):
    draw = torch.Generator().manual_seed(3)
    first = random_network((2, 3, 1), draw)
    second = Network((first.weights[0] * size, first.weights[1] / size), (first.biases[0] * size, first.biases[1]))
    pair = joined(first, second, np.ones(2))
    assert all(np.isfinite(a).all() for a in pair[1:])


def test_a_scaled_copy_is_proved_close_and_a_changed_one_is_not():
    draw = torch.Generator().manual_seed(4)
    first = random_network((12, 20, 20, 3), draw)
    second = scaled_and_moved(first, draw, orders=2.0)
    found = difference_bound(first, second, (-1, 1), 1e-9, seconds=20)
    assert found.verdict == "holds"
    spoilt = Network(second.weights, (*second.biases[:-1], second.biases[-1] + 1e-6))
    assert difference_bound(first, spoilt, (-1, 1), 1e-9, seconds=20).verdict == "violated"
