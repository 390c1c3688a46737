"""Every rewriting leaves the function as it was, within what it says rounding did."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.functions.bounds.forms import (
    evaluate,
    form_of,
    gains,
    lowered,
    reaches,
    rewritten,
    without,
    without_empty_layers,
)
from tutelage.networks import outputs

EPS = 2.0**-52


def points(count=300, d=3):
    return 2 * torch.rand(count, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 1


def start(random_net, seed=0, widths=(3, 5, 4, 2)):
    network = random_net(widths, seed)
    return network, form_of(network, torch.ones(widths[0], dtype=torch.float64), 16 * EPS)


def test_a_form_is_the_network(random_net):
    network, form = start(random_net)
    assert torch.allclose(evaluate(form, points()), outputs(network, points())[0], atol=1e-13)
    assert form.units[1] == ((2, 0), (2, 1), (2, 2), (2, 3))
    assert not form.moved.any()


@given(st.integers(0, 10**6), st.integers(0, 1), st.lists(st.booleans(), min_size=5, max_size=5))
def test_turned_units_leave_the_function(random_net, seed, layer, which):
    network, form = start(random_net, seed)
    turn = torch.tensor(which[: form.layers[layer].shape[1]])
    one = torch.ones(len(turn), dtype=torch.float64)
    turned = rewritten(form, layer, torch.where(turn, one, 0), one, torch.where(turn, -one, one))
    apart = (evaluate(turned, points()) - outputs(network, points())[0]).abs().max()
    assert apart <= 1e-13
    assert turned.moved.max() < 1e-12
    assert bool(turned.moved.any()) == bool(turn.any())


@pytest.mark.parametrize(
    ("alpha", "beta", "activation"), [(0.25, 0.75, "leaky"), (-1.0, 2.0, "abs"), (1.0, 0.0, "linear")]
)
def test_other_activations_are_linear_maps_and_relu(random_net, alpha, beta, activation):
    network = random_net((3, 5, 4, 2), activation=activation)
    form = form_of(network, torch.ones(3, dtype=torch.float64), 16 * EPS)
    for layer in range(2):
        one = torch.ones(form.layers[layer].shape[1], dtype=torch.float64)
        form = rewritten(form, layer, alpha * one, beta * one, one)
    assert torch.allclose(evaluate(form, points()), outputs(network, points())[0], atol=1e-13)


def test_sizes_and_gains_bound_what_they_say(random_net):
    _, form = start(random_net)
    z = torch.cat([torch.ones(300, 1, dtype=torch.float64), points()], 1)
    for e, size in zip(form.layers, reaches(form), strict=True):
        assert (z.abs() <= size + 1e-12).all()
        z = torch.cat([z, (z @ e).relu()], 1)
    base = evaluate(form, points())
    for layer, gain in enumerate(gains(form)[:-1]):
        for unit in range(form.layers[layer].shape[1]):
            layers = [e.clone() for e in form.layers]
            layers[layer][0, unit] += 0.01
            pushed = evaluate(replace(form, layers=tuple(layers)), points())
            assert ((pushed - base).abs() <= 0.01 * gain[unit] + 1e-12).all()


def test_units_that_nothing_looks_at_go(random_net):
    _, form = start(random_net)
    gone = torch.tensor([True, False, False, True, False])
    one = torch.ones(5, dtype=torch.float64)
    cut = rewritten(form, 0, 0 * one, torch.where(gone, 0, one), one)
    small = without(cut, 0, gone)
    assert [e.shape[1] for e in small.layers] == [3, 4, 2]
    assert small.units[0] == ((1, 1), (1, 2), (1, 4))
    assert torch.equal(evaluate(small, points()).round(decimals=12), evaluate(cut, points()).round(decimals=12))


def test_units_sink_to_the_lowest_layer_they_can_be_in(random_net):
    _, form = start(random_net)
    e = form.layers[1].clone()
    e[form.rows(0), 2], e[1, 2] = 0, 1.0  # a unit of layer 2 that uses nothing of layer 1
    form = replace(form, layers=(form.layers[0], e, form.layers[2]))
    sunk, moved = lowered(form, 1)
    assert moved
    assert [e.shape[1] for e in sunk.layers] == [6, 3, 2]
    assert sunk.units[0][-1] == (2, 2)
    assert torch.allclose(evaluate(sunk, points()), evaluate(form, points()), atol=1e-13)
    assert not lowered(sunk, 1)[1]


def test_a_linear_layer_disappears(random_net):
    network = random_net((3, 5, 4, 2), activation="linear")
    form = form_of(network, torch.ones(3, dtype=torch.float64), 16 * EPS)
    for layer, width in enumerate((5, 4)):
        one = torch.ones(width, dtype=torch.float64)
        form = without(rewritten(form, layer, one, 0 * one, one), layer, one > 0)
    assert [e.shape for e in without_empty_layers(form).layers] == [(4, 2)]
    assert torch.allclose(evaluate(form, points()), outputs(network, points())[0], atol=1e-13)
