"""What the claims of the temperature study read off a known trace."""

import numpy as np
import pytest

from tutelage.exits.studies._protocol import DISTILLED
from tutelage.exits.studies.temperature import (
    STAYING,
    below_limit,
    draw,
    near_limit,
    one_is_worse,
    others_no_better,
    raw_rises,
)


@pytest.fixture
def found(known):
    epochs = np.arange(20)
    trace = np.stack([1 + epochs / 10, np.where(epochs < 10, 0.2, 0.45), 0.1 + epochs / 40])
    gains = {DISTILLED: 0.04} | dict(zip(STAYING, (0.0, 0.04, 0.02, 0.08), strict=True))
    return known((14,), gains, trace)


def test_claims_read_the_trace_and_the_gains(found):
    assert np.allclose(raw_rises.values(found)["blobs(14)"], 18 / 40)
    assert np.allclose(below_limit.values(found)["blobs(14)"], -0.05)
    assert np.allclose(near_limit.values(found)["blobs(14)"], -0.05)
    first, over_budgets = one_is_worse.values(found).values()
    assert np.allclose(first, 4)
    assert np.allclose(over_budgets, found.gain(14, DISTILLED, STAYING[0], "budget").mean(1))
    assert not np.allclose(first, over_budgets)
    others = {name: float(v.mean()) for name, v in others_no_better.values(found).items()}
    assert others == pytest.approx({"temperature 2": 0, "temperature 3": 1.25, "temperature 4": -2.5})


def test_the_figure_shows_trace_budget_and_ensemble(found):
    assert len(draw(found).axes) == 4  # three panels, and the axis of temperatures
