"""Bounds on boxes, held against exact rational arithmetic."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from tutelage.functions.answers import Question
from tutelage.functions.bounds.branch_inputs import Bounder
from tutelage.functions.layers.pairs import joined
from tutelage.functions.rounding import exact_outputs


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_no_exact_difference_exceeds_its_bound(small, start: int) -> None:
    for seed in range(start, start + 50):
        first, second = small.pairs(seed)
        rng = np.random.default_rng(1000 + seed)
        low, high = small.box(rng, first.inputs)
        question = Question(torch.zeros(first.outputs, dtype=torch.float64))
        bound = Bounder(joined(first, second), question, int((high > low).sum()), threads=1)
        sizes, values, _ = bound(low[None], high[None])
        for x in small.points(rng, low, high, 6):
            a, b = exact_outputs(first, x), exact_outputs(second, x)
            assert all(abs(p - q) <= Fraction(s) for p, q, s in zip(a, b, sizes[0], strict=True)), seed
        assert values[0] == sizes[0].max()


def test_the_bound_on_a_point_is_as_small_as_rounding(small) -> None:
    rng = np.random.default_rng(3)
    first = small.network(rng, (3, 8, 8, 2), "relu")
    second = small.near(first, rng, 1e-3)
    at = rng.normal(size=3)
    question = Question(torch.zeros(2, dtype=torch.float64))
    sizes, _, _ = Bounder(joined(first, second), question, 0, threads=1)(at[None], at[None])
    x = torch.from_numpy(at)
    exact = [abs(a - b) for a, b in zip(exact_outputs(first, x), exact_outputs(second, x), strict=True)]
    assert [float(e) for e in exact] == pytest.approx(sizes[0].tolist(), rel=1e-9)


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_where_top_classes_are_proved_to_agree_they_do(small, margin: float) -> None:
    proved = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        first = small.network(rng, (2, 5, 4, 3), "relu")
        second = small.near(first, rng, 10.0 ** -rng.integers(1, 5))
        low = rng.normal(size=2)
        high = low + 10.0 ** rng.integers(-2, 1)
        question = Question(torch.full((3,), torch.inf, dtype=torch.float64), margin)
        _, values, _ = Bounder(joined(first, second), question, 2, threads=1)(low[None], high[None])
        if values[0] <= 0:
            proved += 1
            for x in small.points(rng, low, high, 12):
                assert not question.refuted(exact_outputs(first, x), exact_outputs(second, x)), seed
    assert proved > 20


def test_networks_that_are_equal_differ_by_nothing_but_rounding(small) -> None:
    rng = np.random.default_rng(0)
    first = small.network(rng, (4, 20, 20, 3), "relu")
    question = Question(torch.zeros(3, dtype=torch.float64))
    low, high = -np.ones((1, 4)), np.ones((1, 4))
    sizes, _, _ = Bounder(joined(first, first), question, 4, threads=1)(low, high)
    assert sizes.max() < 1e-280


def test_numbers_that_overflow_are_bounded_by_infinity(small) -> None:
    rng = np.random.default_rng(0)
    first = small.network(rng, (2, 4, 4, 1), "relu").map(lambda a: a * 1e120)
    question = Question(torch.zeros(1, dtype=torch.float64))
    second = replace(first, weights=(*first.weights[:-1], -first.weights[-1]))
    sizes, values, _ = Bounder(joined(first, second), question, 2, threads=1)(-np.ones((1, 2)), np.ones((1, 2)))
    assert np.isinf(sizes).all()
    assert np.isinf(values).all()
