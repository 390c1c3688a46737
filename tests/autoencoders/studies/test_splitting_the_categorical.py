"""Certainty of a decoder that is known, and the study at its smallest."""

import numpy as np
import pytest
import torch

from tutelage.autoencoders import Exact
from tutelage.autoencoders.parts import categorical_models
from tutelage.autoencoders.studies._toys import TrainedAutoencoders
from tutelage.autoencoders.studies.splitting_the_categorical import STEPS, certainty, splitting_the_categorical
from tutelage.lab import Results, Store, execute
from tutelage.studies import judge


def test_certainty_of_constant_bands():
    model = categorical_models([0, 1])
    for parameter in model.decoder.parameters():
        parameter.data.zero_()
    values = torch.zeros(2, dtype=torch.float64)
    toys = TrainedAutoencoders(
        (None,), range(2), model, values.numpy(), Exact(*(values for _ in Exact.__dataclass_fields__))
    )
    assert np.allclose(certainty(toys), 0.1)


def test_the_study_runs(monkeypatch, tmp_path):
    monkeypatch.setitem(STEPS, "smoke", 5)
    plan = splitting_the_categorical.plan("smoke")
    told: list[float] = []
    results = execute(plan.experiments, Store(tmp_path), device="cpu", on_progress=told.append)
    found = plan.view(Results(results))
    assert sum(told) == pytest.approx(sum(experiment.cost for experiment in plan.experiments))
    assert all(v.measured is not None for claim in plan.claims for v in judge(claim, found))
    assert len(plan.figure(found).axes) >= 4
