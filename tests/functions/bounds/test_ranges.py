"""Bounds hold at every point that is tried, lines are no looser than intervals, programs no looser than lines."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.deadline import Deadline
from tutelage.functions.bounds.ranges import affine, bounds
from tutelage.functions.checks import bias
from tutelage.functions.domain import box_for
from tutelage.functions.relaxations import activated
from tutelage.networks import Network
from tutelage.networks.activations import slope_of
from tutelage.networks.forward import activate, linear


def random_network(seed, widths, activation, members=2):
    draw = torch.Generator().manual_seed(seed)
    pairs = list(itertools.pairwise(widths))
    weights = tuple(torch.randn(members, a, b, generator=draw, dtype=torch.float64) / a**0.5 for a, b in pairs)
    return Network(
        weights,
        tuple(torch.randn(members, b, generator=draw, dtype=torch.float64) for _, b in pairs),
        activation,
        slope_of(activation, 0.1),
    )


def pre_activations(network, x):
    found = []
    for layer in range(network.depth):
        x = linear(network, layer, x)
        found.append(x.clone())
        x = activate(network, x)
    return found


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
@given(seed=st.integers(0, 10_000), size=st.floats(0.01, 3))
def test_no_sample_passes_a_bound(activation, seed, size):
    network = random_network(seed, (3, 6, 5, 4, 2), activation)
    box = box_for(network, (-size, size))
    corners = torch.cartesian_prod(*[torch.tensor([-size, size], dtype=torch.float64)] * 3).expand(2, -1, -1)
    tried = pre_activations(network, torch.cat([box.sample(2000, seed), corners], dim=1))
    for solve in (False, True):
        for (low, high), u in zip(bounds(network, box, solve), tried, strict=True):
            assert (low <= u.amin(1)).all()
            assert (high >= u.amax(1)).all()
    first = bounds(network, box)[0]
    assert torch.allclose(first[0], tried[0].amin(1), atol=1e-12)  # the first layer's are attained at corners
    if activation == "linear":  # and so are all others where nothing bends
        assert torch.allclose(bounds(network, box)[-1][1], tried[-1].amax(1), atol=1e-11)


@given(seed=st.integers(0, 10_000))
def test_every_kind_of_bound_is_tighter_than_the_one_before(seed):
    network = random_network(seed, (3, 8, 8, 8, 2), "relu")
    box = box_for(network, (-0.5, 0.5))
    f, plain = (box.low, box.high), []
    for layer in range(network.depth):
        plain.append(affine(f, network.weights[layer], bias(network, layer)))
        f = activated(network, plain[-1])
    by_lines, by_programs = bounds(network, box), bounds(network, box, solve=True)
    # above the second layer, programs below may change which lines are drawn, and those need not be tighter
    for looser, tighter in ((plain, by_lines), (by_lines[:2], by_programs[:2])):
        for (low, high), (lower, higher) in zip(looser, tighter, strict=True):
            assert (lower >= low - 1e-12).all()
            assert (higher <= high + 1e-12).all()


def test_over_all_inputs_only_signs_count():
    """A unit of the second layer with weights and bias of one sign is decided, whatever the inputs."""
    w = torch.tensor([[[1.0, -1.0, 1.0], [2.0, -0.5, -1.0]]], dtype=torch.float64)
    b = torch.tensor([[0.1, -0.1, 0.0]], dtype=torch.float64)
    first = torch.ones(1, 2, 2, dtype=torch.float64)
    net = Network((first, w, w.mT.contiguous()[:, :, :1]), (b[:, :2], b, b[:, :1]))
    known = bounds(net, box_for(net, None))
    assert (known[1][0][0] >= 0).tolist() == [True, False, False]
    assert (known[1][1][0] <= 0).tolist() == [False, True, False]


def test_no_linear_program_is_solved_after_a_deadline():
    network = random_network(1, (3, 8, 8, 8, 2), "relu")
    around = box_for(network, (-0.5, 0.5))
    late, plain = bounds(network, around, solve=True, deadline=Deadline(0)), bounds(network, around)
    solved = bounds(network, around, solve=True)
    assert any((high < other).any() for (_, high), (_, other) in zip(solved, plain, strict=True))
    assert all(torch.equal(a, b) for x, y in zip(late, plain, strict=True) for a, b in zip(x, y, strict=True))
