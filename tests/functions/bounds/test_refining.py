"""Ranges of units that may bend, substituted backwards: held against exact values, and closer than zonotopes alone."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from tutelage.functions.answers import Question
from tutelage.functions.bounds.branch_inputs import Bounder
from tutelage.functions.layers.pairs import joined
from tutelage.functions.rounding import exact_outputs


def bounder(first, second, free, *, refined=True, margin=None):
    question = Question(torch.full((first.outputs,), 1e-200, dtype=torch.float64), margin)
    made = Bounder(joined(first, second), question, free, threads=1)
    made.hope = (1e300, np.inf) if refined else (0.0, 0.0)
    return made


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_deep_pairs_never_differ_by_more_than_their_bound(small, start):
    """Differences of every size, from equal networks to unrelated ones: every plane around a difference is used."""
    for seed in range(start, start + 20):
        rng = np.random.default_rng(seed)
        kind = ("relu", "leaky", "abs", "relu")[seed % 4]
        first = small.network(rng, (3, 9, 9, 9, 2), kind)
        second = small.near(first, rng, 10.0 ** rng.uniform(-6, 0.5))
        low = rng.normal(size=3)
        high = low + 10.0 ** rng.uniform(-2, 0.5, size=3)
        sizes, _, _ = bounder(first, second, 3)(low[None], high[None])
        for x in small.points(rng, low, high, 12):
            a, b = exact_outputs(first, x), exact_outputs(second, x)
            assert all(abs(p - q) <= Fraction(s) for p, q, s in zip(a, b, sizes[0], strict=True)), seed


def test_bounds_of_deep_pairs_are_closer_than_those_of_zonotopes(small):
    ratios = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        first = small.network(rng, (4, 20, 20, 20, 20, 2), "relu")
        second = small.near(first, rng, 1e-3)
        low = rng.normal(size=(1, 4))
        high = low + 1.0
        closer, plain = (bounder(first, second, 4, refined=r)(low, high)[0].max() for r in (True, False))
        assert closer <= plain * (1 + 1e-9)
        ratios.append(closer / plain)
    assert np.median(ratios) < 0.8


def test_numbers_that_overflow_prove_nothing(small):
    """Infinite coefficients of both signs give NaN, which no minimum may lose."""
    rng = np.random.default_rng(1)
    first = small.network(rng, (2, 6, 6, 6, 1), "relu").map(lambda a: a * 1e75)
    second = replace(first, weights=(*first.weights[:-1], -first.weights[-1]))
    low, high = -np.ones((1, 2)), np.ones((1, 2))
    sizes, values, _ = bounder(first, second, 2)(low, high)
    inside = torch.from_numpy(rng.uniform(-1, 1, size=(8, 2)))
    for x in inside:
        a, b = exact_outputs(first, x), exact_outputs(second, x)
        assert np.isinf(sizes[0, 0]) or abs(a[0] - b[0]) <= Fraction(sizes[0, 0])
    assert values[0] > 0
