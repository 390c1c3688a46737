"""The studies of Figs. 2 to 4 of Zhu et al. 2021 at a small scale, and their claims on sets that would refute them."""

import dataclasses
import math

import numpy as np
import pytest

from tutelage.alignment.studies.determinants import (
    definite,
    four,
    grid,
    judged,
    never_positive,
    never_positive_at_random,
    random,
    three,
)
from tutelage.lab import Results, Store, execute
from tutelage.studies import judge
from tutelage.studies.study import STUDIES


@pytest.mark.parametrize("study", [three, four, random])
def test_a_small_run_draws_and_judges(study, tmp_path):
    plan = study.plan("smoke")
    sets = plan.view(Results(execute(plan.experiments, Store(tmp_path), device="cpu")))
    assert plan.figure(sets).axes
    assert not any(s.signs.counterexample.any() for s in sets)
    assert STUDIES[study.name] is study


def test_grids_hold_the_fixed_angles_at_their_places():
    angles = grid(16, (1.0, 6.0))
    assert (angles[:, 0] == 1).all()
    assert (angles[:, 3] == 6).all()
    assert len(np.unique(angles[:, 1])) == len(np.unique(angles[:, 2])) == 16


def test_claims_notice_positive_sets():
    """Two students on both sides of the teacher: all determinants are positive, and the claim fails."""
    side = np.linspace(0.5, 1.5, 20)
    found = [judged("two", np.stack([side, 2 * math.pi - side], 1))]
    assert judge(never_positive, found)[0].verdict == "does not pass"
    assert judge(definite, found)[0].verdict == "passes"
    assert judge(never_positive_at_random, found)[0].verdict == "does not pass"


def test_degenerate_sets_do_not_count():
    found = judged("some coincide", np.array([[1.0, 1.0, 4.0], [1.0, 3.0, 5.0], [2.0, 3.5, 5.0]]))
    assert found.z[0] == 0
    assert judge(never_positive, [found])[0].measured == 0
    assert judge(never_positive_at_random, [found])[0].n == 2
    assert dataclasses.replace(found, label="x").label == "x"
