"""How models of one distribution are laid out, and what claims read off them."""

import math

import numpy as np
import pytest
import torch

from tutelage.autoencoders import Exact
from tutelage.autoencoders.exact import evaluate
from tutelage.autoencoders.parts import normal_models
from tutelage.autoencoders.studies._toys import (
    MutualAutoencoders,
    TrainedAutoencoders,
    every_target,
    name,
    rows_and_one,
    trained_models,
)
from tutelage.errors import TutelageError
from tutelage.lab import Store, execute


def _known(information: list[float]) -> TrainedAutoencoders:
    values = torch.tensor(information, dtype=torch.float64)
    exact = Exact(*(values for _ in Exact.__dataclass_fields__))
    return TrainedAutoencoders((None, 0.0, 1.0), range(2), normal_models([0, 1] * 3), values.numpy(), exact)


def test_members_are_told_apart_by_target():
    toys = _known([0.1, 0.2, 0.3, 0.4, 1.1, 0.8])
    assert {k: v.tolist() for k, v in toys.collapse().items()} == {"VAE": [0.1, 0.2], "M = 0": [0.3, 0.4]}
    assert np.allclose(toys.misses()["M = 1"], [0.1, 0.2])
    assert list(toys.misses()) == ["M = 1"]
    assert np.allclose(toys.steps_between(toys.information)["M = 0 to 1"], [0.8, 0.4])
    assert [name(t) for t in (None, 0.0, math.log(10))] == ["VAE", "M = 0", "M = 2.303"]


def test_stored_models_come_back_with_their_weights(tmp_path):
    members = every_target((None, 0.5), range(2))
    experiment = MutualAutoencoders(distribution="normal", **members, steps=50, batch=8, learning_rate=1e-3)
    told: list[float] = []
    (result,) = execute([experiment], Store(tmp_path), device="cpu", on_progress=told.append)
    assert len(told) > 1
    toys = trained_models(result)
    assert (toys.targets, toys.seeds, toys.model.members) == ((None, 0.5), (0, 1), 4)
    assert np.array_equal(result["target"], [np.nan, np.nan, 0.5, 0.5], equal_nan=True)
    assert torch.equal(toys.exact.information, evaluate(toys.model).information)
    assert not np.array_equal(toys.information, evaluate(experiment.untrained()).information.numpy())


def test_every_member_needs_a_target():
    with pytest.raises(TutelageError, match="one entry per seed, got 1 targets for 2 seeds"):
        MutualAutoencoders(distribution="normal", targets=[0.5], seeds=2, steps=1, learning_rate=1e-3)


def test_rows_and_one():
    figure, column, beside = rows_and_one(3)
    assert len(column) == 3
    assert len(figure.axes) == 4
    assert beside is figure.axes[-1]
