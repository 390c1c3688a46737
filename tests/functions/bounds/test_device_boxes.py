"""The bounds for a GPU, on the CPU: as sound as the compiled ones, and the same numbers."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from tutelage.functions.answers import Question
from tutelage.functions.bounds._device_boxes import DeviceBounds
from tutelage.functions.bounds.branch_inputs import Bounder
from tutelage.functions.layers.pairs import joined
from tutelage.functions.rounding import exact_outputs


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_no_exact_difference_exceeds_its_bound(small, start):
    for seed in range(start, start + 40):
        first, second = small.pairs(seed)
        rng = np.random.default_rng(1000 + seed)
        low, high = small.box(rng, first.inputs)
        limits = np.zeros(first.outputs)
        sizes, values, _ = DeviceBounds(joined(first, second), limits, np.nan, "cpu")(low[None], high[None])
        for x in small.points(rng, low, high, 5):
            a, b = exact_outputs(first, x), exact_outputs(second, x)
            assert all(abs(p - q) <= Fraction(s) for p, q, s in zip(a, b, sizes[0], strict=True)), seed
        assert values[0] == sizes[0].max()


@pytest.mark.parametrize("margin", [None, 0.0, 0.2])
def test_the_numbers_are_those_of_the_compiled_bounds(small, margin):
    rng = np.random.default_rng(0)
    first = small.network(rng, (3, 12, 12, 10, 3), "relu")
    second = small.near(first, rng, 1e-2)
    low = rng.normal(size=(40, 3))
    high = low + rng.random((40, 3)) * 10.0 ** rng.integers(-3, 1, size=(40, 1))
    limits = torch.zeros(3, dtype=torch.float64) if margin is None else torch.full((3,), torch.inf, dtype=torch.float64)
    bounder = Bounder(joined(first, second), Question(limits, margin), 3, threads=1)
    bounder.hope = (0.0, 0.0)  # ranges are refined on a CPU alone
    compiled = bounder(low, high)
    device = DeviceBounds(joined(first, second), limits.numpy(), np.nan if margin is None else margin, "cpu")(low, high)
    assert device[0] == pytest.approx(compiled[0], rel=1e-9)
    if margin is None:
        assert device[1] == pytest.approx(compiled[1], rel=1e-9)
        assert device[2] == pytest.approx(compiled[2], rel=1e-6, abs=1e-9)
    else:
        assert ((device[1] <= 0) == (compiled[1] <= 0)).all()
