"""Points on folds with their normals."""

import numpy as np
import torch

from tutelage.functions.querying.fold_points import gradients, join, on_lines, sample
from tutelage.functions.querying.oracle import Oracle


def test_points_lie_on_the_folds_with_their_normals_and_gradients():
    w = torch.tensor([[1.0, 0.3], [-0.5, 2.0], [0.7, 0.1]], dtype=torch.float64)
    top = torch.tensor([[1.0, -2.0], [0.5, 1.0]], dtype=torch.float64)
    oracle = Oracle(lambda x: (x @ w + 0.2).relu() @ top, 3, 2)
    start = sample(-np.ones(3), np.ones(3), 40, 0, "a")
    folds = on_lines(oracle, start, sample(-np.ones(3), np.ones(3), 40, 0, "b") - start)
    u = folds.points @ w.numpy() + 0.2
    unit = np.abs(u).argmin(1)
    assert len(folds) > 20
    assert set(unit) == {0, 1}
    assert np.abs(u).min(1).max() < 1e-12
    rows = (w / w.norm(dim=0)).numpy().T[unit]
    assert np.allclose(np.abs((folds.normals * rows).sum(1)), 1, atol=1e-10)
    jump = w.numpy().T[unit][:, None] * top.numpy()[unit][:, :, None]
    side = np.sign((folds.normals * rows).sum(1))[:, None, None]
    assert np.allclose(folds.above - folds.below, side * jump, atol=1e-8)
    assert np.array_equal(np.bincount(folds.knot_line) >= 2, np.ones(40, bool))


def test_a_gradient_is_measured_where_the_function_is_linear_and_nowhere_else():
    oracle = Oracle(lambda x: x.abs().sum(1, keepdim=True), 2, 1)
    gradient, step = gradients(oracle, np.array([[1.0, -1.0], [0.0, 1.0]]), np.array([0.5, 0.5]))
    assert np.allclose(gradient[0], [[1.0, -1.0]])
    assert (step > 0).tolist() == [True, False]


def test_joined_lines_are_numbered_on():
    oracle = Oracle(lambda x: x.relu(), 1, 1)
    one = on_lines(oracle, -np.ones((2, 1)), 2 * np.ones((2, 1)))
    assert join(one, one).knot_line.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert len(join(one, one)) == 4


def test_a_larger_sample_begins_with_the_smaller_and_goes_on():
    low, high = -np.ones(2), np.array([1.0, 3.0])
    many = sample(low, high, 12, 5, "x")
    assert (many[:4] == sample(low, high, 4, 5, "x")).all()
    assert (many[4:] == sample(low, high, 8, 5, "x", start=4)).all()
    assert (many >= low).all()
    assert (many <= high).all()
