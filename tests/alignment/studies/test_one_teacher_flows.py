"""Flows of one teacher are judged where they have come to rest."""

import numpy as np

from tutelage.alignment.studies.local_minima_census import KINDS, Census
from tutelage.alignment.studies.one_teacher_flows import aligned, come_to_rest, draw, rests_at_zero
from tutelage.studies import judge


def ends(kinds):
    """One start per kind of end."""
    codes = np.array([KINDS.index(kind) for kind in kinds])
    return [Census(1, 3, codes, np.zeros(len(codes)), np.ones(len(codes)), np.ones(len(codes)))]


def test_a_flow_that_rests_elsewhere_refutes_the_theorem():
    (judged,) = judge(rests_at_zero, ends(["global"] * 40 + ["local minimum"]))
    assert (judged.verdict, judged.exceptions, judged.why) == ("fails", 1, "refuted")


def test_a_flow_on_its_way_says_nothing_of_it():
    found = ends(["global"] * 40 + ["on its way"] * 10)
    (judged,) = judge(rests_at_zero, found)
    assert (judged.verdict, judged.n, judged.members) == ("holds", 40, 50)
    assert judge(come_to_rest, found)[0].measured == 0.8
    assert judge(aligned, found)[0].n == 40
    assert len(draw(found).axes) == 2
