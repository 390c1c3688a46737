"""Followers and observers of teacher units, counted on made-up measures."""

from types import SimpleNamespace

import numpy as np

from tutelage.specialisation.studies import observers as study


def _result(**measures: np.ndarray) -> SimpleNamespace:
    """One recorded step of each measure."""
    report = type("Report", (), {"steps": (0,), "__getitem__": lambda self, name: measures[name][None]})()
    return SimpleNamespace(report=report)


def test_a_unit_follows_the_teacher_unit_it_is_most_like_if_it_is_like_it():
    result = _result(specialisation=np.array([[0.99, 0.97, 0.5, 0.96]]), best_teacher=np.array([[3, 3, 3, 0]]))
    count = study.followers(result)
    assert count.shape == (1, study.UNITS)
    assert count[0, 3] == 2
    assert count[0, 0] == 1
    assert count.sum() == 3


def test_the_share_of_missed_units_without_an_observer():
    best = np.array([[0.99, 0.3, 0.2], [0.99, 0.99, 0.99]])
    result = _result(best_correlation=best, observed=np.array([[0, 0, 7], [0, 0, 0]]))
    share = study._unobserved(result)
    assert share[0] == 0.5
    assert np.isnan(share[1])


def test_observing_counts_units_and_samples_observed_adds_up():
    result = _result(observers=np.array([[[0, 3, 1], [0, 0, 2]]]))
    assert np.allclose(study.observing(result), [[2 / 3, 1 / 3]])
    assert study.samples_observed(result, 0).tolist() == [[4, 2]]
