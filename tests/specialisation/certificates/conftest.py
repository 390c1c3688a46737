"""Teachers and students built to satisfy the theorems, and ways to spoil them."""

import itertools

import pytest
import torch

from tutelage.certificates import certify
from tutelage.networks import Network
from tutelage.networks.activations import slope_of


def two_layers(below, biases, above, top, activation="relu", slope=0.1) -> Network:
    """One network from nested lists: below [d][n], biases [n], above [n][C], top [C]."""
    below, biases, above, top = (torch.tensor([a], dtype=torch.float64) for a in (below, biases, above, top))
    return Network((below, above), (biases, top), activation, slope_of(activation, slope))


class Builder:
    """Random teachers, and students that compute the same function in other ways."""

    two_layers = staticmethod(two_layers)

    def __init__(self, seed=0):
        self.draw = torch.Generator().manual_seed(seed)

    def normal(self, *shape):
        return torch.randn(*shape, generator=self.draw, dtype=torch.float64)

    def points(self, count, dimension, std=1.5):
        return std * self.normal(count, dimension)

    def teacher(self, inputs=3, hidden=3, outputs=2, members=1, activation="relu", deeper=()):
        widths = (inputs, hidden, *deeper, outputs)
        weights = tuple(self.normal(members, a, b) for a, b in itertools.pairwise(widths))
        biases = tuple(self.normal(members, b) / 4 for b in widths[1:])
        return Network(weights, biases, activation, slope_of(activation, 0.1))

    def permuted(self, net):
        """The units of the first layer in another order, each rescaled, its fan-out by the inverse."""
        order = torch.randperm(net.widths[1], generator=self.draw)
        scale = 0.5 + torch.rand(net.widths[1], generator=self.draw, dtype=torch.float64)
        below, bias = net.weights[0][:, :, order] * scale, net.biases[0][:, order] * scale
        above = net.weights[1][:, order] / scale[:, None]
        return _replaced(net, below, bias, above)

    def split(self, net, unit=0):
        """A unit twice, each copy with a part of its fan-out."""
        below = torch.cat([net.weights[0], 2 * net.weights[0][:, :, [unit]]], dim=2)
        bias = torch.cat([net.biases[0], 2 * net.biases[0][:, [unit]]], dim=1)
        above = net.weights[1].clone()
        above[:, unit] *= 0.25
        return _replaced(net, below, bias, torch.cat([above, 1.5 * above[:, [unit]]], dim=1))

    def idle(self, net, number=1):
        """More units, with fan-out 0."""
        below, bias = self.normal(net.members, net.inputs, number), self.normal(net.members, number) / 4
        return _widened(net, below, bias, torch.zeros(net.members, number, net.widths[2], dtype=torch.float64))

    def cancelling(self, net):
        """Two more units with one boundary whose fan-outs cancel."""
        below, bias = self.normal(net.members, net.inputs, 1), self.normal(net.members, 1) / 4
        above = self.normal(net.members, 1, net.widths[2])
        return _widened(
            net, torch.cat([below, 2 * below], 2), torch.cat([bias, 2 * bias], 1), torch.cat([above, -above / 2], 1)
        )

    def perturbed(self, net, size):
        return net.map(lambda a: a + size * self.normal(*a.shape))


def _replaced(net, below, bias, above):
    weights, biases = (below, above, *net.weights[2:]), (bias, *net.biases[1:])
    return Network(weights, biases, net.activation, net.slope)


def _widened(net, below, bias, above):
    return _replaced(
        net,
        torch.cat([net.weights[0], below], dim=2),
        torch.cat([net.biases[0], bias], dim=1),
        torch.cat([net.weights[1], above], dim=1),
    )


@pytest.fixture(scope="session")
def build():
    return Builder


@pytest.fixture
def one():
    """The certificate of the only member."""

    def of(name, teacher, student, points, **options):
        [certificate] = certify(name, teacher, student, points, **options)
        return certificate

    return of
