"""Two encoders compared seed by seed, and the study at its smallest."""

import numpy as np
import pytest

from tutelage.autoencoders.studies.encoder_flexibility import (
    STEPS,
    EncoderPosteriors,
    better,
    encoder_flexibility,
    sharper,
)
from tutelage.lab import Results, Store, execute
from tutelage.studies import judge


def test_encoders_are_compared_seed_by_seed():
    empty = np.zeros((2, 10, 3))
    plain, flexible = (
        EncoderPosteriors(k, np.zeros(3), empty, empty, np.array(off), np.array(sharp), np.zeros(2))
        for k, off, sharp in ((1, [0.5, 0.4], [1.0, 1.0]), (5, [0.1, 0.2], [0.7, 0.9]))
    )
    [gain] = better.values([plain, flexible]).values()
    assert np.allclose(gain, [0.4, 0.2])
    [gain] = sharper.values([plain, flexible]).values()
    assert np.allclose(gain, [0.3, 0.1])


def test_the_study_runs(monkeypatch, tmp_path):
    monkeypatch.setitem(STEPS, "smoke", 5)
    plan = encoder_flexibility.plan("smoke")
    told: list[float] = []
    results = execute(plan.experiments, Store(tmp_path), device="cpu", on_progress=told.append)
    found = plan.view(Results(results))
    assert sum(told) == pytest.approx(sum(experiment.cost for experiment in plan.experiments))
    assert all(v.measured is not None for claim in plan.claims for v in judge(claim, found))
    assert len(plan.figure(found).axes) >= 4
