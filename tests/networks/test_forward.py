"""The forward pass is held to plain matrix products, with and without the layers between."""

import importlib

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import BlackBox, forward, outputs
from tutelage.networks.forward import outputs_of_batches

ACTIVATIONS = ["relu", "leaky", "abs", "linear"]
WIDTHS = [(4, 3), (4, 6, 3), (3, 5, 4, 6, 2)]


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("widths", WIDTHS)
def test_forward_equals_plain_matrix_products(
    random_network, random_points, by_hand, dtype, tolerance, activation, bias, widths
):
    net = random_network(widths, members=3, bias=bias, activation=activation, dtype=dtype)
    x = random_points(3, 17, widths[0], dtype=dtype)
    activity, pre = forward(net, x), by_hand(net, x)
    assert [tuple(f.shape) for f in activity.features] == [(3, 17, width) for width in widths]
    assert [tuple(z.shape) for z in activity.gates] == [(3, 17, width) for width in widths[1:-1]]
    torch.testing.assert_close(activity.outputs, pre[-1], **tolerance)
    for gated, feature, u in zip(activity.gates, activity.features[1:-1], pre, strict=False):
        torch.testing.assert_close(feature, gated * u, **tolerance)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("widths", WIDTHS)
def test_outputs_are_those_of_forward(random_network, random_points, dtype, activation, bias, widths):
    net = random_network(widths, bias=bias, activation=activation, dtype=dtype)
    x = random_points(2, 9, widths[0], dtype=dtype)
    assert torch.equal(outputs(net, x), forward(net, x).outputs)


@pytest.mark.parametrize("size", [16, 48, 112])
@pytest.mark.parametrize("widths", [(2, 3, 1), (20, 15, 10), (100, 10), (30, 120, 3)])
def test_a_batch_has_the_same_outputs_however_many_there_are(
    random_network, random_points, dtype, tolerance, widths, size
):
    net, x = random_network(widths, members=3, dtype=dtype), random_points(3, 40 * size, widths[0], dtype=dtype)
    batches = x.view(3, 40, size, -1)
    found = outputs_of_batches(net, batches)
    torch.testing.assert_close(found, outputs(net, x).view(3, 40, size, -1), **tolerance)
    for count in (1, 2, 3, 23):
        assert torch.equal(found[:, :count], outputs_of_batches(net, batches[:, :count]))
        assert torch.equal(found[:, count:], outputs_of_batches(net, batches[:, count:]))
        assert torch.equal(found[1:2, :count], outputs_of_batches(net[1], batches[1:2, :count]))


def test_batches_that_are_too_many_at_a_time_are_taken_in_parts(random_network, random_points, monkeypatch):
    net, x = random_network((6, 4, 3), members=2), random_points(2, 80, 6).view(2, 5, 16, 6)
    whole = outputs_of_batches(net, x)
    for numbers in (0, 1, 2 * 36 * 2, 2 * 36 * 3):
        monkeypatch.setattr(importlib.import_module("tutelage.networks.forward"), "_NUMBERS", numbers)
        assert torch.equal(outputs_of_batches(net, x), whole)


def test_batches_of_a_function_are_its_own(random_points):
    x = random_points(2, 15, 6).view(2, 5, 3, 6)
    teacher = BlackBox(lambda points: points.square(), 6, 6, 2)
    assert torch.equal(outputs_of_batches(teacher, x), x.square())


@pytest.mark.parametrize("count", [1, 3, 10, 50])
@pytest.mark.parametrize("widths", [(5, 3, 3), (20, 15, 10), (30, 120, 3)])
def test_the_layout_of_weights_in_memory_changes_no_bit(random_network, random_points, dtype, widths, count):
    net, x = random_network(widths, dtype=dtype), random_points(2, count, widths[0], dtype=dtype)
    turned = net.map(lambda a: a.mT.contiguous().mT if a.ndim == 3 else a)
    assert all(torch.equal(a, b) for a, b in zip(net.weights, turned.weights, strict=True))
    assert torch.equal(outputs(turned, x), outputs(net, x))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_neither_changes_points_nor_network(random_network, random_points, activation):
    net, x = random_network((4, 5, 3, 2), activation=activation), random_points(2, 9, 4)
    kept = [a.clone() for a in (x, *net.parameters)]
    outputs(net, x)
    forward(net, x)
    assert all(torch.equal(a, b) for a, b in zip(kept, (x, *net.parameters), strict=True))


@pytest.mark.parametrize("shape", [(7, 4), (1, 7, 4)])
@pytest.mark.parametrize("bias", [True, False])
def test_shared_points_are_as_good_as_copied_ones(random_network, random_points, tolerance, dtype, shape, bias):
    net = random_network((4, 5, 3), members=3, bias=bias, dtype=dtype)
    shared = random_points(1, 7, 4, dtype=dtype).view(shape)
    copied = shared.reshape(1, 7, 4).repeat(3, 1, 1)
    torch.testing.assert_close(outputs(net, shared), outputs(net, copied), **tolerance)
    torch.testing.assert_close(forward(net, shared).outputs, forward(net, copied).outputs, **tolerance)


def test_one_point_is_enough(random_network, random_points):
    assert outputs(random_network((4, 5, 3)), random_points(2, 1, 4)).shape == (2, 1, 3)


def test_outputs_carry_gradients(random_network, random_points):
    """In-place activations must not spoil what autograd kept: both ways give one gradient."""
    x = random_points(2, 9, 4)
    for activation in ACTIVATIONS:
        net = random_network((4, 5, 3, 2), activation=activation).map(lambda a: a.requires_grad_())
        quick = torch.autograd.grad(outputs(net, x).square().sum(), net.parameters)
        plain = torch.autograd.grad(forward(net, x).outputs.square().sum(), net.parameters)
        for one, other in zip(quick, plain, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("call", [forward, outputs])
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((7, 5), r"shape \[N, 4\] or \[2, N, 4\] for this network, got \[7, 5\]"),
        ((2, 7, 3), r"got \[2, 7, 3\]"),
        ((4,), r"got \[4\]"),
        ((1, 2, 7, 4), r"got \[1, 2, 7, 4\]"),
        ((3, 7, 4), "must have 2 members.*got 3"),
        ((7, 1, 2, 2), r"got \[7, 1, 2, 2\]: use points.flatten\(1\)"),
    ],
)
def test_points_of_another_shape_are_refused_with_it(random_network, call, shape, message):
    with pytest.raises(TutelageError, match=message):
        call(random_network((4, 5, 3)), torch.zeros(shape, dtype=torch.float64))


@pytest.mark.parametrize("call", [forward, outputs])
def test_points_of_another_precision_are_refused_with_both(random_network, call):
    with pytest.raises(TutelageError, match=r"must be torch.float64.*got torch.float32"):
        call(random_network((4, 5, 3)), torch.zeros(7, 4, dtype=torch.float32))
