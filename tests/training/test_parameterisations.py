"""Parameterisations are networks with factors in front of their weights, written with plain weights."""

import pytest
import torch

import tutelage as tt
from tutelage.networks import BlackBox, Network, outputs
from tutelage.training.parameterisations import initial_scale, rate_factors


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_ntk_is_plain_training_of_weights_with_factors_in_front(kind):
    """w = W / sqrt(in): training W at one rate, by autograd and torch's optimisers, is training w at the rates here."""
    widths = (5, 8, 6, 2)
    shape = BlackBox(None, 5, 2, 1, torch.float64)
    inputs = tt.inputs.Gaussian(train=20, evaluate=2).draw(shape, [0])
    students = tt.students.FanInNormal(hidden=widths[1:-1], activation="tanh", parameterisation="ntk").build(shape, [0])
    how = {"optimiser": {"kind": kind}, "parameterisation": "ntk", "batch": "all", "learning_rate": 0.01}
    run = tt.train(lambda x: x[:, :2].sin(), students, inputs, steps=40, **how)

    big = [(w[0] * w.shape[1] ** 0.5).clone().requires_grad_() for w in students.weights]
    biases = [b[0].clone().requires_grad_() for b in students.biases]
    make = torch.optim.SGD if kind == "sgd" else torch.optim.Adam
    optimiser = make([*big, *biases], lr=0.01)
    x, y = inputs.train[0], inputs.train[0][:, :2].sin()
    for _ in range(40):
        f = x
        for layer, (w, b) in enumerate(zip(big, biases, strict=True)):
            f = f @ w / w.shape[0] ** 0.5 + b
            f = f.tanh() if layer < 2 else f
        loss = (f - y).square().sum(1).mean() / 2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for w, found in zip(big, run.students.weights, strict=True):
        # Adam's epsilon acts on gradients of another size, hence the room
        torch.testing.assert_close(
            found[0], w.detach() / w.shape[0] ** 0.5, rtol=1e-5, atol=1e-5 if kind == "adam" else 1e-12
        )


@pytest.mark.parametrize("kind", ["sgd", "adam"])
def test_hidden_features_move_alike_at_every_width_under_mup(kind):
    """The size of the change of hidden activations after a few steps does not shrink with the width."""
    shape, moved = BlackBox(None, 10, 1, 8, torch.float64), {}
    inputs = tt.inputs.Gaussian(train=64, evaluate=64).draw(shape, range(8))
    for width in (64, 1024):
        for name in ("mup", "ntk"):
            recipe = tt.students.FanInNormal(hidden=width, activation="tanh", bias=False, parameterisation=name)
            start = recipe.build(shape, range(8))
            how = {"optimiser": {"kind": kind}, "parameterisation": name, "batch": "all"}
            rate = 0.05 if kind == "sgd" else 0.01
            end = tt.train(lambda x: x[:, :1], start, inputs, steps=5, learning_rate=rate, **how).students
            hidden = [outputs(Network((n.weights[0],)), inputs.evaluate) for n in (start, end)]
            moved[name, width] = (hidden[1] - hidden[0]).square().mean().sqrt()
    assert 0.5 < moved["mup", 1024] / moved["mup", 64] < 2
    if kind == "sgd":
        assert moved["ntk", 1024] / moved["ntk", 64] < 0.5


def test_the_table_is_as_printed():
    assert rate_factors("standard", (3, 4, 2), False) == [(1.0, 1.0), (1.0, 1.0)]
    assert rate_factors("mup", (10, 20, 40, 2), False) == [(20.0, 20.0), (1.0, 40.0), (1 / 40, 1.0)]
    assert rate_factors("mup", (10, 20, 40, 2), True) == [(1.0, 1.0), (1 / 20, 1.0), (1 / 40, 1.0)]
    assert [initial_scale("mup", 100, last) for last in (False, True)] == [0.1, 0.01]
