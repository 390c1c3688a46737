"""Committee machines: the start, and statistics of gaps made by hand."""

import numpy as np
import pytest
import torch

from tutelage.specialisation.studies import overparameterised_committee, saad_solla
from tutelage.specialisation.studies._committees import OnlineCommittee, late, pairs_in_common, rms_gaps


def test_students_start_with_the_overlap_asked_for():
    experiment = OnlineCommittee(activation="erf", teachers=2, students=4, dimension=4000, rate=1.0, last=1.0, seeds=3)
    teacher, students = experiment._start()
    gram = teacher.weights[0][0].T @ teacher.weights[0][0]
    torch.testing.assert_close(gram, torch.eye(2, dtype=torch.float64))
    overlap = students.weights[0].mT @ teacher.weights[0]
    expected = 0.2 * torch.eye(2, dtype=torch.float64).repeat(2, 1)
    assert (overlap - expected).abs().max() < 5 * 0.5 / 4000**0.5
    assert (students.weights[0].square().sum(1) - 0.29).abs().max() < 0.05
    assert students.weights[1].unique().tolist() == [1.0]


def test_gaps_and_common_shares_of_made_up_courses():
    limit = np.ones((4, 10))
    assert np.allclose(rms_gaps(limit + 0.1, limit), 0.1)
    assert np.allclose(pairs_in_common(np.ones((4, 10))), 1)
    noise = np.random.default_rng(0).standard_normal((400, 50))
    assert abs(pairs_in_common(noise).mean()) < 0.05
    assert np.allclose(late(np.arange(20.0)[None]), 17)


@pytest.mark.parametrize(("times", "bias"), [(200, 0.5), (1, 0.61)])
def test_a_quarter_in_common_is_a_bias_of_half_the_gap_or_little_more(times, bias):
    noise = np.random.default_rng(0).standard_normal((40_000, times))
    gap = bias + (1 - bias**2) ** 0.5 * noise  # with root mean square 1
    assert abs(pairs_in_common(gap).mean() - 0.25) < 0.02


def course(**changes):
    errors = np.linspace(1, 0.1, 21)[None].repeat(4, 0)
    base = {"activation": "erf", "teachers": 2, "students": 2, "dimension": 100, "both_layers": False, "rate": 1.0}
    base |= {
        "label_noise": 0.0,
        "simulated": errors,
        "limit": errors,
        "cosines": np.ones((4, 2, 2)),
        "times": np.arange(21.0),
    }
    return base | changes


def test_the_exponent_between_dimensions_is_that_of_the_gap():
    small, large = course(), course(dimension=400)
    small["simulated"], large["simulated"] = small["limit"] + 0.2, large["limit"] + 0.1
    assert np.allclose(saad_solla.shrinkage([small, large])["erf"], -0.5)


def test_growth_compares_neighbouring_numbers_of_students():
    few, many = course(), course(students=4)
    many["simulated"] = 10 * few["simulated"]
    assert np.allclose(overparameterised_committee.growth([many, few], both=False)["K = 4 against 2"], 1)
    assert overparameterised_committee.growth([many, few], both=True) == {}
