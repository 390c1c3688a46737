"""Planes around the difference of two relu units hold in fractions, and bounds from mixtures hold at sampled inputs."""

import copy
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tutelage.deadline import Deadline
from tutelage.functions.bounds.backward_pairs import lines_around
from tutelage.functions.bounds.coupled_planes import best_bounds, mixed, planes_around
from tutelage.functions.bounds.intervals import Ranges
from tutelage.functions.bounds.whole_box import BoxBounds
from tutelage.functions.layers.pairs import LayerPair
from tutelage.functions.layers.sparse import joined
from tutelage.functions.rounding import exact_outputs
from tutelage.networks import to_network, to_sparse_network

numbers = st.floats(-3, 3) | st.floats(-1e-6, 1e-6) | st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300])
shares = st.floats(0, 1)


def layer(n, left=0.0):
    """A layer whose weights do not matter."""
    zero, false = np.zeros(n), np.zeros(n, dtype=bool)
    return LayerPair(np.eye(n), np.eye(n), 0 * np.eye(n), zero, zero, zero, zero, left, left, false, false, n)


@given(
    ends_f=st.tuples(numbers, numbers), ends_d=st.tuples(numbers, numbers), at=st.tuples(shares, shares),
    mixture=st.lists(shares, min_size=7, max_size=7),
)  # fmt: skip
def test_planes_and_their_mixtures_hold_in_fractions(ends_f, ends_d, at, mixture):
    (lf, uf), (ld, ud) = sorted(ends_f), sorted(ends_d)
    ranges = Ranges((np.array([lf]), np.array([uf])), (np.array([ld]), np.array([ud])), np.zeros(1, dtype=bool))
    lines = lines_around(layer(1), ranges)
    planes = planes_around(layer(1), ranges, lines)
    above, below, slope = np.array([mixture[:3]]), np.array([mixture[3:6]]), np.array([mixture[6]])
    made = mixed(planes, lines, above, below, slope)
    for s, t in (at, (0, 0), (0, 1), (1, 0), (1, 1)):
        f, d = (min(max(low + u * (high - low), low), high) for u, low, high in ((s, lf, uf), (t, ld, ud)))
        f, d = Fraction(f), Fraction(d)
        a = max(f, 0) - max(f - d, 0)
        for part, sign in ((planes.above[0], 1), (planes.below[0], -1)):
            for p, q, o in part:
                # The rounding of p d + q f itself has its room in the substitution.
                room = Fraction(2**-48) * (abs(f) + abs(d))
                assert sign * (Fraction(p) * d + Fraction(q) * f + Fraction(o) - a) >= -room
        for line, sign in ((made.upper, 1), (made.lower, -1)):
            p, q, o = (Fraction(v[0]) for v in line)
            assert sign * (p * d + q * f + o - a) >= -Fraction(2**-48) * (abs(f) + abs(d))
        assert Fraction(made.t[0]) * f <= max(f, 0)


@pytest.mark.parametrize("left", [0.25, -1.0], ids=["leaky", "abs"])
def test_other_units_keep_their_lines(left):
    ranges = Ranges((np.array([-1.0]), np.array([1.0])), (np.array([-0.1]), np.array([0.2])), np.zeros(1, dtype=bool))
    lines = lines_around(layer(1, left), ranges)
    planes = planes_around(layer(1, left), ranges, lines)
    assert not planes.free.any()
    for part, line in ((planes.above, lines.upper), (planes.below, lines.lower)):
        assert np.array_equal(part, np.broadcast_to(np.stack(line, 1)[:, None], part.shape))


def convolutions(seed):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(2, 5, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(5, 6, 3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(54, 3),
    )


def copy_of(module, size, seed):
    """A copy whose weights are moved at random, by shares of the largest of their layer."""
    made = convolutions(seed)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for new, old in zip(made.parameters(), module.parameters(), strict=True):
            new.copy_(old + size * old.abs().max() * (torch.rand(old.shape, generator=draw) - 0.5))
    return made


@pytest.mark.parametrize("radius", [0.01, 0.2])
@pytest.mark.parametrize("size", [1e-4, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_at_sampled_inputs_and_are_no_larger(seed, size, radius):
    module = convolutions(seed)
    other = copy_of(module, size, seed)
    pair = tuple(to_sparse_network(m, shape=(2, 7, 7)) for m in (module, other))
    x = torch.rand(98, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    box = BoxBounds(joined(*pair), (x - radius).numpy(), (x + radius).numpy())
    box.work(Deadline(None))
    plain = torch.from_numpy(box.differences())
    made = box.tightened(plain, torch.zeros(3, dtype=torch.float64), Deadline(None))
    assert (made <= plain).all()
    if radius == 0.2:  # where units bend
        assert made.max() < 0.99 * plain.max()
    # Steps along the sign of the gradient from random corners, which come close to the largest difference.
    points = x + radius * (torch.randint(2, (64, 98), generator=torch.Generator().manual_seed(9)).double() * 2 - 1)
    doubles = module.double(), other.double()
    for step in range(20):
        points = points.detach().requires_grad_()
        gap = (doubles[0](points.view(-1, 2, 7, 7)) - doubles[1](points.view(-1, 2, 7, 7))).abs()
        assert (gap.amax(0) <= made * (1 + 1e-12) + 1e-14).all()  # the rounding of the outputs here
        (slope,) = torch.autograd.grad(gap[:, step % 3].sum(), points)
        points = torch.clamp(points + radius / (1 + step) * slope.sign(), x - radius, x + radius)


def test_a_limit_leaves_bounds_out_and_equal_networks_differ_by_nothing():
    module = convolutions(0)
    pair = tuple(to_sparse_network(m, shape=(2, 7, 7)) for m in (module, module))
    low = np.zeros(98)
    box = BoxBounds(joined(*pair), low, low + 0.1)
    box.work(Deadline(None))
    objectives = np.eye(3)
    parts = box.layers, box.ranges, box._lines, box._sizes, (box.low, box.high), objectives
    assert np.isinf(best_bounds(*parts, Deadline(0.0))).all()
    assert (np.abs(best_bounds(*parts, Deadline(None))) < 1e-9).all()


@pytest.mark.parametrize("radius", [1e-3, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_in_fractions(seed, radius):
    torch.manual_seed(seed)
    layers = [nn.Conv2d(1, 3, 2), nn.ReLU(), nn.Conv2d(3, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2)]
    module = nn.Sequential(*layers)
    other = copy.deepcopy(module)
    with torch.no_grad():
        for p in other.parameters():
            p.add_(1e-3 * torch.randn_like(p))
    pair = tuple(to_sparse_network(m, shape=(1, 4, 4)) for m in (module, other))
    x = torch.rand(16, dtype=torch.float64)
    box = BoxBounds(joined(*pair), (x - radius).numpy(), (x + radius).numpy())
    box.work(Deadline(None))
    none = torch.zeros(2, dtype=torch.float64)
    made = box.tightened(torch.from_numpy(box.differences()), none, Deadline(None))
    for corner in torch.randint(2, (6, 16)).bool():
        at = torch.where(corner, torch.from_numpy(box.high), torch.from_numpy(box.low))
        first, second = (exact_outputs(to_network(m, shape=(1, 4, 4)), at) for m in (module, other))
        for f, g, bound in zip(first, second, made.tolist(), strict=True):
            assert abs(f - g) <= Fraction(bound)
