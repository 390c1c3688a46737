"""How models of one law are laid out, and what claims read off them."""

import math

import numpy as np
import pytest
import torch

from tutelage.autoencoders import Exact, Settings, normal_data, normal_models
from tutelage.studies.autoencoders._toys import Toys, name, rows_and_one, table, trained
from tutelage.studies.kept import Kept


def _known(information: list[float]) -> Toys:
    values = torch.tensor(information, dtype=torch.float64)
    exact = Exact(*(values for _ in Exact.__dataclass_fields__))
    return Toys((None, 0.0, 1.0), range(2), normal_models([0, 1] * 3), values.numpy(), exact)


def test_members_are_told_apart_by_target():
    toys = _known([0.1, 0.2, 0.3, 0.4, 1.1, 0.8])
    assert {k: v.tolist() for k, v in toys.collapse().items()} == {"VAE": [0.1, 0.2], "M = 0": [0.3, 0.4]}
    assert np.allclose(toys.misses()["M = 1"], [0.1, 0.2])
    assert list(toys.misses()) == ["M = 1"]
    assert np.allclose(toys.steps_between(toys.information)["M = 0 to 1"], [0.8, 0.4])
    assert [name(t) for t in (None, 0.0, math.log(10))] == ["VAE", "M = 0", "M = 2.303"]


def test_the_table_has_a_row_a_member():
    rows = table(_known([0.1, 0.2, 0.3, 0.4, 1.1, 0.8])).to_pylist()
    assert [row["target"] for row in rows] == [None, None, 0.0, 0.0, 1.0, 1.0]
    assert [row["seed"] for row in rows] == [0, 1] * 3
    assert rows[4]["information"] == pytest.approx(1.1)


def test_training_tells_its_progress():
    told: list[float] = []
    how = Settings(steps=50, batch=8)
    toys = trained(Kept(), "toys", normal_models, normal_data, (None, 0.5), range(2), how, told.append)
    assert toys.model.members == 4
    assert told[-1] == 1.0


def test_rows_and_one():
    figure, column, beside = rows_and_one(3)
    assert len(column) == 3
    assert len(figure.axes) == 4
    assert beside is figure.axes[-1]
