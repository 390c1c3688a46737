"""Shapes and parameter counts of multi-scale dense networks."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.exits.msdnet import CIFAR, IMAGENET, MSDNet

SMALL = MSDNet((2, 4, 6), (2, 4, 6), 6, (2, 4, 6), (4, 4, 4), head=8)


def conv(inputs, outputs, kernel):
    """Parameters of a convolution and its batch norm."""
    return inputs * outputs * kernel**2 + 2 * outputs


def counted(plan, classes, channels=3):
    """Parameters by the recipe, scale by scale, apart from the code that builds them."""
    last = len(plan.first) - 1
    width = list(plan.first)
    total = conv(channels, width[0], 7 if plan.large else 3)
    total += sum(conv(width[s], width[s + 1], 3) for s in range(last))
    alive = [True] * len(width)
    for layer in range(1, plan.layers + 1):
        old, was = list(width), list(alive)
        alive = [last - s < plan.layers - layer + 1 for s in range(len(width))]
        for s in range(len(width)):
            if not alive[s]:
                continue
            sources = [s, s - 1] if s and was[s - 1] else [s]
            part = plan.growth[s] // len(sources)
            for source in sources:
                middle = min(old[source], plan.bottleneck[s] * part)
                total += conv(old[source], middle, 1) + conv(middle, part, 3)
            width[s] = old[s] + plan.growth[s]
        if layer in ((plan.layers + 1) // 3, 2 * (plan.layers + 1) // 3):
            total += sum(conv(w, w // 2, 1) for w, a in zip(width, alive, strict=True) if a)
            width = [w // 2 for w in width]
        if layer in plan.exits:
            head = plan.head or width[last]
            total += conv(width[last], head, 3) + conv(head, head, 3) + head * classes + classes
    return total


def size(model):
    return sum(p.numel() for p in model.parameters())


def test_the_small_network_has_the_counted_parameters_and_every_one_learns():
    net = SMALL.build(5)
    assert size(net) == counted(SMALL, 5)
    out = net(torch.randn(3, 3, 32, 32))
    assert [tuple(y.shape) for y in out] == [(3, 5)] * 3
    sum(y.square().sum() for y in out).backward()
    assert all(p.grad is not None for p in net.parameters())


def test_the_cifar_network_has_the_theses_shape():
    net = CIFAR.build(100).eval()
    assert (CIFAR.scales, CIFAR.layers, net.exits) == (3, 24, 11)
    assert CIFAR.exits == (4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24)
    assert [layer for layer in range(25) if CIFAR.halves(layer)] == [8, 16]
    assert [len(CIFAR.kept(layer)) for layer in (1, 22, 23, 24)] == [3, 3, 2, 1]
    assert size(net) == counted(CIFAR, 100)
    with torch.no_grad():
        x = torch.randn(2, 3, 32, 32)
        states = list(net.states(x))
        assert [tuple(m.shape[2:]) for m in states[0]] == [(32, 32), (16, 16), (8, 8)]
        assert [m.shape[1] for m in states[0]] == [6 * 5, 12 * 5, 24 * 5]  # layer 0 and four more
        assert net.at(x, 1).shape == (2, 100)


def test_the_imagenet_network_has_the_theses_shape():
    assert (IMAGENET.scales, IMAGENET.layers, len(IMAGENET.exits)) == (4, 38, 5)
    with torch.device("meta"):
        net = IMAGENET.build(1000, seed=None).eval()
        states = list(net.states(torch.zeros(2, 3, 224, 224)))
    assert size(net) == counted(IMAGENET, 1000)
    assert [tuple(m.shape[2:]) for m in states[0]] == [(56, 56), (28, 28), (14, 14), (7, 7)]
    assert [len(state) for state in states] == [4, 4, 4, 4, 1]
    assert [tuple(head(state).shape) for head, state in zip(net.heads, states, strict=True)] == [(2, 1000)] * 5


@pytest.mark.parametrize(
    ("change", "said"),
    [({"exits": (2, 4)}, "end with 6"), ({"growth": (2, 4)}, "one entry per scale"), ({"growth": (3, 4, 6)}, "even")],
)
def test_what_cannot_be_is_said(change, said):
    settings = {"first": (2, 4, 6), "growth": (2, 4, 6), "layers": 6, "exits": (2, 4, 6), "bottleneck": (4, 4, 4)}
    with pytest.raises(TutelageError, match=said):
        MSDNet(**(settings | change), head=8)
