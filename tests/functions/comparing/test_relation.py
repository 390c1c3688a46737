"""Permutations and scales are found again, whatever they were, and no others are."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions.comparing.canonical import reordered, scaled
from tutelage.functions.comparing.relation import explained, match_parameters
from tutelage.networks import Network


def copies(network, seed, signs=False):
    """A permuted and scaled copy, and what was done: unit k of the copy was unit orders[k], times scales[k]."""
    draw, orders, scales = torch.Generator().manual_seed(seed), [], []
    for layer, width in enumerate(network.widths[1:-1]):
        orders.append(torch.stack([torch.randperm(width, generator=draw) for _ in range(network.members)]))
        scales.append(torch.rand(network.members, width, generator=draw, dtype=torch.float64) * 3 + 0.1)
        if signs:
            scales[-1] = scales[-1] * torch.where(torch.rand(scales[-1].shape, generator=draw) < 0.5, -1.0, 1.0)
        network = scaled(reordered(network, layer, orders[-1]), layer, scales[-1].to(network.dtype))
    return network, orders, scales


@given(st.integers(0, 10**6), st.sampled_from(["relu", "leaky", "abs"]), st.booleans(), st.booleans())
def test_what_was_done_is_found(random_net, seed, activation, deep, biases):
    widths = (3, 5, 4, 6, 2) if deep else (3, 6, 2)
    network = random_net(widths, seed, 0.3 * biases, activation, members=2)
    copy, orders, scales = copies(network, seed, activation == "abs")
    found = match_parameters(copy, network)
    assert found.holds.all()
    assert found.failing_layer(1) is None
    for layer in range(len(widths) - 2):
        assert torch.equal(found.permutations[layer], orders[layer])
        assert torch.allclose(found.scales[layer], scales[layer], rtol=1e-12)
    for mine, theirs in zip(found.aligned.parameters, copy.parameters, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-12)


def test_copies_with_different_fan_out_are_told_apart(random_net):
    network = random_net((3, 8, 5, 2), 1)
    w, b = [p.clone() for p in network.weights], [p.clone() for p in network.biases]
    w[0][:, :, 3:], b[0][:, 3:] = w[0][:, :, :1], b[0][:, :1]
    network = replace(network, weights=tuple(w), biases=tuple(b))
    for seed in range(20):
        copy, orders, _ = copies(network, seed)
        found = match_parameters(copy, network)
        assert found.holds.all()
        assert torch.equal(found.permutations[0], orders[0])


def test_fan_outs_that_agree_but_for_their_order_are_told_apart(random_net):
    """Two equal units that send the same two numbers to two units above, the other way round."""
    network = random_net((2, 4, 3, 1), 2)
    w, b = [p.clone() for p in network.weights], [p.clone() for p in network.biases]
    w[0][:, :, 1], b[0][:, 1] = w[0][:, :, 0], b[0][:, 0]
    w[1][:, 1] = w[1][:, 0].flip(-1)
    network = replace(network, weights=tuple(w), biases=tuple(b))
    for seed in range(20):
        assert match_parameters(copies(network, seed)[0], network).holds.all()


@given(st.integers(0, 10**6), st.integers(0, 2))
def test_a_moved_weight_is_seen_in_its_layer(random_net, seed, layer):
    network = random_net((3, 5, 4, 2), seed)
    copy, *_ = copies(network, seed)
    weights = [w.clone() for w in copy.weights]
    weights[layer][0, 1, 1] += 1e-6
    found = match_parameters(replace(copy, weights=tuple(weights)), network)
    assert not found.holds.any()
    assert found.failing_layer() == layer + 1


def test_float32_copies_are_related_up_to_its_rounding(random_net):
    network = random_net((20, 30, 30, 5), 1, dtype=torch.float32)
    copy, *_ = copies(network, 1)
    assert copy.dtype == torch.float32
    found = match_parameters(copy, network)
    assert found.holds.all()
    assert found.residual.max() > torch.finfo(torch.float64).eps


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Network((torch.ones(1, 2, 4), torch.ones(1, 4, 1))), "widths, got 2-3-1 and 2-4-1"),
        (Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)), activation="leaky"), "relu and leaky"),
        (Network((torch.ones(1, 3, 3), torch.ones(1, 3, 1))), "2 and 3 inputs"),
    ],
)
def test_other_architectures_are_refused(other, words):
    with pytest.raises(TutelageError, match=words):
        match_parameters(Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1))), other)


def test_a_single_layer_has_nothing_to_permute():
    net = Network((torch.ones(1, 2, 1),))
    found = match_parameters(net, net)
    assert found.permutations == ()
    assert found.holds.all()


def test_networks_that_need_no_explanation_are_given_none():
    net = Network((torch.ones(1, 2, 1), torch.ones(1, 1, 1)))
    assert explained(net, net, (), ()) == "no redundant unit was found that would explain it"
