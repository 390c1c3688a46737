"""Deviations of a decoder that is known, and the study at its smallest."""

import numpy as np
import pytest
import torch

from tutelage.autoencoders import Exact
from tutelage.autoencoders.parts import normal_models
from tutelage.autoencoders.studies._toys import TrainedAutoencoders
from tutelage.autoencoders.studies.splitting_the_normal import STEPS, deviations, splitting_the_normal
from tutelage.lab import Results, Store, execute
from tutelage.studies import judge


def test_deviations_are_those_of_the_decoder():
    model = normal_models([0, 1])
    for parameter in model.decoder.parameters():
        parameter.data.zero_()
    model.decoder.net.biases[-1].data[:, 0, 1] = -0.7
    values = torch.zeros(2, dtype=torch.float64)
    toys = TrainedAutoencoders(
        (None,), range(2), model, values.numpy(), Exact(*(values for _ in Exact.__dataclass_fields__))
    )
    assert np.allclose(deviations(toys), -0.7)


def test_the_study_runs(monkeypatch, tmp_path):
    monkeypatch.setitem(STEPS, "smoke", 5)
    plan = splitting_the_normal.plan("smoke")
    told: list[float] = []
    results = execute(plan.experiments, Store(tmp_path), device="cpu", on_progress=told.append)
    found = plan.view(Results(results))
    assert sum(told) == pytest.approx(sum(experiment.cost for experiment in plan.experiments))
    assert all(v.measured is not None for claim in plan.claims for v in judge(claim, found))
    assert len(plan.figure(found).axes) >= 4
