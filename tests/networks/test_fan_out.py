"""Lemma 1 and the fan-out matrices are held to autograd for any depth, widths, activations and biases."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.networks import alpha, backward, beta, fan_out, forward, recursive_gradient
from tutelage.networks.fan_out import with_constant

widths = st.integers(1, 6)


@st.composite
def pairs(draw):
    """Settings of a student and a teacher: one depth, one input and output width, all else free."""
    depth = draw(st.integers(2, 5))
    first, last = draw(widths), draw(widths)
    activation = draw(st.sampled_from(["relu", "leaky", "abs", "linear"]))
    slope = draw(st.sampled_from([0.0, 0.01, 0.7]))

    def one():
        hidden = draw(st.lists(widths, min_size=depth - 1, max_size=depth - 1))
        seed, bias = draw(st.integers(0, 10**6)), draw(st.booleans())
        return {
            "widths": (first, *hidden, last),
            "seed": seed,
            "bias": bias,
            "activation": activation,
            "slope": slope,
        }

    return one(), one()


def assert_equal(measured, expected, rtol=1e-10):
    """Relative to the largest entry."""
    assert measured.shape == expected.shape
    assert (measured - expected).abs().max() <= rtol * max(1e-3, expected.abs().max().item())


@settings(max_examples=60)
@given(pairs())
def test_lemma_1_and_back_propagation_equal_autograd(random_network, random_points, by_hand, pair):
    student, teacher = (random_network(**one) for one in pair)
    x = random_points(2, 9, student.inputs)
    seen, taught = forward(student, x), forward(teacher, x)
    pre = by_hand(student.map(lambda a: a.clone().requires_grad_()), x)
    loss = (taught.outputs - pre[-1]).square().sum() / 2
    expected = [-g for g in torch.autograd.grad(loss, pre)]
    propagated = backward(student, seen, taught.outputs - seen.outputs)
    assert len(propagated) == student.depth
    for layer in range(1, student.depth + 1):
        assert_equal(propagated[layer - 1], expected[layer - 1])
        assert_equal(recursive_gradient(student, seen, teacher, taught, layer), expected[layer - 1])


@settings(max_examples=40)
@given(pairs())
def test_fan_out_times_features_is_the_output_at_every_layer(random_network, random_points, pair):
    """V_l f_l = f_L, with the constant beside f_l where there are biases: what the proof of Lemma 1 rests on."""
    net = random_network(**pair[0])
    activity = forward(net, random_points(2, 9, net.inputs))
    for layer in range(net.depth + 1):
        v = fan_out(net, activity, layer)
        f = with_constant(net, activity.features[layer])
        assert v.shape == (2, 9, net.outputs, net.widths[layer] + (net.biases is not None))
        assert_equal((v @ f.unsqueeze(-1)).squeeze(-1), activity.outputs, rtol=1e-12)


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
def test_weight_gradients_are_features_times_back_propagated_ones(random_network, random_points, activation):
    """-dJ/dW_l = sum f_{l-1} g_l^T and -dJ/db_l = sum g_l (Tian 2020, eq. 1)."""
    net = random_network((4, 5, 6, 3), activation=activation).map(lambda a: a.requires_grad_())
    activity, y = forward(net, random_points(2, 9, 4)), random_points(2, 9, 3, seed=1)
    loss = (y - activity.outputs).square().sum() / 2
    expected = torch.autograd.grad(loss, net.parameters)
    g = backward(net, activity, y - activity.outputs)
    for layer in range(3):
        assert_equal(-(activity.features[layer].mT @ g[layer]), expected[layer])
        assert_equal(-g[layer].sum(1), expected[3 + layer])


def test_gradients_hold_in_float32_to_its_precision(random_network, random_points):
    student, teacher = (random_network((5, width, width, 3), seed=width, dtype=torch.float32) for width in (6, 4))
    x = random_points(2, 9, 5, dtype=torch.float32)
    seen, taught = forward(student, x), forward(teacher, x)
    for layer, g in enumerate(backward(student, seen, taught.outputs - seen.outputs), start=1):
        measured = recursive_gradient(student, seen, teacher, taught, layer)
        assert measured.dtype == torch.float32
        assert_equal(measured, g, rtol=100 * torch.finfo(torch.float32).eps)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("teacher_bias", [True, False])
def test_alpha_and_beta_have_one_row_a_student_unit(random_network, random_points, bias, teacher_bias):
    student = random_network((4, 7, 5, 3), bias=bias)
    teacher = random_network((4, 6, 2, 3), bias=teacher_bias, seed=1)
    x = random_points(2, 9, 4)
    for layer, (n, m) in enumerate([(4, 4), (7, 6), (5, 2), (3, 3)]):
        v = fan_out(student, forward(student, x), layer)
        a, b = alpha(v, fan_out(teacher, forward(teacher, x), layer)), beta(v)
        assert a.shape == (2, 9, n + bias, m + teacher_bias)
        assert b.shape == (2, 9, n + bias, n + bias)
        assert torch.equal(b, b.mT)


def test_the_top_fan_out_is_the_identity(random_network, random_points):
    net = random_network((4, 5, 3), bias=False)
    v = fan_out(net, forward(net, random_points(2, 9, 4)), 2)
    assert torch.equal(v, torch.eye(3, dtype=torch.float64).expand(2, 9, 3, 3))


def test_the_fan_out_of_two_layers_is_the_second_layer_whatever_the_input(random_network, random_points):
    net = random_network((4, 5, 3), bias=True)
    v = fan_out(net, forward(net, random_points(2, 9, 4)), 1)
    assert torch.equal(v[..., :-1], net.weights[1].mT[:, None].expand(2, 9, 3, 5))
    assert torch.equal(v[..., -1], net.biases[1][:, None].expand(2, 9, 3))


def test_alpha_and_beta_are_constant_within_a_region(random_network, random_points):
    """Without biases a ray from the origin crosses no boundary: doubling x changes neither matrix."""
    student, teacher = random_network((4, 7, 5, 3), bias=False), random_network((4, 3, 2, 3), bias=False, seed=1)
    x = random_points(2, 9, 4)
    for layer in range(3):
        here, there = (
            [fan_out(net, forward(net, scale * x), layer) for net in (student, teacher)] for scale in (1.0, 2.0)
        )
        assert torch.equal(alpha(*here), alpha(*there))
        assert torch.equal(beta(here[0]), beta(there[0]))


@pytest.mark.parametrize("bias", [True, False])
def test_the_constant_stands_last_and_only_beside_biases(random_network, random_points, bias):
    net, f = random_network((4, 5, 3), bias=bias), random_points(2, 9, 5)
    extended = with_constant(net, f)
    assert torch.equal(extended[..., :5], f)
    assert torch.equal(extended[..., 5:], torch.ones(2, 9, int(bias), dtype=torch.float64))


def test_a_student_like_its_teacher_has_no_gradient(random_network, random_points):
    net = random_network((4, 5, 6, 3))
    activity = forward(net, random_points(2, 9, 4))
    for layer in (1, 2, 3):
        assert recursive_gradient(net, activity, net, activity, layer).abs().max() == 0


@pytest.mark.parametrize("layer", [-1, 4, 7])
def test_a_layer_that_is_not_there_is_refused_by_the_fan_out(random_network, random_points, layer):
    net = random_network((3, 3, 3, 3))
    with pytest.raises((TutelageError, IndexError), match=str(layer)):
        fan_out(net, forward(net, random_points(2, 9, 3)), layer)


@pytest.mark.parametrize("layer", [-1, 0, 4])
def test_a_layer_without_a_gradient_is_refused_by_lemma_1(random_network, random_points, layer):
    net = random_network((3, 3, 3, 3))
    activity = forward(net, random_points(2, 9, 3))
    with pytest.raises((TutelageError, IndexError), match=str(layer)):
        recursive_gradient(net, activity, net, activity, layer)
