"""Folds of the next layer are confirmed; those of deeper layers are not."""

import numpy as np
import pytest

from tutelage.functions.querying._stream import QueryDraws
from tutelage.functions.querying.confirming import UnitSearchSetting, confirmed
from tutelage.functions.querying.known import Known
from tutelage.functions.querying.lines import look_along, sample
from tutelage.functions.querying.oracle import Oracle


@pytest.fixture
def scene():
    draw = np.random.default_rng(5)
    layers = [
        (draw.standard_normal((a, b)) / a**0.5, 0.3 * draw.standard_normal(b)) for a, b in ((6, 5), (5, 5), (5, 1))
    ]

    def f(x):
        z = x.numpy()
        for w, b in layers[:-1]:
            z = np.maximum(z @ w + b, 0)
        return z @ layers[-1][0] + layers[-1][1]

    low, high = -4 * np.ones(6), 4 * np.ones(6)
    oracle, start = Oracle(f, 6, 1), sample(low, high, 150, 0, "a")
    folds = look_along(oracle, start, sample(low, high, 150, 0, "b") - start)
    return oracle, layers, folds, UnitSearchSetting(low, high, 10.0, 1e-7)


def test_a_fold_is_confirmed_all_over_the_box_and_a_deeper_one_is_not(scene):
    oracle, layers, lines, setting = scene
    rows = np.concatenate([layers[0][0], layers[0][1][None]]).T
    value = lines.points @ layers[0][0] + layers[0][1]
    own = lines.points[np.abs(value[:, 0]) < 1e-9]
    assert confirmed(oracle, Known(), rows[0], np.eye(7), own, setting, QueryDraws(0))
    gates = value[:1] > 0  # the form of a deeper unit in one region, taken for a unit of the first layer
    deeper = (rows.T * gates) @ layers[1][0][:, 0] + np.r_[np.zeros(6), layers[1][1][0]]
    assert not confirmed(oracle, Known(), deeper, np.eye(7), own, setting, QueryDraws(0))
