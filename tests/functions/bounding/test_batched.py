"""Bounds substituted backwards on many boxes at once, against rational arithmetic."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch

from tutelage.functions.bounding.batched import BackwardBounds
from tutelage.functions.bounding.division import Bounder
from tutelage.functions.bounding.pairs import joined
from tutelage.functions.bounding.questions import Question
from tutelage.functions.evaluation import exact_difference
from tutelage.networks import Network

KINDS = "relu", "leaky", "abs"


def made(draw, widths, kind, scale=1.0):
    weights = [torch.from_numpy(scale * draw.normal(size=(1, a, b)) / a**0.5) for a, b in pairwise(widths)]
    biases = [torch.from_numpy(draw.normal(size=(1, b)) / 2) for b in widths[1:]]
    return Network(tuple(weights), tuple(biases), kind, 0.1)


def two(draw, near):
    first = made(draw, (3, 6, 5, 4, 2), KINDS[int(draw.integers(3))], 10.0 ** int(draw.integers(-3, 4)))
    if near:
        size = 10.0 ** -int(draw.integers(1, 15))
        return first, first.map(lambda a: a * (1 + size * torch.from_numpy(draw.normal(size=a.shape))))
    return first, made(draw, (3, 4, 7, 2), KINDS[int(draw.integers(3))])


@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_no_bound_is_below_an_exact_difference(seed, near):
    draw = np.random.default_rng((seed, near))
    first, second = two(draw, near)
    low = draw.normal(size=(6, 3))
    high = low + draw.choice([0.0, 1e-3, 0.5, 2.0], size=(6, 3))
    bounds = BackwardBounds(joined(first, second), np.arange(2))(low, high)
    for a, b, most in zip(low, high, bounds.tolist(), strict=True):
        unit = np.concatenate([draw.random((6, 3)), draw.integers(0, 2, (6, 3))])
        for x in np.clip(a + unit * (b - a), a, b):
            exact = exact_difference(first, second, torch.from_numpy(x))
            assert all(gap <= Fraction(m) for gap, m in zip(exact, most, strict=True))


def test_boxes_do_not_depend_on_those_beside_them_beyond_rounding():
    draw = np.random.default_rng(0)
    first, second = two(draw, True)
    low = draw.normal(size=(20, 3))
    high = low + draw.random((20, 3))
    bound = BackwardBounds(joined(first, second), np.arange(2))
    alone = np.concatenate([bound(a[None], b[None]) for a, b in zip(low, high, strict=True)])
    assert bound(low, high) == pytest.approx(alone, rel=0.2)  # units beside those that bend are narrowed too


def test_boxes_near_a_proof_are_proved_by_them():
    draw = np.random.default_rng(3)
    first = made(draw, (3, 20, 20, 20, 20, 2), "relu")
    second = first.map(lambda a: a + 1e-3 * torch.from_numpy(draw.normal(size=a.shape)))
    low = draw.uniform(-1, 0.7, (40, 3))
    high, pair = low + 0.3, joined(first, second)
    loose = Bounder(pair, Question(torch.full((2,), 1e-9, dtype=torch.float64)), 3, threads=1)(low, high)[0]
    limits = torch.full((2,), float(np.median(loose.max(1))) / 1.2, dtype=torch.float64)
    sizes, values, _ = Bounder(pair, Question(limits), 3, threads=1)(low, high)
    assert (sizes <= loose).all()
    assert (values <= 0).sum() > (loose.max(1) <= limits[0].item()).sum()
    assert ((values <= 0) == (sizes <= limits.numpy()).all(1)).all()
