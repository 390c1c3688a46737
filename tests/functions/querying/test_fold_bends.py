"""Bends are told from those of other folds, and a guess moves to where its own crowd."""

import numpy as np

from tutelage.functions.querying.confirming import UnitSearchSetting
from tutelage.functions.querying.fold_bends import crowded, reach_of
from tutelage.functions.querying.known import Known
from tutelage.functions.querying.lines import Lines


def test_bends_of_a_fold_are_told_from_others_however_inexact_they_are():
    """Thirty bends within 1e-3 of a fold among others that lie evenly."""
    draw = np.random.default_rng(0)
    setting = UnitSearchSetting(-np.ones(5), np.ones(5), 5.0, 1e-3)
    distances = np.r_[draw.uniform(0, 1e-3, 30), draw.uniform(0, 1, 300)]
    limit = reach_of(distances, setting)
    assert (distances[:30] < limit).mean() > 0.9
    assert limit < 4e-3
    exact = UnitSearchSetting(-np.ones(5), np.ones(5), 5.0, 1e-7)
    assert reach_of(distances, exact) == exact.near * exact.size


def test_a_fold_is_moved_to_where_its_bends_crowd_in_spite_of_others():
    draw, truth = np.random.default_rng(0), np.array([0.6, 0.0, -0.8, 0.3])
    setting = UnitSearchSetting(-4 * np.ones(3), 4 * np.ones(3), 7.0, 1e-3)
    points = draw.uniform(-4, 4, (200, 3))
    points[:80] -= (points[:80] @ truth[:3] + truth[3] + 1e-3 * draw.standard_normal(80))[:, None] * truth[:3]
    points = points[np.abs(points).max(1) < 4]
    ends = np.repeat(points, 3, axis=0)  # each bend between the ends of a line of its own
    bends = Lines(ends, np.repeat(np.arange(len(points)), 3), np.zeros((len(ends), 1)), np.full(len(ends), 1e-3))
    phi, start = np.c_[ends, np.ones(len(ends))], truth + np.array([0.01, 0.02, 0.01, 0.02])
    found = crowded(Known(), bends, phi, start, np.eye(4), setting, 0.05)
    found /= np.linalg.norm(found[:3])
    assert np.linalg.norm(start - truth) > 0.03
    assert np.linalg.norm(found - truth) < 1e-3
