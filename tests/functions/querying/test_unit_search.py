"""Units of the next layer are found from fold points, and pieces of deeper units are not taken for them."""

import numpy as np

from tutelage.functions.querying.known import Known
from tutelage.functions.querying.oracle import QueryDraws
from tutelage.functions.querying.unit_search import (
    FoundUnits,
    Rivals,
    _voted,
    find_units,
    merged,
    parallel,
)


def cosines(theta, w, b):
    """Of every unit of a layer with the nearest found: [n]."""
    found = theta / np.linalg.norm(theta, axis=1, keepdims=True)
    rows = np.concatenate([w, b[None]]).T
    return np.abs(found @ (rows / np.linalg.norm(rows, axis=1, keepdims=True)).T).max(0)


def test_the_first_layer_is_found_and_nothing_else(scene):
    oracle, layers, lines, setting = scene
    units, left = find_units(oracle, Known(), lines, lines.bend, setting, QueryDraws(0), 24)
    assert units.theta.shape == (5, 7)
    assert units.determined.all()
    assert (cosines(units.theta, *layers[0]) > 1 - 1e-12).all()
    points = lines.points[left]
    second = np.maximum(points @ layers[0][0] + layers[0][1], 0) @ layers[1][0] + layers[1][1]
    assert np.abs(second).min(1).max() < 1e-8


def test_the_second_layer_is_found_over_the_first(scene):
    oracle, layers, lines, setting = scene
    rng = QueryDraws(0)
    _, left = find_units(oracle, Known(), lines, lines.bend, setting, rng, 24)
    units, left = find_units(oracle, Known((layers[0],)), lines, left, setting, rng, 24)
    assert len(units) == 5
    assert (cosines(units.theta, *layers[1]) > 1 - 1e-12).all()
    assert left.sum() <= 0.02 * lines.bend.sum()
    again, _ = find_units(oracle, Known((layers[0],)), lines, left, setting, rng, 24, units)
    assert len(again) == 5


def test_two_pieces_of_one_unit_are_put_together_and_those_of_two_are_not():
    draw = np.random.default_rng(0)
    theta, other = draw.standard_normal(8), draw.standard_normal(8)
    first, second = np.eye(8)[:6], np.eye(8)[3:]
    both = merged(first.T @ (first @ theta), first, -3 * second.T @ (second @ theta), second)
    assert both is not None
    assert len(both[1]) == 8
    assert np.allclose(both[0] / both[0][0], theta / theta[0])
    assert merged(first.T @ (first @ theta), first, second.T @ (second @ other), second) is None
    assert merged(theta, np.eye(8)[:4], theta, np.eye(8)[4:]) is None


def test_units_are_rewritten_over_other_features():
    draw = np.random.default_rng(1)
    matrix, truth = draw.standard_normal((5, 3)), draw.standard_normal((2, 3))
    units = FoundUnits(truth @ matrix.T, (np.eye(5), np.eye(5)))
    assert np.allclose(units.rewritten(matrix).theta, truth)
    assert units.rewritten(matrix).determined.all()


def test_units_that_differ_in_their_biases_alone_are_parallel():
    one, all_known = np.array([1.0, 2.0, 0.5]), np.eye(3)
    assert parallel((one, all_known), (np.array([-2.0, -4.0, 3.0]), all_known))
    assert not parallel((one, all_known), (np.array([1.0, 2.001, 0.5]), all_known))
    assert not parallel((one, all_known), (one, all_known[:2]))


def test_a_doubted_fold_is_known_again_by_its_points():
    points = np.stack([np.full(5, 0.5), np.linspace(-1, 1, 5)], 1)
    rivals = Rivals((points,))
    assert rivals.doubted(Known(), np.array([-2.0, 0.0, 1.0]))  # x1 = 1/2, whatever its scale and sign
    assert not rivals.doubted(Known(), np.array([1.0, 0.0, -0.4]))  # parallel
    assert not rivals.doubted(Known(), np.array([1.0, 0.1, -0.5]))  # meets it in one point
    assert not Rivals().doubted(Known(), np.array([1.0, 0.0, -0.5]))


def test_no_weight_is_voted_for_by_bends_that_two_features_place():
    """One unit below and the constant are two features: no four bends of these tell a third number."""
    phi = np.c_[np.linspace(1, 2, 6), np.ones(6)]
    _voted(Known(), phi, np.array([0.0, 1.0]), np.eye(2)[1:], 1.0)
