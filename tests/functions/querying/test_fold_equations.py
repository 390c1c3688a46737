"""The equations of fold points hold for the true coefficients and leave one solution."""

import numpy as np
import pytest

from tutelage.functions.querying.fold_equations import (
    Known,
    crossings,
    equations,
    explained,
    features,
    local,
    null_space,
)
from tutelage.functions.querying.fold_points import on_lines, sample
from tutelage.functions.querying.oracle import Oracle


@pytest.fixture
def scene():
    """A 4-5-1 reader of a first layer, whose fold alone bends: F(x), with fold points, coefficients and layers."""
    draw = np.random.default_rng(0)
    w, b = draw.standard_normal((4, 5)), 0.3 * draw.standard_normal(5)
    reader, shift = np.array([1.0, -0.8, 0.6, -1.2, 0.9]), 0.1
    signs = np.array([1.0, -1, 1, 1, -1])

    def f(x):
        return np.maximum(np.maximum((x.numpy() @ w + b), 0) @ reader + shift, 0)[:, None]

    start = sample(-2 * np.ones(4), 2 * np.ones(4), 300, 0, "a")
    folds = on_lines(Oracle(f, 4, 1), start, sample(-2 * np.ones(4), 2 * np.ones(4), 300, 0, "b") - start)
    value = np.maximum(folds.points @ w + b, 0) @ reader + shift
    return Known((), (w * signs, b * signs)), Known(((w, b),)), folds, np.abs(value) < 1e-10, signs, reader, shift


def test_the_true_coefficients_meet_the_equations_whether_signs_are_known_or_not(scene):
    unsigned, signed, folds, own, signs, reader, shift = scene
    w, b = unsigned.top
    theta = np.r_[reader / 2, (w * signs) @ reader / 2, shift + (b * signs) @ reader / 2]
    for known, truth in ((unsigned, theta), (signed, np.r_[reader, shift])):
        rows = equations(known, folds, 2.0)
        assert np.abs(rows[own] @ truth).max() < 1e-8
        basis = null_space(rows[own].reshape(-1, rows.shape[2]), 1e-7)
        assert basis.shape[1] == 1
        assert abs(basis[:, 0] @ truth) / np.linalg.norm(truth) == pytest.approx(1, abs=1e-9)
        assert (explained(known, folds, truth, 2.0, 1e-6) == own).all()
        hits, misses = crossings(known, folds, truth, 2.0, 1e-6, 1e-12)
        assert misses == 0
        assert hits == own.sum()


def test_a_wrong_unit_is_missed_along_the_lines(scene):
    _, signed, folds, _, _, reader, shift = scene
    hits, misses = crossings(signed, folds, np.r_[reader[::-1], shift], 2.0, 1e-6, 1e-12)
    assert misses > 10 * hits


def test_gradients_of_features_and_units_agree_with_differences(scene):
    unsigned, signed, *_ = scene
    x = sample(-np.ones(4), np.ones(4), 20, 3, "x")
    for known in (unsigned, signed):
        here = local(known, x)
        assert np.allclose(here.features, features(known, x))
        for axis in range(4):
            step = 1e-7 * np.eye(4)[axis]
            difference = (features(known, x + step) - features(known, x - step)) / 2e-7
            assert np.allclose(here.slopes[:, :, axis], difference, atol=1e-6)
            units = (local(known, x + step).units - local(known, x - step).units) / 2e-7
            assert np.allclose(here.unit_slopes[:, :, axis], units, atol=1e-6)
