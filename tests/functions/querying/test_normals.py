"""Normals of folds, by differences along the axes or along what the known layers let move."""

import numpy as np
import pytest
import torch

from tutelage.functions.querying.known import Known
from tutelage.functions.querying.lines import look_along, sample
from tutelage.functions.querying.normals import gradients, moving_axes, with_normals
from tutelage.functions.querying.oracle import Oracle


@pytest.mark.parametrize("narrow", [False, True])
def test_normals_are_those_of_the_folds(narrow):
    draw = np.random.default_rng(0)
    w, b = draw.standard_normal((6, 4)), 0.3 * draw.standard_normal(4)
    top = draw.standard_normal((4, 2))

    def f(x):
        return np.maximum(x.numpy() @ w + b, 0) @ top

    oracle = Oracle(f, 6, 2)
    start = sample(-2 * np.ones(6), 2 * np.ones(6), 20, 0, "a")
    lines = look_along(oracle, start, sample(-2 * np.ones(6), 2 * np.ones(6), 20, 0, "b") - start)
    known = Known(((np.linalg.qr(w)[0], 100 * np.ones(4)),)) if narrow else Known()
    before = oracle.queries
    folds = with_normals(oracle, known, lines, np.flatnonzero(lines.bend))
    asked = oracle.queries - before
    unit = np.abs(folds.points @ w + b).argmin(1)
    rows = (w / np.linalg.norm(w, axis=0)).T[unit]
    assert len(folds) > 15
    assert set(unit) == {0, 1, 2, 3}
    assert np.allclose(np.abs((folds.normals * rows).sum(1)), 1, atol=1e-9)
    assert asked <= 4 * lines.bend.sum() * (2 * (4 if narrow else 6) + 1)
    axes = moving_axes(known, folds.points)
    assert axes is None if not narrow else axes.shape[1] == 4


def test_a_gradient_is_measured_where_the_function_is_linear_and_nowhere_else():
    oracle = Oracle(lambda x: x.abs().sum(1, keepdim=True), 2, 1)
    gradient, step = gradients(oracle, np.array([[1.0, -1.0], [0.0, 1.0]]), np.array([0.5, 0.5]))
    assert np.allclose(gradient[0], [[1.0, -1.0]])
    assert (step > 0).tolist() == [True, False]


def test_gradients_of_the_oracle_are_taken_along_the_axes():
    oracle = Oracle(lambda x: (x[:, :1], torch.tensor([[1.0, 0.0]]).expand(len(x), 1, 2)), 2, 1, gradients=True)
    axes = np.array([[[0.6, 0.8]]])
    assert np.allclose(gradients(oracle, np.zeros((1, 2)), np.ones(1), axes)[0], 0.6)
