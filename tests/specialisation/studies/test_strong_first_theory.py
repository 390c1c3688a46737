"""Times of recovery made by hand, and correlations against samples."""

import numpy as np
import torch

from tutelage.population.expectations import Units
from tutelage.specialisation.studies.strong_first_theory import best_correlations, recovery_times, time_gap

TIMES = np.array([0.0, 1.0, 2.0, 4.0])


def course(*when):
    """Best correlations [T, 1, m] of units found at the given times."""
    return np.where(TIMES[:, None, None] >= np.array(when), 0.99, 0.5)


def test_times_of_recovery_and_units_never_found():
    assert recovery_times(TIMES, course(1, 4, 9)).tolist() == [[1.0, 4.0, np.inf]]


def test_the_gap_of_times_counts_units_found_by_both():
    assert np.allclose(time_gap(TIMES, course(1, 2, 9), course(2, 2, 1)), [0.5])
    assert np.isnan(time_gap(TIMES, course(9, 1), course(1, 9))).all()


def test_correlations_are_those_of_the_activations():
    g = torch.Generator().manual_seed(0)
    w, v = (torch.randn(1, n, 4, dtype=torch.float64, generator=g) for n in (3, 5))
    x = torch.randn(200_000, 4, dtype=torch.float64, generator=g)
    teacher, students = Units(w, torch.ones(1, 3, 1)), Units(v, torch.ones(1, 5, 1))
    both = np.corrcoef(torch.relu(x @ torch.cat([w, v], 1)[0].T).numpy().T)
    assert np.allclose(best_correlations(teacher, students), both[:3, 3:].max(1)[None], atol=0.01)
    assert np.allclose(best_correlations(teacher, teacher), 1)
