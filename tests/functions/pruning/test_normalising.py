"""Pruning reaches the normal form: units that were split, mirrored or put into a layer of their own are found."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from tutelage.functions import prune, same_function
from tutelage.functions.domain import box_for
from tutelage.functions.pruning.normalising import unsplit
from tutelage.networks import Network, outputs


def random_network(draw, widths):
    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    pairs = list(pairwise(widths))
    return Network(tuple(normal(1, a, b) / a**0.5 for a, b in pairs), tuple(0.5 * normal(1, b) for _, b in pairs))


def inside(draw, network, reach=1.5, count=500):
    return reach * (2 * torch.rand(network.members, count, network.inputs, generator=draw, dtype=torch.float64) - 1)


def worst(first, second, points):
    return (outputs(first, points) - outputs(second, points)).abs().amax((1, 2))


def split(network, layer, units, draw, scales=True):
    """A network whose chosen units of a layer (from 0) are halves t and -t, put together by a layer of their own.

    The halves have their kink where the unit has none, as tools that split units for verifiers write them.
    """
    w, b = network.weights[layer][0], network.biases[layer][0]
    n, k = w.shape[1], len(units)
    s = (2.0 ** torch.randint(-2, 3, (2, k), generator=draw)).to(w)
    if scales:
        s = s * (0.5 + torch.rand(2, k, generator=draw, dtype=torch.float64))
    shift = torch.randn(k, generator=draw, dtype=torch.float64).to(torch.float32).to(w)
    others = [u for u in range(n) if u not in units]
    kink = b[units] - shift
    lower = torch.cat([w[:, others], w[:, units] * s[0], -w[:, units] * s[1]], dim=1)
    low = torch.cat([b[others], kink * s[0], -kink * s[1]])
    upper = torch.zeros(n + k, n, dtype=torch.float64)
    for place, u in enumerate(others):
        upper[place, u] = 1.0
    for j, u in enumerate(units):
        upper[len(others) + j, u] = 1 / s[0, j]
        upper[len(others) + k + j, u] = -1 / s[1, j]
    high = torch.zeros(n, dtype=torch.float64)
    high[units] = shift
    weights, biases = list(network.weights), list(network.biases)
    weights[layer : layer + 1], biases[layer : layer + 1] = [lower[None], upper[None]], [low[None], high[None]]
    return replace(network, weights=tuple(weights), biases=tuple(biases))


def mixed(network, draw, scaled=True):
    """The same function with units permuted and scaled."""
    weights, biases = list(network.weights), list(network.biases)
    for layer in range(network.depth - 1):
        order = torch.randperm(weights[layer].shape[2], generator=draw)
        scale = 0.5 + torch.rand(len(order), generator=draw, dtype=torch.float64) if scaled else torch.ones(len(order))
        weights[layer], biases[layer] = weights[layer][:, :, order] * scale, biases[layer][:, order] * scale
        weights[layer + 1] = weights[layer + 1][:, order] / scale.unsqueeze(1)
    return replace(network, weights=tuple(weights), biases=tuple(biases))


def duplicated(network, layer, unit):
    """The same function with one more unit in a layer (from 0): a unit is halved."""
    weights, biases = list(network.weights), list(network.biases)
    weights[layer] = torch.cat([weights[layer], 2 * weights[layer][:, :, [unit]]], dim=2)
    biases[layer] = torch.cat([biases[layer], 2 * biases[layer][:, [unit]]], dim=1)
    above = weights[layer + 1].clone()
    above[:, unit] *= 0.5
    weights[layer + 1] = torch.cat([above, 0.5 * above[:, [unit]]], dim=1)
    return replace(network, weights=tuple(weights), biases=tuple(biases))


@pytest.mark.parametrize("box", [None, (-1.5, 1.5)])
@given(
    seed=st.integers(0, 10_000),
    depth=st.integers(2, 4),
    splits=st.lists(st.integers(0, 3), min_size=1, max_size=2),
    doubled=st.booleans(),
)
def test_what_was_split_is_put_together(box, seed, depth, splits, doubled):
    draw = torch.Generator().manual_seed(seed)
    small = random_network(draw, (*(3, 4, 4, 3)[:depth], 2))
    points = inside(draw, small)
    assume(outputs(small, points).std(1).min() > 0.01)  # rounding is judged by how much an output varies
    wide = small
    for layer in splits:
        layer = min(layer, wide.depth - 2)
        units = torch.randperm(wide.widths[layer + 1], generator=draw)[:2].tolist()
        wide = split(wide, layer, units, draw)
    if doubled:
        wide = duplicated(wide, 0, 0)
    wide = mixed(wide, draw)
    found = prune(wide, box=box)
    assert found.network.depth <= small.depth
    assert sum(found.network.widths) <= sum(small.widths)
    assert found.proof.exact
    assert (worst(wide, found.network, points) <= found.proof.bound * 1.5 + 1e-12).all()
    assert same_function(wide, found.network, (-1.5, 1.5)).verdict.startswith("same")
    assert same_function(wide, found.network, box).verdict != "different"


def test_a_layer_of_float32_that_was_split_goes_away_exactly():
    """As in the networks of ReluSplitter: 40 units become 46, and one more layer; found however large the network."""
    draw = torch.Generator().manual_seed(1)
    small = random_network(draw, (60, 40, 30, 10)).to(dtype=torch.float32)
    wide = split(small.to(dtype=torch.float64), 0, [3, 5, 7, 20, 21, 39], draw, scales=False).to(dtype=torch.float32)
    assert wide.widths == (60, 46, 40, 30, 10)
    joined, numbers, moved = unsplit(wide.to(dtype=torch.float64), box_for(wide, None), torch.float32)
    assert (joined.widths, numbers) == (small.widths, (2, 3))
    found = prune(wide)
    assert found.network.widths == small.widths
    assert {(s.layer, s.action) for s in found.steps} == {(1, "rewritten")}
    assert [rows.unique().tolist() for rows in found.layers] == [[2], [3]]
    assert torch.equal(found.kept[0], torch.arange(40)[None])
    assert (moved <= found.proof.bound).all()
    points = inside(draw, wide)
    assert (worst(wide.to(dtype=torch.float64), found.network.to(dtype=torch.float64), points) <= 1e-6).all()


def test_a_convolution_that_was_split_is_put_together():
    torch.manual_seed(0)
    image = nn.Conv2d(1, 3, 3, padding=1)
    eye = torch.eye(36).view(36, 1, 6, 6)
    with torch.no_grad():
        b = image(torch.zeros(1, 1, 6, 6)).flatten()
        w = image(eye).flatten(1) - b
    draw = torch.Generator().manual_seed(0)
    top = torch.randn(108, 4, generator=draw)
    small = Network((w[None], top[None]), (b[None], torch.randn(1, 4, generator=draw)))
    units = list(range(36, 72))  # the second channel
    wide = split(small.to(dtype=torch.float64), 0, units, draw, scales=False).to(dtype=torch.float32)
    assert wide.widths == (36, 144, 108, 4)
    found = prune(wide, box=(0, 1))
    assert sum(found.network.widths[1:-1]) <= 108
    assert found.network.depth == 2
    assert found.proof.exact


def test_pairs_of_opposite_units_share_their_linear_parts():
    """Four opposite pairs over two inputs: a relu each, and two more for the linear part of rank 2."""
    draw = torch.Generator().manual_seed(3)
    w, b = (torch.randn(1, n, 4, generator=draw, dtype=torch.float64) for n in (2, 1))
    v, c = torch.randn(1, 8, 3, generator=draw, dtype=torch.float64), torch.zeros(1, 3, dtype=torch.float64)
    network = Network((torch.cat([w, -2 * w], dim=2), v), (torch.cat([b, -2 * b], dim=2)[:, 0], c))
    for box in (None, (-3, 3)):
        found = prune(network, box=box)
        assert found.network.widths == (2, 6, 3)
        assert same_function(network, found.network).verdict.startswith("same") or box
        assert (worst(network, found.network, inside(draw, network, 3.0)) <= found.proof.bound + 1e-12).all()


def test_a_layer_that_is_linear_on_the_box_goes():
    draw = torch.Generator().manual_seed(4)
    network = random_network(draw, (3, 5, 6, 6, 2))
    network.biases[1][:] = 40.0
    found = prune(network, box=(-1, 1))
    assert found.network.widths == (3, 5, 2)  # the layer above is far from its kinks as well
    assert found.proof.domain == "the box"
    assert (worst(network, found.network, inside(draw, network, 1.0)) <= found.proof.bound).all()
    assert prune(network).network.depth == 4


def test_members_lose_a_layer_together_or_not_at_all():
    draw = torch.Generator().manual_seed(5)
    one, other = (random_network(draw, (3, 4, 2)) for _ in range(2))
    wide = [split(n, 0, [0, 2], draw) for n in (one, other)]
    both = Network(
        tuple(torch.cat(pair) for pair in zip(wide[0].weights, wide[1].weights, strict=True)),
        tuple(torch.cat(pair) for pair in zip(wide[0].biases, wide[1].biases, strict=True)),
    )
    found = prune(both)
    assert found.network.widths == (3, 4, 2)
    assert found.widths.tolist() == [[4], [4]]
    deep = random_network(draw, (3, 6, 4, 2))
    mixed_stack = Network(
        tuple(torch.cat(pair) for pair in zip(wide[0].weights, deep.weights, strict=True)),
        tuple(torch.cat(pair) for pair in zip(wide[0].biases, deep.biases, strict=True)),
    )
    assert prune(mixed_stack).network.depth == 3
    points = inside(draw, mixed_stack)
    assert torch.allclose(outputs(prune(mixed_stack).network, points), outputs(mixed_stack, points))
