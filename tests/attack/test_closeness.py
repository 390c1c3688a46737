"""Bounds on differences and on top classes against all regions, and against pairs that are built to fool them.

The long form (`make attack`) tries 5,000 random pairs and 200 per kind of trick and more.
"""

import itertools
from fractions import Fraction

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions import box, difference_bound, top_class_agreement
from tutelage.functions.bounds.pieces import supremum
from tutelage.functions.rounding import exact_difference, exact_outputs
from tutelage.networks import Network

TRICKS = ("tiny cell", "ill scaled", "duplicates", "dead units", "far away")


def network(draw, widths):
    pairs = list(itertools.pairwise(widths))
    weights = tuple(torch.from_numpy(draw.normal(size=(1, m, n)) / m**0.5) for m, n in pairs)
    return Network(weights, tuple(torch.from_numpy(draw.normal(size=(1, n)) / 2) for _, n in pairs))


def drawn(draw):
    """Two small networks, related or not, and a box."""
    d, hidden = int(draw.integers(1, 3)), draw.integers(1, 6, size=draw.integers(1, 3)).tolist()
    outputs = int(draw.integers(1, 4))
    first = network(draw, (d, *hidden, outputs))
    if draw.random() < 0.7:
        size = 10.0 ** -draw.integers(0, 6)
        second = first.map(lambda a: a + size * torch.from_numpy(draw.normal(size=a.shape)))
    else:
        second = network(draw, (d, *draw.integers(1, 5, size=draw.integers(1, 3)).tolist(), outputs))
    low = draw.normal(size=d)
    return (
        first,
        second,
        torch.from_numpy(low),
        torch.from_numpy(low + draw.choice([0.01, 1.0, 4.0]) * (0.1 + draw.random(d))),
    )


def test_bounds_agree_with_all_regions(attack):
    draw, decided = attack.generator(20), 0
    for number in attack.rounds(125):
        first, second, low, high = drawn(draw)
        try:
            exact = supremum(first, second, box(low, high))
        except TutelageError:  # boundaries too close to be told apart
            continue
        share = float(draw.choice([0.5, 0.9, 0.99, 1.01, 1.1, 2.0]))
        found = difference_bound(first, second, (low, high), share * exact.value, seconds=5)
        assert found.at_most.max().item() >= exact.value - exact.room, number
        assert found.largest.max().item() <= exact.value + exact.room, number
        if abs(share - 1) * exact.value > exact.room:
            assert found.verdict in ("holds" if share > 1 else "violated", "not decided"), number
        decided += found.verdict != "not decided"
    assert decided > 100 * attack.factor


def test_proofs_of_agreement_are_held_against_points(attack):
    draw, proved = attack.generator(21), 0
    for number in attack.rounds(60):
        first, second, low, high = drawn(draw)
        if first.outputs < 2:
            continue
        margin = float(draw.choice([0.0, 0.0, 0.1, 1.0]))
        found = top_class_agreement(first, second, (low, high), margin, seconds=2)
        proved += found.holds
        points = low + torch.from_numpy(draw.random((20, len(low)))) * (high - low)
        tries = [found.witness] if found.verdict == "violated" else torch.minimum(points, high)
        for x in tries if found.verdict != "not decided" else []:
            a, b = exact_outputs(first, x), exact_outputs(second, x)
            top = max(range(len(a)), key=a.__getitem__)
            sure = a[top] - max(v for k, v in enumerate(a) if k != top) >= Fraction(margin)
            assert (sure and max(b) > b[top]) == (found.verdict == "violated"), number
    assert proved > 5 * attack.factor


def fooled(draw, trick, first):
    """A network that differs from the first one in a way that is easy to miss, and an input where it does."""
    second = first.map(lambda a: a.clone())
    d = first.inputs
    match trick:
        case "tiny cell":  # a unit that is on beyond one corner only
            w, at = torch.ones(1, d, 1, dtype=torch.float64), torch.ones(d, dtype=torch.float64)
            b = torch.tensor([[-d + 1e-4 * float(draw.random() + 0.5)]], dtype=torch.float64)
            top = torch.from_numpy(draw.choice([-1.0, 1.0], size=(1, 1, first.outputs)))
        case "far away":  # the same beyond one side, with a kink there alone
            w, at = torch.zeros(1, d, 1, dtype=torch.float64), torch.zeros(d, dtype=torch.float64)
            w[0, 0, 0], at[0] = 1.0, 1.0
            b = torch.tensor([[-0.999]], dtype=torch.float64)
            top = torch.ones(1, 1, first.outputs, dtype=torch.float64)
        case _:
            w, b = torch.from_numpy(draw.normal(size=(1, d, 1))), torch.from_numpy(draw.normal(size=(1, 1)))
            top, at = torch.zeros(1, 1, first.outputs, dtype=torch.float64), torch.zeros(d, dtype=torch.float64)
    weights, biases = list(second.weights), list(second.biases)
    if len(weights) != 2:
        raise AssertionError("tricks are for networks of one hidden layer")
    weights[0], biases[0] = torch.cat([weights[0], w], 2), torch.cat([biases[0], b], 1)
    weights[1] = torch.cat([weights[1], top], 1)
    if trick == "ill scaled":
        by = 10.0 ** torch.from_numpy(draw.choice([-6.0, 6.0], size=weights[0].shape[2]))
        weights[0], biases[0], weights[1] = weights[0] * by, biases[0] * by, weights[1] / by.view(1, -1, 1)
    if trick == "duplicates":
        weights[0], biases[0] = torch.cat([weights[0]] * 2, 2), torch.cat([biases[0]] * 2, 1)
        weights[1] = torch.cat([weights[1] * 0.25, weights[1] * 0.75], 1)
    if trick == "dead units":
        biases[0] = torch.cat([biases[0][:, :-1], -10 * weights[0][:, :, -1].abs().sum(1, keepdim=True)], 1)
        weights[1][0, -1] = 100.0
    return Network(tuple(weights), tuple(biases)), at


@pytest.mark.parametrize("trick", TRICKS)
def test_no_pair_built_to_fool_gets_a_bound_below_its_difference(attack, trick):
    draw = attack.generator(30 + TRICKS.index(trick))
    for number in attack.rounds(10):
        first = network(draw, (int(draw.integers(1, 4)), int(draw.integers(2, 6)), int(draw.integers(1, 3))))
        second, at = fooled(draw, trick, first)
        found = difference_bound(first, second, (-1, 1), 1e-7, seconds=1)
        exact = exact_difference(first, second, at)
        assert all(gap <= Fraction(most) for gap, most in zip(exact, found.at_most.tolist(), strict=True)), number
        if max(exact) > Fraction(1e-7):
            assert found.verdict != "holds", number
        else:
            assert found.verdict != "violated", number
