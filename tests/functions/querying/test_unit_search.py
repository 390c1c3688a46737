"""Units of the next layer are found from fold points, and pieces of deeper units are not taken for them."""

import numpy as np
import pytest

from tutelage.functions.querying._stream import QueryDraws
from tutelage.functions.querying.fold_equations import Known
from tutelage.functions.querying.fold_points import on_lines, sample
from tutelage.functions.querying.oracle import Oracle
from tutelage.functions.querying.unit_search import UnitSearchSetting, find_units


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
    folds = on_lines(oracle, start, sample(low, high, 150, 0, "b") - start)
    return oracle, layers, folds, UnitSearchSetting(low, high, 10.0, 1e-7)


def cosines(theta, w, b):
    """Of every unit of a layer with the nearest found: [n]."""
    found = theta / np.linalg.norm(theta, axis=1, keepdims=True)
    rows = np.concatenate([w, b[None]]).T
    return np.abs(found @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T).max(0)


def test_the_first_layer_is_found_and_nothing_else(scene):
    oracle, layers, folds, setting = scene
    theta, left = find_units(oracle, Known(), folds, setting, QueryDraws(0), 24)
    assert theta.shape == (5, 7)
    assert (cosines(theta, *layers[0]) > 1 - 1e-12).all()
    second = np.maximum(left.points @ layers[0][0] + layers[0][1], 0) @ layers[1][0] + layers[1][1]
    assert np.abs(second).min(1).max() < 1e-8


def test_the_second_layer_is_found_over_the_first(scene):
    oracle, layers, folds, setting = scene
    rng = QueryDraws(0)
    _, left = find_units(oracle, Known(), folds, setting, rng, 24)
    theta, left = find_units(oracle, Known((layers[0],)), left, setting, rng, 24)
    assert len(theta) == 5
    assert (cosines(theta, *layers[1]) > 1 - 1e-12).all()
    assert len(left) <= 0.02 * len(folds)
