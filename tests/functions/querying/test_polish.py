"""The last digits."""

from itertools import pairwise

import numpy as np

from tutelage.functions.querying.polish import _linearised, effects, least_squares, outputs, polished


def layers(widths, seed):
    draw = np.random.default_rng(seed)
    return tuple((draw.standard_normal((a, b)) / a**0.5, 0.3 * draw.standard_normal(b)) for a, b in pairwise(widths))


def test_a_slightly_wrong_network_becomes_right():
    truth, draw = layers((4, 5, 3, 2), 0), np.random.default_rng(1)
    x = draw.uniform(-2, 2, (600, 4))
    near = tuple((w + 1e-5 * draw.standard_normal(w.shape), b + 1e-5 * draw.standard_normal(len(b))) for w, b in truth)
    better = polished(near, x, outputs(truth, x), 1e-17)
    fresh = draw.uniform(-2, 2, (600, 4))
    assert np.abs(outputs(near, fresh) - outputs(truth, fresh)).max() > 1e-6
    assert np.abs(outputs(better, fresh) - outputs(truth, fresh)).max() < 1e-12


def test_a_network_at_the_floor_is_left_alone():
    truth = layers((3, 4, 1), 2)
    x = np.random.default_rng(0).uniform(-1, 1, (100, 3))
    assert polished(truth, x, outputs(truth, x), 1e-12) is truth


def test_derivatives_agree_with_differences():
    net = layers((3, 4, 3, 2), 3)
    x = np.random.default_rng(0).uniform(-1, 1, (10, 3))
    _, jacobian = _linearised(net, x, np.zeros((10, 2)))
    column = 0
    for layer, (w, b) in enumerate(net):
        for k in range(w.size + b.size):
            sides = []
            for sign in (1, -1):
                flat = np.r_[w.ravel(), b]
                flat[k] += sign * 1e-6
                moved = (flat[: w.size].reshape(w.shape), flat[w.size :])
                sides.append(outputs((*net[:layer], moved, *net[layer + 1 :]), x).ravel())
            assert np.allclose(jacobian[:, column], (sides[0] - sides[1]) / 2e-6, atol=1e-7)
            column += 1
    assert column == jacobian.shape[1]


def test_weights_without_effect_are_counted():
    x = np.random.default_rng(0).uniform(-3, 3, (600, 4))
    net = layers((4, 3, 3, 1), 4)
    w, b = net[0]
    assert all(some.all() for some in effects(net, x))
    dead = effects(((w, np.where(np.arange(3) == 1, -50.0, b)), *net[1:]), x)
    assert [int((~some).sum()) for some in dead] == [4 + 1, 3, 0]


class Passed:
    """A deadline that has passed."""

    passed = True


def test_no_step_begins_after_the_deadline():
    x = np.random.default_rng(0).uniform(-3, 3, (200, 4))
    net = layers((4, 3, 1), 4)
    rough = tuple((w + 1e-3, b) for w, b in net)
    assert polished(rough, x, outputs(net, x), 0.0, Passed()) is rough
    assert polished(rough, x, outputs(net, x), 0.0) is not rough


def test_the_shortest_solution_is_taken():
    assert np.allclose(least_squares(np.ones((3, 2)), np.full((3, 1), 2.0)), 1.0)


def test_nothing_is_fitted_to_features_that_overflowed():
    matrix = np.array([[1.0, np.inf], [1.0, 2.0], [0.0, 1.0]])
    assert np.array_equal(least_squares(matrix, np.ones((3, 1))), np.zeros((2, 1)))
    huge = ((np.full((2, 3), 1e200), np.zeros(3)), (np.full((3, 1), 1e200), np.zeros(1)))
    x = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    with np.errstate(over="ignore", invalid="ignore"):
        assert polished(huge, x, np.ones((50, 1)), 0.0) is huge
