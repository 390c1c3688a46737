"""Learners on points made on the spot: all fit, and a part orthogonal to the data costs."""

import numpy as np
import torch

from tutelage.distillation import Empirical, learned
from tutelage.distillation.studies.optimisation_bias import (
    DELTAS,
    BiasOnImages,
    _blobs,
    bias_on_images,
    draw,
    learners,
    overall,
    rises,
)
from tutelage.lab import Results, Store, execute
from tutelage.studies.study import find


def test_all_learners_fit_and_the_first_is_distillation():
    x, _, test, _ = _blobs(60, 12)
    task = Empirical(x, torch.ones(12, dtype=torch.float64), test)
    found = learners(task, range(3), 4)
    risk, misfit = found["risk"], found["misfit"]
    assert risk.shape == misfit.shape == (len(DELTAS), 3)
    assert (misfit < 1e-9).all()
    w = learned(task.transfer(range(3), 4))
    by_hand = ((test @ w.T >= 0) != (test @ task.teacher >= 0).unsqueeze(1)).double().mean(0)
    assert np.allclose(risk[0], by_hand)
    assert risk[-1].mean() > risk[0].mean()


def test_the_smoke_scale_needs_no_files(tmp_path):
    plan = find("optimisation-bias").plan("smoke")
    found = bias_on_images(Results(execute(plan.experiments, Store(tmp_path), device="cpu")))
    assert found.accuracy > 0.9
    assert 0 < found.bound <= 2
    assert len(draw(found).axes) == 2


def test_claims_take_differences_set_by_set():
    risk = np.arange(20.0).reshape(10, 2) / 100
    made_up = BiasOnImages("none", risk, risk, 5, 9, 9, 1.0, 1.0)
    assert np.allclose(rises.values(made_up)["0 to 10"], 0.02)
    assert np.allclose(overall.values(made_up)["90 and 0"], 0.18)
