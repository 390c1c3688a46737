"""Indices of learners, ties, and the correlation over learners against numpy's."""

import numpy as np
import pytest

from tutelage.distillation import Distillation, HardTarget, Weakened
from tutelage.distillation.studies.strong_monotonicity import (
    DISTILLATION,
    GROUPS,
    LEARNERS,
    MARGIN,
    READINGS,
    STEPPED,
    WEAKENED,
    Learnt,
    correlation,
    draw,
    learnt,
    lowest,
)


@pytest.fixture(scope="module")
def made_up():
    draw = np.random.default_rng(0)
    return {
        name: Learnt(
            draw.uniform(0, 1, 60) + place,
            {r: draw.integers(0, 2, 60).astype(float) for r in READINGS},
            {r: np.zeros(60) for r in READINGS},
        )
        for place, name in enumerate(LEARNERS)
    }


def test_distillation_is_helped_and_a_margin_may_stay_where_it_is():
    found = learnt(Distillation(), range(30))
    assert (found.worse["redrawn"] == 0).all()
    assert found.better["redrawn"].mean() > 0.9
    hard = learnt(HardTarget(None), range(30))
    assert (hard.better["redrawn"] + hard.worse["redrawn"]).mean() < 0.8
    assert hard.better["redrawn"] is not None
    assert np.array_equal(hard.better["redrawn"], hard.better["reused"])


def test_readings_differ_for_learners_that_draw():
    found = learnt(Weakened(1.0), range(60))
    assert not np.array_equal(found.better["redrawn"], found.better["reused"])


def test_the_names_of_learners_say_their_delta():
    assert WEAKENED == ("delta = 1/16", "delta = 1/8", "delta = 1/4", "delta = 1/2", "delta = 1")
    assert [LEARNERS[name].delta for name in WEAKENED] == [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1]


def test_correlations_are_numpys_and_leave_the_other_hard_learner_out(made_up):
    found = correlation(made_up, MARGIN, "reused")
    names = [name for name in made_up if name != STEPPED]
    risk, index = ([v[name] for name in names] for v in (
        {n: one.risk[:3].mean() for n, one in made_up.items()},
        {n: one.better["reused"][:3].mean() for n, one in made_up.items()},
    ))  # fmt: skip
    assert found.shape == (GROUPS,)
    assert found[0] == pytest.approx(np.corrcoef(risk, index)[0, 1])


def test_the_figure_and_the_claims_have_every_learner(made_up):
    assert len(draw(made_up).axes) == 2
    assert set(lowest.values(made_up)) == set(LEARNERS) - {DISTILLATION}
