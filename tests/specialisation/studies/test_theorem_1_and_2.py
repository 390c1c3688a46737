"""Shares of certificates: of what a theorem speaks, and where it is right."""

import numpy as np

from tutelage.certificates.records import Certificate, Part, check
from tutelage.specialisation.studies.theorem_1_and_2 import net_fan_outs, shares


def certificate(*parts):
    """Parts as (condition met, conclusion met, value)."""
    made = tuple(
        Part("unit", (check("a condition", float(met), ">=", 1),), check("a conclusion", value, "<=", 1.0))
        for met, value in parts
    )
    return Certificate("name", "source", "statement", 0, (), made, {})


def test_shares_count_only_parts_that_meet_their_conditions():
    spoken, right = shares([certificate((True, 0.5), (True, 2.0), (False, 9.0)), certificate((False, 0.1))])
    assert np.allclose(spoken, [2 / 3, 0])
    assert right[0] == 0.5
    assert np.isnan(right[1])


def test_the_largest_net_fan_out_is_that_of_parts_spoken_of():
    values = net_fan_outs([certificate((True, 0.5), (False, 9.0), (True, 0.7)), certificate((False, 0.1))])
    assert values[0] == 0.7
    assert np.isnan(values[1])
