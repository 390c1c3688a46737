"""Statistics of experiments on reports made by hand."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tutelage.lab import TrainedStudents
from tutelage.measures import Report
from tutelage.studies.statistics import above_chance, mean_where, rank_correlations, recovered_share, recovery_steps


def result_of(**values):
    steps = tuple(range(0, 10 * len(next(iter(values.values()))), 10))
    return TrainedStudents(None, Report(steps, {name: np.asarray(v, float) for name, v in values.items()}), Path())


def test_rank_correlations_are_spearmans():
    draw = np.random.default_rng(0)
    x, y = draw.integers(0, 5, (6, 12)).astype(float), draw.normal(size=(6, 12))
    measured = rank_correlations(x, y)
    for s in range(6):
        assert measured[s] == pytest.approx(stats.spearmanr(x[s], y[s]).statistic)


def test_rank_correlations_of_constants_and_gaps_are_undefined():
    x = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, np.nan], [1.0, 2.0, 3.0]])
    y = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, np.inf, np.inf]])
    assert np.isnan(rank_correlations(x, y)).tolist() == [True, True, False]


def test_recovery_is_the_first_step_above_the_threshold():
    best = [[[0.1, 0.96], [0.2, 0.2]], [[0.97, 0.9], [0.3, 0.3]], [[0.9, 0.99], [0.99, 0.4]]]  # [T, S, m]
    steps = recovery_steps(result_of(best_correlation=best))
    assert steps.tolist() == [[10.0, 0.0], [20.0, np.inf]]


def test_recovered_share_counts_units_and_leaves_out_diverged_members():
    best = [[[0.96, 0.2, 0.99, 0.95], [np.nan] * 4]]
    share = recovered_share(result_of(best_correlation=best))
    assert share[0] == 0.5
    assert np.isnan(share[1])


def test_mean_where_nothing_is_chosen_is_undefined():
    values, chosen = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]), np.array([[True, False, True], [False] * 3])
    measured = mean_where(values, chosen)
    assert measured[0] == 2.0
    assert np.isnan(measured[1])


def test_chance_counts_as_0_and_a_full_match_as_1():
    """Wider untrained students resemble a teacher more by chance: equal progress from there is equal."""
    values, chance = np.array([0.2, 0.5, 1.0, 0.6]), np.array([0.2, 0.0, 0.7, 0.2])
    assert np.allclose(above_chance(values, chance), [0.0, 0.5, 1.0, 0.5])
