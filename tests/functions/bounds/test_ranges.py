"""Bounds hold at every point that is tried, lines are no looser than intervals, programs no looser than lines."""

import itertools
import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.functions.bounds import programs
from tutelage.functions.bounds.ranges import affine, bounds, gains, reach, rounding, underflow
from tutelage.functions.checks import bias
from tutelage.functions.domain import box_for
from tutelage.functions.relaxations import activated
from tutelage.networks import Network, forward, outputs
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


EPS, TINY = 2.0**-52, 2.0**-1022


def double(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def share(terms):
    """What rounding can do to a sum of so many products and 8 more additions, relatively."""
    return (terms + 8) * EPS


def test_ends_are_their_definition_in_fractions_moved_outwards_by_its_rounding():
    """Each weight meets the end of its sign; the room is that of twice as many products, and no wider."""
    draw = torch.Generator().manual_seed(0)
    for n in (1, 3, 8):
        low = torch.randn(1, n, generator=draw, dtype=torch.float64)
        high = low + torch.rand(1, n, generator=draw, dtype=torch.float64)
        w, b = (torch.randn(*shape, generator=draw, dtype=torch.float64) for shape in ((1, n, 5), (1, 5)))
        for side, found in zip((-1, 1), affine((low, high), w, b), strict=True):
            for k, end in enumerate(map(Fraction, found[0].tolist())):
                column, terms = map(Fraction, w[0, :, k].tolist()), [Fraction(b[0, k].item())]
                for v, *ends in zip(column, *(map(Fraction, e[0].tolist()) for e in (low, high)), strict=True):
                    terms.append(v * ends[(side * v > 0)])
                size = sum(map(abs, terms))
                assert abs(side * (end - sum(terms)) - Fraction(share(2 * n)) * size) <= 4 * Fraction(EPS) * size


def test_every_product_that_may_underflow_has_the_smallest_number_of_room():
    """Products with 0 cannot; weights of both signs count, and factors of 1 too."""
    small = 5e-324
    for f, w, products in (
        (double([small, small]), double([[small], [small]]), 2),
        (double([small, small]), double([[small], [-small]]), 2),
        (double([small, -small]), double([[-small], [-small]]), 2),
        (double([small, 0.0]), double([[small], [small]]), 1),
        (double([0.0, small]), double([[-small], [-small]]), 1),
        (double([small, small]), double([[0.0], [-small]]), 1),
        (double([0.0, 0.0]), double([[1.0], [1.0]]), 0),
    ):
        ends = affine((f, f), w, double([0.0]))
        assert [end.item() for end in ends] == [-products * TINY, products * TINY]
    for f, w in ((1.0, 1e-310), (1e-310, 1.0), (1.0, -1e-310), (-1e-310, -1.0)):
        low, high = affine((double([f]), double([f])), double([[w]]), double([0.0]))
        assert (high - low).item() == pytest.approx(2 * TINY, rel=1e-9, abs=0)


def test_an_infinite_end_opens_those_that_meet_it():
    infinite, zero = double([math.inf]), double([0.0])
    for w, expected in ((1.0, (0.0, math.inf)), (-1.0, (-math.inf, 0.0)), (0.0, (0.0, 0.0)), (0.5, (0.0, math.inf))):
        assert [end.item() for end in affine((zero, infinite), double([[w]]), zero)] == list(expected)
    huge = double([1e308, 1e308])
    low, high = affine((huge, huge), double([[10.0], [-10.0]]), zero)  # inf - inf
    assert (low.item(), high.item()) == (-math.inf, math.inf)


@pytest.mark.parametrize(("activation", "b"), [("linear", 0.0), ("linear", 5.0), ("relu", 5.0)])
def test_what_cancels_in_the_lines_leaves_the_room_of_its_size(activation, b):
    """h - h for equal units h = x + b, that are on, and once more through h + h: 0, up to a share of all sizes."""
    w, minus, twice = double([[1.0, 1.0]]), double([[1.0], [-1.0]]), double([[1.0, 1.0], [1.0, 1.0]])
    none, on = double([0.0]), double([b, b])
    flat = Network((w, minus), (on, none), activation)
    deep = Network((w, twice, minus), (on, on, none), activation)
    first = 1 + b
    second = 2 * first + b
    for network, terms, size in ((flat, 4 * (1 + 2) + 16, 2 * first), (deep, 4 * (1 + 2 + 2) + 32, 2 * second)):
        low, high = bounds(network, box_for(network, (-1, 1)))[-1]
        assert high.item() == pytest.approx(share(terms) * size, rel=1e-9, abs=0)
        assert low.item() == -high.item()


def test_offsets_of_lines_belong_to_the_size():
    """relu(x) - (x + 5) / 2 on [-1, 1] is at most (x + 1) / 2 - (x + 5) / 2 = -2, of sizes 1.5 and 6 / 2.

    The unit's own interval ends at 1 + share(2), and its line has 8 roundings of room: 9 epsilons of the offset.
    """
    network = Network((double([[1.0, 1.0]]), double([[1.0], [-0.5]])), (double([0.0, 5.0]), double([0.0])))
    high = bounds(network, box_for(network, (-1, 1)))[-1][1]
    assert high.item() == pytest.approx(share(4 * (1 + 2) + 16) * 4.5 + share(2) * 2 + 9 * EPS - 2, abs=3 * EPS)


def test_nothing_beyond_float64_is_bounded():
    w = double([[1e200]])
    network = Network((w, w))
    for ends in ((-1, 1), (1, 2)):
        low, high = bounds(network, box_for(network, ends))[-1]
        assert high.item() == math.inf
        assert low.item() < math.inf
    assert bounds(network, box_for(network, (-1, 1)), solve=True)[-1][1].item() == math.inf
    both = Network((w, w), activation="linear")
    assert [end.item() for end in bounds(both, box_for(both, (-1, 1)))[-1]] == [-math.inf, math.inf]


def test_underflow_is_the_smallest_number_times_every_factor_twice():
    """Four products per weight and 64 more, each times the sums of rows or columns, the largest input and bias."""
    w, top = double([[1.0, 2.0, 3.0], [0.0, 0.0, 0.5]]), double([[0.1], [0.2], [0.3]])
    plain, biased = Network((w, top)), Network((w, top), (double([0.0, -7.0, 0.0]), double([0.5])))
    for network, box, product in (
        (plain, (-1, 1), 6),
        (plain, (-5, 4), 30),
        (plain, (-4, 5), 30),
        (plain, (-0.1, 0.1), 6),
        (plain, None, 6),
        (biased, (-1, 1), 42),
        (Network((w.mT.contiguous(), top[:, :2])), (-1, 1), 6),
        (Network((w / 10, top)), (-1, 1), 1),
    ):
        count = 4 * sum(w[0].numel() for w in network.weights) + 64
        assert underflow(network, box_for(network, box)) == pytest.approx(product**2 * count * TINY, rel=1e-9, abs=0)
    assert underflow(Network((w, 0 * top)), box_for(plain, (-1, 1))) == 0
    large = Network((double([[1e300]]), double([[1.0]])))
    assert 1e293 < underflow(large, box_for(large, (-1, 1))) < 1e295
    larger = Network((double([[1e300]]), double([[1e10]])))
    assert underflow(larger, box_for(larger, (-1, 1))) == math.inf


def test_programs_are_asked_about_hidden_layers_above_the_first(monkeypatch):
    asked, network = [], random_network(1, (3, 8, 8, 8, 2), "relu")

    def recorded(*arguments):
        asked.append(arguments[3])
        return arguments[4]

    monkeypatch.setattr(programs, "tightened", recorded)
    bounds(network, box_for(network, (-0.5, 0.5)), solve=True)
    assert asked == [1, 2]
    bounds(network, box_for(network, None), solve=True)
    bounds(network, box_for(network, (-0.5, 0.5)))
    assert asked == [1, 2]


def test_a_box_of_another_shape_is_refused():
    network = random_network(1, (3, 2), "relu")
    with pytest.raises(TutelageError, match=r"ends \[2, 3\], got \[2, 1\]"):
        bounds(network, box_for(random_network(1, (1, 2), "relu"), (0, 1)))
    with pytest.raises(TutelageError, match=r"ends \[2, 3\], got tuple"):
        bounds(network, (0, 1))


def drawn(seed, widths=(3, 6, 5, 2), members=2):
    draw = torch.Generator().manual_seed(seed)
    pairs = list(itertools.pairwise(widths))
    return Network(
        tuple(torch.randn(members, a, b, generator=draw, dtype=torch.float64) for a, b in pairs),
        tuple(torch.randn(members, b, generator=draw, dtype=torch.float64) for _, b in pairs),
    )


@given(seed=st.integers(0, 10_000), size=st.floats(0.5, 20))
def test_reach_is_not_passed(seed, size):
    network = drawn(seed)
    box = box_for(network, (-size, size))
    activity = forward(network, box.sample(500))
    everywhere = box_for(network, None)
    boxed, grown = reach(network, box, bounds(network, box)), reach(network, everywhere, ())
    for sizes, factor in ((boxed, 1.0), (grown, max(1, size))):
        for layer, most in enumerate(sizes):
            assert (activity.features[layer].abs().amax(1) <= factor * most + 1e-12).all()


@given(seed=st.integers(0, 10_000), moved=st.floats(1e-9, 1e-2))
def test_changed_weights_move_outputs_by_no_more_than_is_said(seed, moved):
    before, other = drawn(seed), drawn(seed + 1)
    there = iter(other.parameters)
    after = before.map(lambda a: a + moved * next(there))
    box = box_for(before, (-2, 2))
    said = rounding(before, after, reach(after, box, bounds(after, box)))
    x = box.sample(1000)
    assert ((outputs(before, x) - outputs(after, x)).abs().amax(1) <= said).all()


def test_gains_of_two_layers_are_the_fan_out():
    network = drawn(0, (3, 4, 2))
    first, last = gains(network)
    assert torch.equal(first, network.weights[1].abs())
    assert torch.equal(last[0], torch.eye(2, dtype=torch.float64))
