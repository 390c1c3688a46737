"""Degrees against sampling by hand, and claims on numbers made up."""

import numpy as np
import pytest
import torch

from tutelage.distillation import Polynomial, learned
from tutelage.distillation.risk import disagreement
from tutelage.distillation.studies.data_geometry import (
    LAW,
    TRANSFER,
    Degree,
    below_corollary,
    degree,
    draw,
    tilted,
    trend,
)


def made_up(kappa, risk, corollary=0.5):
    risk = np.asarray(risk)
    return Degree(kappa, risk, risk, np.full(2_000, risk.mean()), np.zeros(len(risk)), corollary, 0.4)


def test_held_out_inputs_are_counted_as_by_hand():
    task = Polynomial(30, kappa=0.3)
    inputs = task.points([0], 500, LAW)[0]
    found = degree(task, task.points(range(3), TRANSFER), inputs)
    w = learned(task.transfer(range(3), TRANSFER))
    wrong = np.stack(
        [np.sign(inputs.numpy() @ one) != np.sign(inputs.numpy() @ task.teacher.numpy()) for one in w.numpy()]
    )
    assert np.allclose(found.held_out, wrong.mean(0))
    assert np.isclose(found.held_out.mean(), disagreement(w, task.teacher, inputs)[0].mean().item())
    assert (found.trained < 1e-8).all()
    assert abs(found.held_out.mean() - found.risk.mean()) < 5 * found.held_out.std() / len(inputs) ** 0.5


@pytest.mark.parametrize("kappa", [0.05, 0.5, 3.0])
def test_inputs_of_every_degree_come_from_one_draw(kappa):
    task = Polynomial(20, kappa=kappa)
    found = tilted(Polynomial(20, kappa=1.0).points(range(3), 40), task)
    assert torch.allclose(found, task.points(range(3), 40), rtol=1e-9, atol=1e-12)


def test_more_aligned_inputs_give_less_risk_set_by_set():
    tasks = [Polynomial(30, kappa=k) for k in (0.2, 1.0)]
    low, high = (degree(t, t.points(range(4), TRANSFER), t.points([0], 10, LAW)[0]) for t in tasks)
    assert (low.risk > high.risk).all()
    assert (low.angle > high.angle).all()


def test_claims_compare_neighbours_ranks_and_bounds():
    found = [made_up(0.1, [0.4, 0.3]), made_up(0.2, [0.3, 0.35]), made_up(0.4, [0.1, 0.1])]
    assert np.allclose(trend.values(found)["all"], [-1.0, -0.5])
    assert np.allclose(below_corollary.values(found)["0.4"].values, -0.4)
    assert np.isclose(below_corollary.values(found)["0.4"].baseline, 0.0)


def test_the_figure_holds_every_degree():
    found = [made_up(0.1, [0.4, 0.3]), made_up(0.2, [0.3, 0.35])]
    assert len(draw(found).axes) == 3
