"""One representative an orbit: the same function, and the same weights for every permuted and scaled copy."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.functions.comparing.canonical import canonical, incoming, orbit_size, reordered, scaled, unit_lengths
from tutelage.networks import Network, outputs

ACTIVATIONS = ["relu", "leaky", "abs", "linear"]


def moved(network, seed):
    """A random member of the orbit; of an abs network some units are negated."""
    draw = torch.Generator().manual_seed(seed)
    for layer, width in enumerate(network.widths[1:-1]):
        order = torch.stack([torch.randperm(width, generator=draw) for _ in range(network.members)])
        by = torch.rand(network.members, width, generator=draw, dtype=torch.float64) * 3 + 0.1
        if network.activation == "abs":
            by = by * torch.where(torch.rand(by.shape, generator=draw) < 0.5, -1.0, 1.0)
        network = scaled(reordered(network, layer, order), layer, by.to(network.dtype))
    return network


def agree(a, b, atol):
    return all(torch.allclose(p, q, rtol=0, atol=atol) for p, q in zip(a.parameters, b.parameters, strict=True))


@given(st.integers(0, 10**6), st.sampled_from(ACTIVATIONS), st.sampled_from([(3, 5, 2), (2, 4, 6, 1), (4, 3, 3, 3, 2)]))
def test_one_form_an_orbit_and_the_same_function(random_net, seed, activation, widths):
    network = random_net(widths, seed, activation=activation, members=2)
    form, other = canonical(network), canonical(moved(network, seed))
    assert agree(form, other, 1e-12)
    x = torch.randn(2, 50, widths[0], dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(outputs(form, x), outputs(network, x), atol=1e-12)
    for layer in range(form.depth - 1):
        assert torch.allclose(incoming(form, layer).norm(dim=1), torch.ones(2, widths[layer + 1], dtype=torch.float64))


def test_equal_units_are_sorted_by_their_fan_out(random_net):
    network = random_net((3, 6, 4, 2), 1)
    w = [p.clone() for p in network.weights]
    b = [p.clone() for p in network.biases]
    w[0][:, :, 3:], b[0][:, 3:] = w[0][:, :, :1], b[0][:, :1]  # four copies of one unit, with different fan-out
    network = replace(network, weights=tuple(w), biases=tuple(b))
    for seed in range(10):
        assert agree(canonical(network), canonical(moved(network, seed)), 1e-12)


def test_precision_and_missing_biases_are_taken_as_they_are(random_net):
    network = random_net((3, 5, 4, 1), bias=0, dtype=torch.float32)
    form, other = canonical(network), canonical(moved(network, 3))
    assert form.biases is None
    assert form.dtype == torch.float64
    assert agree(form, other, 1e-5)


def test_a_unit_without_weights_stays_as_it_is():
    network = Network((torch.tensor([[[1.0, 0.0]]]), torch.ones(1, 2, 1)))
    _, (lengths,) = unit_lengths(network)
    assert lengths.tolist() == [[1.0, 1.0]]
    assert canonical(network).weights[0].isfinite().all()


@pytest.mark.parametrize("biases", [0.3, 0.0])
def test_orbit_size_counts_parameters(random_net, biases):
    size = orbit_size(random_net((4, 3, 2, 1), bias=biases, members=5))
    assert size.permutations == math.factorial(3) * math.factorial(2)
    assert size.scalings == 5
    assert size.identifiable == 4 * 3 + 3 * 2 + 2 + (6 if biases else 0) - 5


def test_scalings_are_the_null_directions_of_the_function(random_net):
    """The derivative of outputs by parameters, at many inputs, has the rank of what is identifiable, or less."""
    x = torch.randn(1, 400, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 3

    def at(*arrays):
        return outputs(Network(arrays[:3], arrays[3:]), x)[0, :, 0]

    ranks = []
    for seed in range(6):
        network = random_net((3, 3, 2, 1), seed, bias=0.5)
        jacobian = torch.autograd.functional.jacobian(at, network.parameters)
        ranks.append(int(torch.linalg.matrix_rank(torch.cat([j.flatten(1) for j in jacobian], dim=1), rtol=1e-10)))
    assert max(ranks) == orbit_size(network).identifiable
    assert ranks.count(max(ranks)) >= 2  # the rest have units that are never or always active
