"""Ratios of lengths made by hand, and the flow of two students whose end is known."""

import numpy as np

from tutelage.lab import Context
from tutelage.specialisation.studies.symmetry_breaking import (
    CompetingStudents,
    Competition,
    change_once_aligned,
    slopes,
)

FEW = {"students": 3, "dimension": 4, "records": 50, "until": 60.0, "seeds": 6}


def made(log_ratio, cosine=1.0):
    """A competition of two students, the first of which has the given ln of the ratio at times 0 .. 19."""
    times = np.arange(20.0)
    lengths = np.stack([np.exp(log_ratio(times)), np.ones(20)], axis=1)[None]
    same = np.full((1, 20, 2), cosine)
    return Competition(0.1, 0.001, times, lengths, same, same, lengths, lengths)


def test_the_slope_of_an_exponential_is_its_rate_and_only_aligned_records_count():
    assert np.allclose(slopes(made(lambda t: 0.3 * t)), 0.3)
    assert np.isnan(slopes(made(lambda t: 0.3 * t, cosine=0.5))).all()


def test_ratios_are_followed_from_the_first_aligned_record_on():
    """Not from a time at which all students stand still."""
    assert np.allclose(change_once_aligned(made(lambda t: 0.3 * np.minimum(t, 5))), 1.5)
    assert np.allclose(change_once_aligned(made(np.zeros_like)), 0.0)
    assert np.isnan(change_once_aligned(made(lambda t: 0.3 * t, cosine=0.5))).all()
    late = made(lambda t: np.minimum(t, 5))
    late.cosines[:, :5] = 0.0
    assert np.allclose(change_once_aligned(late), 0.0)  # the change before the transition ends does not count


def test_without_a_bonus_students_share_the_teacher():
    found = CompetingStudents(bonus=0.0, start=0.001, **FEW).run(Context())
    weights = np.linspace(0.5, 1.5, 3)
    assert np.allclose((found["lengths"][:, -1] * weights).sum(1), 1.0, atol=1e-4)  # sum_k a_k w_k = w*
    assert (found["cosines"][:, -1] > 0.999).all()


def test_aligned_students_are_competing_species():
    found = CompetingStudents(bonus=0.1, start=0.1, **FEW).run(Context())
    assert np.allclose(found["straight"], found["species"], rtol=1e-5)
