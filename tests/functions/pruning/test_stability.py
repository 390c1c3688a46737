"""Ranges of units on a box are proofs: no sample leaves them, whether bounds or branch and bound gave them."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.deadline import Deadline
from tutelage.functions import prune
from tutelage.functions.bounds.ranges import bounds
from tutelage.functions.domain import box_for
from tutelage.functions.pruning import stability
from tutelage.functions.pruning.redundancy import Work, colinear
from tutelage.functions.pruning.stability import settled
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of
from tutelage.networks.forward import activate, linear


def random_network(draw, widths, activation="relu", bias=0.5, members=1):
    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    pairs = list(pairwise(widths))
    weights = tuple(normal(members, a, b) / a**0.5 for a, b in pairs)
    return Network(weights, tuple(bias * normal(members, b) for _, b in pairs), activation, slope_of(activation, 0.1))


def preactivations(network, points):
    f, found = points, []
    for layer in range(network.depth):
        found.append(linear(network, layer, f))
        f = activate(network, found[-1].clone())  # in place
    return found


@pytest.mark.parametrize("activation", ["relu", "leaky"])
@given(seed=st.integers(0, 10_000), depth=st.integers(2, 4), bias=st.floats(0.1, 3.0))
def test_no_sample_leaves_the_ranges(activation, seed, depth, bias):
    draw = torch.Generator().manual_seed(seed)
    network = random_network(draw, (4, *[6] * (depth - 1), 2), activation, bias, members=2)
    box = box_for(network, (-1, 1))
    known = bounds(network, box)
    tight, decided = settled(network, box, known, None, Deadline(None))
    corners = torch.sign(torch.randn(2, 200, 4, generator=draw, dtype=torch.float64))
    points = torch.cat([corners, 2 * torch.rand(2, 1000, 4, generator=draw, dtype=torch.float64) - 1], dim=1)
    for (low, high), (wide_low, wide_high), u in zip(tight, known, preactivations(network, points), strict=True):
        assert (low - 1e-12 <= u.amin(1)).all()
        assert (u.amax(1) <= high + 1e-12).all()
        assert (low >= wide_low).all()
        assert (high <= wide_high).all()
    assert [(d.member, d.layer) for d in decided] == [(m, layer) for m in range(2) for layer in range(1, depth)]
    for d in decided:
        low, high = (end[d.member] for end in tight[d.layer - 1])
        bending = int(((low < 0) & (high > 0)).sum())
        assert d.by_bounds + d.bending + len(d.by_branching) + len(d.undecided) == 6
        assert bending == d.bending + len(d.undecided)


def hidden_sign(draw):
    """A network whose unit 0 of layer 2 is never active, which no bound that treats units one by one can see.

    |a| + |b| >= |a + b|, with a and b two linear functions of the inputs.
    """
    a, b = torch.randn(2, 30, generator=draw, dtype=torch.float64) / 5
    w = torch.stack([a, -a, b, -b, a + b, -a - b], dim=1)
    v = torch.tensor([[-1.0, -1, -1, -1, 1, 1]], dtype=torch.float64).T
    v = torch.cat([v, torch.randn(6, 3, generator=draw, dtype=torch.float64)], dim=1)
    below = torch.tensor([[-0.05, 0.1, 0.1, 0.1]], dtype=torch.float64)
    top = torch.randn(1, 4, 2, generator=draw, dtype=torch.float64)
    zero = torch.zeros(1, 6, dtype=torch.float64)
    return Network((w[None], v[None], top), (zero, below, zero[:, :2]))


def test_branch_and_bound_finds_a_sign_that_bounds_do_not(monkeypatch):
    monkeypatch.setattr(stability, "_BRIEFLY", 60.0)
    draw = torch.Generator().manual_seed(0)
    network = hidden_sign(draw)
    box = box_for(network, (-1, 1))
    known = bounds(network, box)
    assert known[1][1][0, 0] > 0
    tight, decided = settled(network, box, known, None, Deadline(None))
    assert tight[1][1][0, 0] <= 0
    assert decided[1].by_branching == (0,)
    found = prune(network, box=(-1, 1))
    assert found.decided[1].layer == 2
    points = 2 * torch.rand(1, 2000, 30, generator=draw, dtype=torch.float64) - 1
    assert (outputs(network, points) - outputs(found.network, points)).abs().max() <= found.proof.bound
    assert sum(found.network.widths[1:-1]) < sum(network.widths[1:-1])


def test_without_time_nothing_is_proved():
    network = hidden_sign(torch.Generator().manual_seed(1))
    box = box_for(network, (-1, 1))
    known = bounds(network, box)
    tight, decided = settled(network, box, known, None, Deadline(0.0))
    assert all(torch.equal(a, b) for ends in zip(tight, known, strict=True) for a, b in zip(*ends, strict=True))
    assert decided[1].undecided


@given(seed=st.integers(0, 10_000))
def test_ranges_still_hold_after_units_were_merged(seed):
    """Merging moves what is above by a bounded amount, by which proven ranges are widened."""
    draw = torch.Generator().manual_seed(seed)
    network = random_network(draw, (3, 5, 4, 4, 2))
    network.weights[0][0, :, 1] = 1.7 * network.weights[0][0, :, 0] * (1 + 1e-7)
    network.biases[0][0, 1] = 1.7 * network.biases[0][0, 0]
    box = box_for(network, (-1, 1))
    work = Work(network, box, None, 1e-3, 1e-15, False)
    work.prove(settled(network, box, work.view.known, None, Deadline(None))[0])
    assert colinear(work, 1)
    points = 2 * torch.rand(1, 1000, 3, generator=draw, dtype=torch.float64) - 1
    for (low, high), u in zip(work.view.known, preactivations(work.network, points), strict=True):
        assert (low - 1e-12 <= u.amin(1)).all()
        assert (u.amax(1) <= high + 1e-12).all()


def test_a_deadline_that_passes_on_the_way_is_no_error(monkeypatch):
    """The time is up after the first bounds: what they proved is kept."""
    network = hidden_sign(torch.Generator().manual_seed(1))
    box = box_for(network, (-1, 1))
    known, limit = bounds(network, box), Deadline(100.0)
    monkeypatch.setattr(Deadline, "passed", property(lambda self: self is not limit))
    monkeypatch.setattr(Deadline, "left", property(lambda self: -0.5))
    tight, _ = settled(network, box, known, None, limit)
    for (low, high), (lower, higher) in zip(known, tight, strict=True):
        assert (lower >= low).all()
        assert (higher <= high).all()
