"""Certainty of a decoder that is known, and the study at its smallest."""

import numpy as np
import torch

from tutelage.autoencoders import Exact, categorical_models
from tutelage.lab import Results
from tutelage.studies import judge
from tutelage.studies.autoencoders._toys import Toys
from tutelage.studies.autoencoders.splitting_the_categorical import STEPS, certainty, splitting_the_categorical


def test_certainty_of_constant_bands():
    model = categorical_models([0, 1])
    for parameter in model.decoder.parameters():
        parameter.data.zero_()
    values = torch.zeros(2, dtype=torch.float64)
    toys = Toys((None,), range(2), model, values.numpy(), Exact(*(values for _ in Exact.__dataclass_fields__)))
    assert np.allclose(certainty(toys), 0.1)


def test_the_study_runs(monkeypatch):
    monkeypatch.setitem(STEPS, "smoke", 5)
    plan = splitting_the_categorical.plan("smoke")
    told: list[float] = []
    assert plan.evidence is not None
    found = plan.evidence(Results([]), told.append)
    assert told[-1] == 1.0
    assert all(v.measured is not None for claim in plan.claims for v in judge(claim, found))
    assert plan.numbers(found).num_rows >= 4
    assert len(plan.figure(found).axes) >= 4
