"""Angles drawn against a distribution that is theirs, and one that is not."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from tutelage.distillation.studies.angle_distributions import (
    BY_DECREASE,
    NEAR,
    TASKS,
    Angles,
    _kolmogorov,
    angles_of,
    draw,
    easier,
    margin,
    thin,
)
from tutelage.lab import Results, Store, execute
from tutelage.studies.study import find


def test_the_distance_from_a_law_is_scipys():
    a = torch.rand(3, 200, generator=torch.Generator().manual_seed(0), dtype=torch.float64).sort(1).values
    for power in (1.0, 2.0):
        found = _kolmogorov((1 - a) ** power)
        wanted = [stats.ks_1samp(row, lambda t, k=power: 1 - (1 - t) ** k).statistic * 200**0.5 for row in a.numpy()]
        assert np.allclose(found, wanted)


def test_distributions_are_checked_exactly_and_not_over_draws():
    def one(p):
        return Angles(np.zeros((1, 4)), np.ones(1), p)

    found = {"kappa = 1": one(lambda t: 1 - t / NEAR / 2), "kappa = 2": one(lambda t: 0.1 + 0 * t)}
    assert np.isclose(thin.values(found)["kappa = 2"], 0.2)
    inside = one(lambda t: np.maximum(np.pi / 3 - t, 0))
    assert margin.values({"task B": inside, "large margin": inside})["task B"] == 0


def test_neighbours_in_the_decrease_of_p_are_compared():
    theta = torch.tensor([0.3, 0.8, 1.2])
    decrease = [TASKS[name].p(theta) for name in BY_DECREASE]
    assert (decrease[0] > decrease[1]).all()
    assert (decrease[1] > decrease[2]).all()
    risks = {"task A": 0.2, "task B": 0.15, "task C": 0.5}
    found = {name: Angles(np.zeros((1, 4)), np.ones(1), None, np.array([risk])) for name, risk in risks.items()}
    differences = {name: values.item() for name, values in easier.values(found).items()}
    assert differences == pytest.approx({"task C to task A": 0.3, "task A to task B": 0.05})


def test_the_smoke_scale_has_all_tasks_in_the_figure(tmp_path):
    plan = find("angle-distributions").plan("smoke")
    found = angles_of(Results(execute(plan.experiments, Store(tmp_path), device="cpu")))
    assert {name for name, one in found.items() if one.risk is not None} == {"task A", "task B", "task C"}
    assert found["task B"].angles.max() < math.pi / 3
    assert (found["task C"].risk > found["task A"].risk).all()
    assert len(draw(found).axes) == 4
