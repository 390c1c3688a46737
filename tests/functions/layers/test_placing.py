"""Units of two networks side by side: split units stand in groups, and no function changes but for the slack."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.functions.exact_forms import ends, exact_layers, output_forms

from tutelage.functions import difference_bound, top_class_agreement
from tutelage.functions.layers.pairs import joined
from tutelage.functions.rounding import exact_outputs
from tutelage.networks import Network


def random_network(widths, draw, activation="relu"):
    weights = [torch.randn(1, a, b, generator=draw, dtype=torch.float64) * (2 / a) ** 0.5 for a, b in pairwise(widths)]
    biases = [0.3 * torch.randn(1, b, generator=draw, dtype=torch.float64) for b in widths[1:]]
    return Network(tuple(weights), tuple(biases), activation)


def with_split_units(network, draw, parts=2, share=1.0):
    """The same function up to rounding: units are several multiples of themselves, in any order.

    Shares of a fan-out have any sign, and sum to 1.
    """
    weights, biases = [w[0] for w in network.weights], [b[0] for b in network.biases]
    for layer, width in enumerate(network.widths[1:-1]):
        counts = torch.where(torch.rand(width, generator=draw) < share, parts, 1)
        units = torch.repeat_interleave(torch.arange(width), counts)
        units = units[torch.randperm(len(units), generator=draw)]
        scale = 0.1 + 3 * torch.rand(len(units), generator=draw, dtype=torch.float64)
        part = torch.randn(len(units), generator=draw, dtype=torch.float64)
        part = part + (1 - part.new_zeros(width).index_add(0, units, part)[units]) / counts[units]
        weights[layer], biases[layer] = weights[layer][:, units] * scale, biases[layer][units] * scale
        weights[layer + 1] = weights[layer + 1][units] * (part / scale)[:, None]
    return Network(tuple(w[None] for w in weights), tuple(b[None] for b in biases), network.activation)


def rounded(network):
    return network.map(lambda a: a.half().to(a.dtype))


@given(st.integers(0, 10**6), st.sampled_from(["relu", "leaky", "abs"]), st.integers(1, 3), st.booleans())
def test_the_exact_difference_lies_within_the_slack(seed, activation, parts, both):
    draw = torch.Generator().manual_seed(seed)
    plain = random_network((3, 4, 3, 2), draw, activation)
    first = with_split_units(plain, draw, 2, 0.5) if both else plain
    second = with_split_units(plain, draw, parts, 0.7)
    low, high = -torch.rand(3, generator=draw).double(), 3 * torch.rand(3, generator=draw).double()
    for f, g in ((first, second), (second, first)):
        pair = joined(f, g, torch.maximum(low.abs(), high.abs()).numpy())
        x = low + (high - low) * torch.rand(3, generator=draw).double()
        row = [Fraction(v) for v in x.tolist()]
        differences = output_forms(exact_layers(pair), row, row)[1]
        for a, b, form in zip(exact_outputs(f, x), exact_outputs(g, x), differences, strict=True):
            least, most = ends(form)
            assert least <= a - b <= most
            assert most - least < Fraction(1e-8)


def test_without_the_slack_rounding_would_be_forgotten():
    draw = torch.Generator().manual_seed(0)
    first = random_network((3, 6, 5, 1), draw)
    pair = joined(first, with_split_units(first, draw), np.ones(3))
    assert pair.slack_f.any()
    assert pair.slack_g.any()
    x = torch.rand(3, generator=draw).double()
    row = [Fraction(v) for v in x.tolist()]
    (value,), _ = output_forms(exact_layers(pair._replace(slack_f=np.zeros_like(pair.slack_f))), row, row)
    least, most = ends(value)
    assert least == most != exact_outputs(first, x)[0]


def test_split_units_stand_beside_copies_of_their_own():
    draw = torch.Generator().manual_seed(1)
    first = random_network((4, 6, 5, 2), draw)
    two, three = with_split_units(first, draw), with_split_units(first, draw, 3)
    for f, g, widths in ((first, two, [12, 10]), (two, first, [12, 10]), (two, three, [36, 30])):
        pair = joined(f, g, np.ones(4))
        assert pair.widths[1:-1].tolist() == widths
        assert np.abs(pair.wd).max() < 1e-13
    without_sizes = joined(first, two)
    assert not without_sizes.slack_f.any()
    assert not without_sizes.slack_g.any()
    assert np.abs(without_sizes.wd).max() > 0.1


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_split_units_are_proved_close_and_changed_ones_are_not(share):
    draw = torch.Generator().manual_seed(2)
    first = random_network((6, 12, 12, 3), draw)
    second = with_split_units(first, draw, share=share)
    assert difference_bound(first, second, (-1, 1), 1e-9, seconds=20).verdict == "holds"
    assert difference_bound(first, rounded(second), (-1, 1), 0.1, seconds=20).verdict == "holds"
    spoilt = Network(second.weights, (*second.biases[:-1], second.biases[-1] + 1e-6))
    assert difference_bound(first, spoilt, (-1, 1), 1e-9, seconds=20).verdict == "violated"
    assert top_class_agreement(first, second, (-1, 1), 1e-6, seconds=20).verdict == "holds"


def test_a_bound_without_a_limit_ends_at_rounding():
    draw = torch.Generator().manual_seed(3)
    first = random_network((4, 10, 10, 2), draw)
    found = difference_bound(first, with_split_units(first, draw), (-1, 1), seconds=60)
    assert found.holds
    assert found.at_most.max() < 1e-9


def test_units_that_only_resemble_each_other_are_no_copies():
    """Two inputs and many units: directions are close to one another, and each stands in one place."""
    draw = torch.Generator().manual_seed(5)
    first, second = random_network((2, 60, 1), draw), random_network((2, 50, 1), draw)
    assert joined(first, second, np.ones(2)).widths[1] <= 110
    assert joined(first, first.map(lambda a: 1.01 * a), np.ones(2)).widths[1] == 60
