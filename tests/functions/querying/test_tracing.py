"""Folds followed across known folds tell all coefficients of their units with few questions."""

import numpy as np
import pytest

from tutelage.functions.querying.known import Known
from tutelage.functions.querying.lines import look_along, sample
from tutelage.functions.querying.normals import with_normals
from tutelage.functions.querying.oracle import Oracle, QueryDraws
from tutelage.functions.querying.tracing import kinks, trace


@pytest.fixture
def scene():
    draw = np.random.default_rng(1)
    w, b = draw.standard_normal((5, 6)), 0.3 * draw.standard_normal(6)
    readers, shifts, top = draw.standard_normal((6, 3)), 0.3 * draw.standard_normal(3), draw.standard_normal((3, 1))

    def second(x):
        return np.maximum(x @ w + b, 0) @ readers + shifts

    oracle = Oracle(lambda x: np.maximum(second(x.numpy()), 0) @ top, 5, 1)
    low, high = -3 * np.ones(5), 3 * np.ones(5)
    start = sample(low, high, 40, 0, "a")
    lines = look_along(oracle, start, sample(low, high, 40, 0, "b") - start)
    own = np.abs(second(lines.points)).min(1) < 1e-10
    return oracle, (w, b), readers, shifts, second, lines, np.flatnonzero(lines.bend & own), low, high


@pytest.mark.parametrize("signed", [True, False])
def test_coefficients_are_those_of_the_unit(scene, signed):
    oracle, (w, b), readers, shifts, second, lines, knots, low, high = scene
    known = Known(((w, b),)) if signed else Known((), (w, b))
    folds = with_normals(oracle, known, lines, knots[:12])
    before = oracle.queries
    traced = trace(oracle, known, folds, low, high, QueryDraws(0))
    unit = np.abs(second(folds.points)).argmin(1)
    if signed:
        truth = np.concatenate([readers, shifts[None]]).T
    else:
        truth = np.concatenate([readers / 2, w @ readers / 2, (shifts + b @ readers / 2)[None]]).T
    full = (traced.rank == truth.shape[1]) & traced.sound
    assert full.sum() >= 6
    for theta, k in zip(traced.theta[full], unit[full], strict=True):
        cosine = theta @ truth[k] / np.linalg.norm(theta) / np.linalg.norm(truth[k])
        assert abs(cosine) == pytest.approx(1, abs=1e-12)
    assert oracle.queries - before < 1_500 * len(folds)


def test_what_is_determined_of_other_folds_is_right_too(scene):
    oracle, (w, b), readers, shifts, second, lines, knots, low, high = scene
    known = Known(((w, b),))
    folds = with_normals(oracle, known, lines, knots[:12])
    traced = trace(oracle, known, folds, low, high, QueryDraws(3))
    truth = np.concatenate([readers, shifts[None]]).T[np.abs(second(folds.points)).argmin(1)]
    for theta, basis, unit in zip(traced.theta, traced.basis, truth, strict=True):
        one, two = basis @ theta, basis @ unit
        assert abs(one @ two) == pytest.approx(np.linalg.norm(one) * np.linalg.norm(two), rel=1e-9)


def test_bends_are_told_from_straight_places_and_located():
    oracle = Oracle(lambda x: x.relu(), 1, 1)
    points = np.array([[1e-4], [0.3], [-0.2]])
    yes, offset = kinks(oracle, points, np.ones((3, 1)), np.full(3, 0.1))
    assert yes.tolist() == [True, False, False]
    assert offset[0] == pytest.approx(-1e-4, abs=1e-12)
