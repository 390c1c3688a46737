"""Distances of weights do not see order and scale; differences of functions are those of a fine grid."""

import numpy as np
import pytest
import torch

from tutelage.functions.identifying.conditions import all_of
from tutelage.functions.identifying.generality import generality
from tutelage.functions.studies._random_relu import random_relu
from tutelage.functions.studies.inverse_stability import (
    BOX,
    ByTeachers,
    close_functions,
    close_pair,
    distant_weights,
    fewer_near_where_widths_grow,
    largest_difference,
    near_when_learnt,
    scaled,
    weight_distance,
)
from tutelage.networks import Network, outputs


@pytest.mark.parametrize("widths", [(2, 3, 1), (3, 2, 4, 2)], ids=["one hidden layer", "two hidden layers"])
def test_the_distance_does_not_see_the_order_and_the_scale_of_units(widths):
    network = random_relu(widths, 0.5, range(3))
    weights, biases = [list(a) for a in (network.weights, network.biases)]
    for layer in range(len(weights) - 1):
        order = torch.roll(torch.arange(widths[layer + 1]), 1)
        scale = 0.5 + torch.arange(widths[layer + 1], dtype=torch.float64)
        weights[layer], biases[layer] = weights[layer][:, :, order] * scale, biases[layer][:, order] * scale
        weights[layer + 1] = weights[layer + 1][:, order] / scale[:, None]
    moved = Network(tuple(weights), tuple(biases))
    x = torch.randn(3, 50, widths[0], dtype=torch.float64)
    assert torch.allclose(outputs(network, x), outputs(moved, x))
    assert weight_distance(network, moved).max() < 1e-14


def test_scaling_keeps_the_function_and_a_known_change_has_a_known_distance():
    network = random_relu((2, 2, 2, 1), 0.5, range(4))
    x = torch.randn(4, 50, 2, dtype=torch.float64)
    weights, biases = scaled(network)
    assert torch.allclose(outputs(Network(tuple(weights), tuple(biases)), x), outputs(network, x))
    size = sum(a.flatten(1).square().sum(1) for a in (*weights, *biases)).sqrt()
    moved = Network(tuple(weights), (*biases[:-1], biases[-1] + 1e-3))
    assert torch.allclose(weight_distance(network, moved) * size, torch.full((4,), 1e-3, dtype=torch.float64))


def test_the_largest_difference_is_that_of_a_fine_grid():
    pair = close_pair(0.3, range(20))
    line = torch.linspace(-1, 1, 201, dtype=torch.float64)
    grid = torch.cartesian_prod(line, line).expand(20, -1, -1)
    sampled = (outputs(pair[0], grid) - outputs(pair[1], grid)).abs().amax((1, 2))
    exact = largest_difference(*pair)
    assert (sampled <= exact + 1e-12).all()
    assert (exact - sampled).max() < 0.01


@pytest.mark.parametrize("tilt", [0.1, 1e-3])
def test_close_pairs_are_within_the_bound_and_apart_in_weights(tilt):
    pair = close_pair(tilt, range(200))
    assert (largest_difference(*pair) <= 3 * tilt).all()
    assert (weight_distance(pair[1], pair[0]) >= 0.2).all()
    assert all(all_of(generality(network[s], BOX)) is True for network in pair for s in range(3))


def test_claims_read_the_students_that_have_learnt():
    keys = [("random", (2, 2, 1)), ("random", (2, 2, 2, 1)), ("random", (2, 4, 1)), ("random", (2, 4, 4, 1))]
    keys += [("identifiable", (2, 2, 1)), ("identifiable", (2, 2, 2, 1))]
    losses = {key: np.array([[1.0, 1e-5], [1.0, 1e-5], [1.0, 1e-2]]) for key in keys}
    distances = {key: np.array([[1.0, 0.01], [1.0, 0.5 if key[1][1] == 4 else 0.01], [1.0, 0.01]]) for key in keys}
    pairs = {name: np.full((3, 1), value) for name, value in (("difference", 0.2), ("distance", 0.4), ("general", 1.0))}
    found = ByTeachers(pairs, np.array([0.1]), losses, distances)
    assert np.allclose(close_functions.values(found)["tilt 0.1"], 2)
    assert np.allclose(distant_weights.values(found)["tilt 0.1"], 0.4)
    near = near_when_learnt.values(found)["constructed teachers, 2 2 1"]
    assert np.array_equal(near.values, [1, 1, np.nan], equal_nan=True)
    less = fewer_near_where_widths_grow.values(found)["2 2 1 less 2 4 1"]
    assert np.array_equal(less, [0, 1, np.nan], equal_nan=True)
