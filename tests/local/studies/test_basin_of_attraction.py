"""Starts of every spread, and rates by the loss of the start."""

import numpy as np

from tutelage.lab import Context
from tutelage.local.studies import basin_of_attraction as study


def test_wider_starts_have_greater_losses_and_teachers_of_their_own():
    setting = study.spread_starts(3, 5)
    assert setting.members == 5 * len(study.SPREADS)
    assert setting.separation.min() >= 0.5
    assert len({tuple(t.flatten().tolist()) for t in setting.teachers}) == setting.members


def test_members_are_ordered_by_spread():
    experiment = study.SpreadDescent(students=3, starts=2, steps=5, spreads=(0.1, 2.0))
    arrays = experiment.run(Context())
    assert experiment.members == 4
    assert arrays["spread"].tolist() == [0.1, 0.1, 2.0, 2.0]
    assert (arrays["start_loss"][:2] < arrays["start_loss"][2:]).all()


def test_rates_are_counted_in_their_bands_alone():
    start = np.array([0.05, 0.2, 0.2, 5.0])
    found = study.SpreadStarts(
        3, start, np.array([0.0, 0.0, 1.0, 1.0]), np.array([2.0, 2.0, 0.5, 0.0]), np.full(4, -70.0)
    )
    seen = study.BasinResult([found], [])
    rates = study.arrive_below_1.values(seen)
    assert {k: v.tolist() for k, v in rates.items()} == {
        "m = 3, L from 0 to 0.1": [1.0],
        "m = 3, L from 0.1 to 0.3": [1.0, 0.0],
    }
    assert study.direction_works.values(seen)["m = 3, L from 0.1 to 0.3"].tolist() == [1.0, 0.0]
    assert np.allclose(study.far_above_the_promise.values(seen)["m = 3"], np.log10([0.05, 0.2]) + 70)
