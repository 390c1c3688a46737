"""Intervals of a difference, held against exact arithmetic."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tutelage.deadline import Deadline, OutOfTime
from tutelage.functions.answers import Question
from tutelage.functions.bounds import intervals
from tutelage.functions.bounds.intervals import (
    around,
    backward_ranges,
    bounded_at_once,
    ends,
    interval_bounds,
    plus,
    times,
)
from tutelage.functions.layers.pairs import Pair, joined
from tutelage.functions.rounding import EPS, UNDERFLOW, exact_outputs


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_no_exact_difference_exceeds_its_interval(small, start):
    for seed in range(start, start + 50):
        first, second = small.pairs(seed)
        rng = np.random.default_rng(1000 + seed)
        low, high = small.box(rng, first.inputs)
        joint = joined(first, second)
        plain = interval_bounds(joint, low, high)
        ranges = backward_ranges(joint, low, high)
        tight = plain if ranges is None else interval_bounds(joint, low, high, ranges)
        assert (tight <= plain * (1 + 1e-9) + 1e-290).all()
        for x in small.points(rng, low, high, 6):
            a, b = exact_outputs(first, x), exact_outputs(second, x)
            assert all(abs(p - q) <= Fraction(s) for p, q, s in zip(a, b, tight, strict=True)), seed


EPSILON, LEAST = Fraction(EPS), Fraction(UNDERFLOW)


def whole(array):
    return (
        [[Fraction(v) for v in row] for row in array.tolist()] if array.ndim > 1 else [*map(Fraction, array.tolist())]
    )


def layers(pair):
    """Weights, biases and slacks of a pair, layer by layer, in fractions."""
    w_at, b_at = 0, 0
    for m, n in itertools.pairwise(pair.widths):
        matrices = [whole(w[w_at : w_at + n * m].reshape(n, m)) for w in (pair.wf, pair.wg, pair.wd)]
        yield *matrices, *(whole(b[b_at : b_at + n]) for b in (pair.bf, pair.bd, pair.slack_f, pair.slack_g))
        w_at, b_at = w_at + n * m, b_at + n


def applied(rows, x):
    """Ends of W x for x between its ends, one product at a time."""
    return [
        tuple(sum((pick(v * a, v * b) for v, (a, b) in zip(row, x, strict=True)), Fraction(0)) for pick in (min, max))
        for row in rows
    ]


def bounds_by_hand(small, pair, low, high, ranges=None):
    """The intervals of f and of f - g in fractions: f' = W f + b, and d' = W_g d + (W_f - W_g) f + b_f - b_g."""
    f = list(zip(whole(low), whole(high), strict=True))
    d = [(Fraction(0), Fraction(0))] * len(f)
    for layer, (wf, wg, wd, bf, bd, slack_f, slack_g) in enumerate(layers(pair)):
        moved = zip(applied(wg, d), applied(wd, f), bd, slack_f, slack_g, strict=True)
        d = [(p[0] + q[0] + b - s - t, p[1] + q[1] + b + s + t) for p, q, b, s, t in moved]
        f = [(p[0] + b - s, p[1] + b + s) for p, b, s in zip(applied(wf, f), bf, slack_f, strict=True)]
        if layer == len(pair.widths) - 2:
            return [max(-a, b) for a, b in d]
        if ranges is not None:
            known = zip(*map(whole, ranges[layer]), strict=True)
            f = [(max(a, p), min(b, q)) for (a, b), (p, q) in zip(f, known, strict=True)]
        left_f, left_g = Fraction(pair.left_f[layer]), Fraction(pair.left_g[layer])
        d = [small.difference_image(p, q, left_f, left_g) for p, q in zip(f, d, strict=True)]
        f = [small.image(*p, left_f) for p in f]


def loosened(pair, rng):
    return pair._replace(slack_f=rng.random(len(pair.bf)) / 10, slack_g=rng.random(len(pair.bg)) / 10)


@pytest.mark.parametrize("seed", range(0, 90, 3))
def test_bounds_are_their_definition_in_fractions_rounded_up(small, seed):
    first, second = small.pairs(seed)
    rng = np.random.default_rng(seed)
    low, high = small.box(rng, first.inputs)
    joint = joined(first, second)
    for pair in (joint, loosened(joint, rng)):
        for ranges in (None, backward_ranges(pair, low, high)):
            exact = bounds_by_hand(small, pair, low, high, ranges)
            for found, q in zip(interval_bounds(pair, low, high, ranges).tolist(), exact, strict=True):
                assert q <= Fraction(found) <= q * (1 + Fraction(1, 10**9)) + Fraction(1, 10**11)


def test_a_centre_and_its_radius_hold_the_ends():
    rng = np.random.default_rng(0)
    low = rng.normal(size=200) * 10.0 ** rng.integers(-8, 9, 200)
    high = low + np.abs(rng.normal(size=200)) * 10.0 ** rng.integers(-8, 9, 200)
    for a, b, c, r in zip(*map(whole, (low, high, *around(low, high))), strict=True):
        reach = max(b - c, c - a)
        assert c - r < a <= b < c + r
        assert abs(r - reach * (1 + 4 * EPSILON)) <= 2 * EPSILON * reach
    assert [part.tolist() for part in around(np.array([3.0, 0.0]), np.array([3.0, 0.0]))] == [[3.0, 0.0], [0.0, 0.0]]
    least = np.array([5e-324])
    assert around(-least, least)[1] >= UNDERFLOW


def test_a_sum_has_the_rounding_of_its_sizes():
    """The terms of two products and a bias, with room for their rounding, for that of the radius and for underflow."""
    rng = np.random.default_rng(0)
    x, y, b = (3 * rng.normal(size=4), rng.random(4)), (rng.normal(size=4), rng.random(4) / 9), rng.normal(size=5)
    slack, v, w = rng.random(5), rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    first, second = times(v, x), times(w, y, np.abs(w))
    centre, radius = plus(first, second, b, slack, 4)
    assert np.allclose(centre, v @ x[0] + w @ y[0] + b)
    size = np.abs(v) @ (np.abs(x[0]) + x[1]) + np.abs(w) @ (np.abs(y[0]) + y[1])
    assert np.allclose(first[2] + second[2], size)
    share = (2 * 4 + 32) * EPSILON
    parts = (first[1], second[1], slack, first[2], second[2], np.abs(b), radius)
    for p, q, s, size_p, size_q, size_b, r in zip(*map(whole, parts), strict=True):
        exact = (p + q + s + share * (size_p + size_q + size_b)) * (1 + share)
        assert abs(r - exact) <= 6 * EPSILON * exact
    nothing = (np.zeros(1),) * 3
    assert plus(nothing, nothing, np.zeros(1), np.zeros(1), 7)[1] == 28 * UNDERFLOW
    ones = (np.zeros(1), np.zeros(1), np.ones(1))  # where sizes are all there is, their rounding is
    assert plus(ones, ones, np.ones(1), np.zeros(1), 4)[1] == pytest.approx(3 * float(share), rel=1e-12, abs=0)


def test_ends_have_room_for_two_roundings():
    rng = np.random.default_rng(0)
    c, r = rng.normal(size=300), np.abs(rng.normal(size=300)) * 10.0 ** rng.integers(-9, 9, 300)
    low, high = ends((c, r))
    for a, b, centre, radius in zip(*map(whole, (low, high, c, r)), strict=True):
        assert a < centre - radius <= centre + radius < b
    one, zero = np.ones(1), np.zeros(1)
    assert ends((zero, zero)) == (-UNDERFLOW, UNDERFLOW)
    assert ends((one, zero)) == (1 - 2 * EPS, 1 + 2 * EPS)
    assert ends((zero, one)) == (-1 - 2 * EPS, 1 + 2 * EPS)
    assert ends((-one, zero)) == (-1 - 2 * EPS, -1 + 2 * EPS)


def numbers(*values):
    return np.array(values, dtype=float)


def single(wf, wg, bf, bg):
    """A pair of affine functions of one number."""
    none = numbers()
    wf, wg, bf, bg = map(numbers, (wf, wg, bf, bg))
    return Pair(np.array([1, 1]), wf, wg, wf - wg, bf, bg, bf - bg, none, none, numbers(0), numbers(0))


def test_the_size_of_a_difference_is_rounded_up_and_infinite_beyond_float64():
    """At 0 a bias of 1 is the difference: 34 epsilons of its sum, and 4 for adding centre and radius."""
    assert interval_bounds(single(0, 0, 1, 0), numbers(0), numbers(0)) == pytest.approx(1 + 38 * EPS, abs=EPS)
    assert interval_bounds(single(0, 0, 0, 1), numbers(0), numbers(0)) == pytest.approx(1 + 38 * EPS, abs=EPS)
    huge = single(1e200, 0, 0, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        for low in (-1e200, 1e200):
            assert interval_bounds(huge, numbers(low), numbers(2e200)) == np.inf


def test_ranges_hold_every_pre_activation_and_are_exact_in_the_first_layer(random_net, small):
    for seed, widths in enumerate([(2, 5, 1), (2, 4, 3, 2), (3, 3, 5, 4, 1)]):
        net = random_net(widths, seed, activation=("relu", "leaky", "abs")[seed])
        pair = joined(net, small.near(net, np.random.default_rng(seed), 0.01))
        low, high = -np.ones(widths[0]), np.linspace(-0.5, 1, widths[0])
        found = backward_ranges(pair, low, high)
        assert len(found) == len(widths) - 2
        points = small.points(np.random.default_rng(seed), low, high, 200).numpy()
        left, f, first = float(pair.left_f[0]), points, True
        for (least, most), (wf, *_, bf, _, _, _) in zip(found, layers(pair), strict=False):
            u = f @ np.array(wf, dtype=float).T + np.array(bf, dtype=float)
            assert (least <= u.min(0)).all()
            assert (most >= u.max(0)).all()
            if first:
                assert np.allclose([least, most], [u.min(0), u.max(0)])
            f, first = np.where(u >= 0, u, left * u), False


def test_no_ranges_of_layers_that_differ_or_were_rounded(random_net):
    net, other = random_net((2, 3, 3, 1), 0), random_net((2, 3, 1), 1)
    pair, box = joined(net, net), (-np.ones(2), np.ones(2))
    assert backward_ranges(pair, *box) is not None
    assert backward_ranges(pair._replace(slack_f=pair.slack_f + 1e-20), *box) is None
    assert backward_ranges(pair._replace(left_f=numbers(0, 1)), *box) is None
    assert backward_ranges(joined(other, net), *box) is None  # a layer was added that hands on
    assert backward_ranges(joined(random_net((2, 1), 0), random_net((2, 1), 1)), *box) is None


def at_once(pair, limit, deadline=None):
    """The bounds over [-1, 1]^2, asked for a limit."""
    hunt = SimpleNamespace(low=-torch.ones(2, dtype=torch.float64), high=torch.ones(2, dtype=torch.float64))
    question = Question(torch.full((1,), limit, dtype=torch.float64))
    return bounded_at_once(pair, question, hunt, deadline or Deadline(None))


def test_better_ranges_are_used_where_they_are_needed_and_few_enough(random_net, small, monkeypatch):
    """Seven hidden units: plain intervals do where they suffice, where units are too many, and where time ends."""
    net = random_net((2, 3, 4, 1), 3)
    pair = joined(net, small.near(net, np.random.default_rng(0), 0.1))
    plain, better = interval_bounds(pair, -np.ones(2), np.ones(2)).item(), at_once(pair, 0.0).item()
    assert better < 0.999 * plain
    assert at_once(pair, plain).item() == plain
    assert at_once(pair, better).item() == better
    for most, expected in ((7, better), (6, plain)):
        monkeypatch.setattr(intervals, "_UNITS", most)
        assert at_once(pair, 0.0).item() == expected
    monkeypatch.setattr(intervals, "_UNITS", 7)
    with pytest.raises(OutOfTime):
        at_once(pair, 0.0, Deadline(0))

    def late(*_):
        raise OutOfTime

    monkeypatch.setattr(intervals, "backward_ranges", late)
    assert at_once(pair, 0.0).item() == plain
