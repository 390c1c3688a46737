"""Layered networks are torch's own layers, members side by side."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tutelage.errors import TutelageError
from tutelage.networks import _stacked_convolution
from tutelage.networks.layered import Architecture, Conv, Dense, Layered, folded

IMAGES = Architecture((2, 9, 8), (Conv(4), Conv(5, stride=2), Dense(6)), outputs=3)


def sequential(model: Layered, member: int) -> nn.Sequential:
    """One member, built of torch's own layers."""
    plan, layers, flat = model.architecture, [], len(model.architecture.inputs) == 1
    below = plan.inputs

    def flatten():
        return [nn.AdaptiveAvgPool2d(1), nn.Flatten()] if plan.pool else [nn.Flatten()]

    for layer, (kind, shape) in enumerate(zip((*plan.hidden, Dense(plan.outputs)), (*plan.shapes(), ()), strict=True)):
        if isinstance(kind, Conv):
            linear = nn.Conv2d(below[0], kind.channels, kind.kernel, kind.stride, kind.padding)
            linear.weight.data = model.weights[layer][member].detach()
        else:
            if not flat:
                layers += flatten()
                flat = True
            linear = nn.Linear(*model.weights[layer].shape[1:])
            linear.weight.data = model.weights[layer][member].detach().T
        linear.bias.data = model.biases[layer][member].detach()
        layers.append(linear)
        if layer < len(plan.hidden):
            activation = nn.ReLU() if plan.activation == "relu" else nn.LeakyReLU(plan.slope)
            layers += [activation] if plan.norm == "off" else []
            if plan.norm != "off":
                theirs = model.norms[layer]
                norm = (nn.BatchNorm2d if isinstance(kind, Conv) else nn.BatchNorm1d)(plan.widths()[layer])
                norm.weight.data, norm.bias.data = theirs.scale[member].detach(), theirs.shift[member].detach()
                norm.running_mean.copy_(theirs.mean[member])
                norm.running_var.copy_(theirs.variance[member])
                layers += [norm, activation] if plan.norm == "before" else [activation, norm]
            below = shape
    return nn.Sequential(*layers)


def random_biases(model: Layered) -> Layered:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for b in model.biases:
            b.copy_(torch.randn(b.shape, generator=generator))
    return model


@pytest.mark.parametrize("norm", ["off", "before", "after"])
@pytest.mark.parametrize("pool", [True, False])
@pytest.mark.parametrize("activation", ["relu", "leaky"])
def test_every_member_is_the_network_of_torchs_layers(norm, pool, activation):
    plan = Architecture((2, 9, 8), IMAGES.hidden, 3, activation, 0.2, norm, pool)
    model = random_biases(Layered(plan, seeds=[4, 7]))
    x = torch.randn(2, 11, 2, 9, 8)
    for training in (True, False):
        model.train(training)
        twins = [sequential(model, s).train(training) for s in range(2)]
        out = model(x)
        for s in range(2):
            torch.testing.assert_close(out[s], twins[s](x[s]), rtol=1e-4, atol=1e-5)
            gradients = torch.autograd.grad(out[s].square().sum(), model.weights[0], retain_graph=True)[0]
            wanted = torch.autograd.grad(twins[s](x[s]).square().sum(), twins[s][0].weight)[0]
            torch.testing.assert_close(gradients[s], wanted, rtol=1e-3, atol=1e-3)
            assert (gradients[1 - s] == 0).all()


def test_dense_networks_and_their_features():
    model = Layered(Architecture((5,), (Dense(4), Dense(3)), 2, norm="before"), seeds=range(3))
    layers, out = model.eval().features(torch.randn(6, 5))
    assert [f.shape for f in layers] == [(3, 6, 4), (3, 6, 3)]
    assert out.shape == (3, 6, 2)


def test_a_members_start_depends_on_its_seed_alone():
    few, many = Layered(IMAGES, [3]), Layered(IMAGES, [9, 3, 1])
    for a, b in zip(few.weights, many.weights, strict=True):
        assert torch.equal(a[0], b[1])
    spread = many.weights[1].std().item()
    assert abs(spread - (2 / (4 * 9)) ** 0.5) < 0.05 * spread  # variance 2 / fan-in


@pytest.mark.parametrize("way", ["by_groups", "by_turns"])
@given(stride=st.integers(1, 3), padding=st.integers(0, 2), kernel=st.sampled_from([1, 3, 5]), seed=st.integers(0, 99))
def test_both_ways_to_convolve_agree(way, stride, padding, kernel, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(3, 4, 2, 7, 6, dtype=torch.float64, generator=generator)
    w = torch.randn(3, 5, 2, kernel, kernel, dtype=torch.float64, generator=generator)
    b = torch.randn(3, 5, dtype=torch.float64, generator=generator)
    got = getattr(_stacked_convolution, way)(x, w, b, stride, padding)
    for s in range(3):
        torch.testing.assert_close(got[s], nn.functional.conv2d(x[s], w[s], b[s], stride, padding))


@pytest.mark.parametrize("norm", ["before", "after"])
@pytest.mark.parametrize("pool", [True, False])
def test_folding_batch_norm_leaves_the_function(norm, pool):
    hidden = (Conv(4), Conv(5, padding=0), Dense(6)) if norm == "after" else IMAGES.hidden
    plan = Architecture((2, 9, 8), hidden, 3, norm=norm, pool=pool)
    model = random_biases(Layered(plan, range(2)))
    with torch.no_grad():
        for unit in model.norms:
            unit.scale.uniform_(0.5, 2)
            unit.shift.normal_()
    for _ in range(3):
        model(torch.randn(16, 2, 9, 8))  # running moments move
    x = torch.randn(5, 2, 9, 8)
    torch.testing.assert_close(folded(model)(x), model.eval()(x), rtol=1e-4, atol=1e-4)
    assert folded(model).architecture.norm == "off"


def test_what_cannot_be_built_is_refused():
    with pytest.raises(TutelageError, match="convolutions first"):
        Architecture((1, 8, 8), (Dense(4), Conv(3)), 2)
    with pytest.raises(TutelageError, match="leave no pixels"):
        Architecture((1, 4, 4), (Conv(3, kernel=5, padding=0),), 2)
    with pytest.raises(TutelageError, match="must be \\(channels, height, width\\)"):
        Architecture((8,), (Conv(3),), 2)
    with pytest.raises(TutelageError, match="must have shape \\[batch, 2, 9, 8\\]"):
        Layered(IMAGES, [0])(torch.zeros(3, 2, 8, 8))
    with pytest.raises(TutelageError, match=r"must have 1 members.*got 3"):
        Layered(IMAGES, [0])(torch.zeros(3, 1, 2, 9, 8))
    with pytest.raises(TutelageError, match="norm='before'"):
        folded(Layered(Architecture((2, 9, 8), IMAGES.hidden, 3, norm="after"), [0]))


@pytest.mark.parametrize("norm", ["off", "before"])
def test_features_are_preactivations_through_the_gate(norm):
    plan = Architecture(IMAGES.inputs, IMAGES.hidden, 3, "leaky", norm=norm)
    model, x = random_biases(Layered(plan, range(2))).eval(), torch.randn(5, 2, 9, 8)
    for u, f in zip(model.preactivations(x), model.features(x)[0], strict=True):
        torch.testing.assert_close(nn.functional.leaky_relu(u, plan.slope), f)
