"""Frozen upper layers: what is frozen stays, and how far the lowest layer came."""

from types import SimpleNamespace

import numpy as np
import torch

from tutelage.lab import Store, execute
from tutelage.specialisation.studies import frozen_upper_layers as study


def test_frozen_layers_keep_their_weights_and_the_lowest_learns(tmp_path):
    plan = study.frozen_upper_layers.plan("smoke")
    experiment = plan.experiments[0]
    assert experiment.training.frozen == study.UPPER
    record = experiment.record.model_copy(update={"weights": "all"})
    (result,) = execute([experiment.model_copy(update={"record": record})], Store(tmp_path))
    steps = result.report.steps
    first, last = result.weights(steps[0]), result.weights(steps[-1])
    assert not torch.equal(first.weights[0], last.weights[0])
    for layer in (1, 2):
        assert torch.equal(first.weights[layer], last.weights[layer])


def test_the_gain_is_the_share_of_the_way_to_a_full_match():
    report = type("Report", (), {"__getitem__": lambda self, name: np.array([[[0.5, 0.1]], [[0.75, 0.2]]])})()
    assert study._gain(SimpleNamespace(report=report)).tolist() == [0.5]
