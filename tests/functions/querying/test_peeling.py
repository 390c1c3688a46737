"""Layers are peeled until the values are explained; what no fold tells is carried by always active units."""

import numpy as np
import pytest

from tutelage.functions.querying import peeling
from tutelage.functions.querying.confirming import UnitSearchSetting
from tutelage.functions.querying.lines import look_along, sample
from tutelage.functions.querying.oracle import Oracle, QueryDraws
from tutelage.functions.querying.peeling import Peeled, _without_unread, peel
from tutelage.functions.querying.polish import outputs


def peeled(layers, half, most=4):
    d = len(layers[0][0])
    low, high = -half * np.ones(d), half * np.ones(d)
    oracle, start = (
        Oracle(lambda x: outputs(layers, x.numpy()), d, layers[-1][0].shape[1]),
        sample(low, high, 80, 0, "a"),
    )
    folds = look_along(oracle, start, sample(low, high, 80, 0, "b") - start)
    setting = UnitSearchSetting(low, high, half * d**0.5, 1e-7)
    return peel(oracle, folds, setting, QueryDraws(0), 1e-7, most, 0), low, high


def test_a_linear_function_needs_no_hidden_layer():
    found, *_ = peeled(((np.ones((3, 2)), np.array([1.0, 2.0])),), 1.0)
    assert len(found.layers) == 1
    assert np.allclose(found.layers[0][0], 1)
    assert found.unexplained < 1e-12


def test_units_that_never_switch_are_carried_exactly():
    draw = np.random.default_rng(1)
    w, b = draw.standard_normal((4, 5)), np.array([0.1, -0.2, 0.3, 30.0, 30.0])
    found, low, high = peeled(((w, b), (draw.standard_normal((5, 1)), np.ones(1))), 2.0)
    assert found.unexplained < 1e-12
    assert found.passing == (1,)
    assert found.open_signs == (1,)
    assert found.layers[0][0].shape[1] == 4
    corners = np.where(draw.random((200, 4)) < 0.5, low, high)
    assert (corners @ found.layers[0][0][:, -1] + found.layers[0][1][-1] >= 0).all()


def test_no_more_layers_than_allowed_are_looked_for():
    draw = np.random.default_rng(2)
    deep = tuple((draw.standard_normal((a, b)), 0.3 * draw.standard_normal(b)) for a, b in ((5, 4), (4, 4), (4, 1)))
    found, *_ = peeled(deep, 4.0, most=1)
    assert len(found.layers) == 2
    assert found.unexplained > 1e-3


@pytest.mark.parametrize(("dear", "polishes"), [(np.inf, True), (0, False)])
def test_steps_that_take_seconds_do_not_polish_a_network_that_lacks_units(monkeypatch, dear, polishes):
    calls = []
    monkeypatch.setattr(peeling, "_DEAR", dear)
    monkeypatch.setattr(peeling, "polished", lambda layers, *rest: calls.append(layers) or layers)
    draw = np.random.default_rng(2)
    deep = tuple((draw.standard_normal((a, b)), 0.3 * draw.standard_normal(b)) for a, b in ((5, 4), (4, 4), (4, 1)))
    found, *_ = peeled(deep, 4.0, most=1)
    assert 1e-3 < found.unexplained < 0.3
    assert bool(calls) == polishes


def test_units_that_nobody_reads_are_left_out():
    draw = np.random.default_rng(0)
    first, bias = draw.normal(size=(2, 4)), draw.normal(size=4)
    reads = draw.normal(size=(4, 1))
    reads[1] = 1e-14
    points = draw.uniform(-1, 1, (200, 2))
    layers = (first, bias), (reads, np.zeros(1))
    values = np.maximum(points @ first + bias, 0) @ reads
    found = _without_unread(Peeled(layers, (0,), unexplained=1e-15), points, values, 1e-16, 1e-7)
    assert np.array_equal(found.layers[0][0], first[:, [0, 2, 3]])
    assert found.unexplained < 1e-12
    read = Peeled(((first, bias), (draw.normal(size=(4, 1)), np.zeros(1))), (0,), unexplained=0.5)
    assert _without_unread(read, points, values, 1e-16, 1e-7).layers[0][0].shape == (2, 4)
    added = Peeled(((first[:, [0, 2, 3, 1]], bias[[0, 2, 3, 1]]), (reads[[0, 2, 3, 1]], np.zeros(1))), (1,))
    assert _without_unread(added, points, values, 1e-16, 1e-7).layers[0][0].shape == (2, 4)  # it was added


def test_a_network_whose_values_overflow_explains_nothing():
    values = np.ones((5, 1))
    assert peeling._share(np.full((5, 1), np.nan), values, 1e-16) == np.inf
    assert peeling._share(np.zeros((5, 1)), values, 1e-16) == 0.0
