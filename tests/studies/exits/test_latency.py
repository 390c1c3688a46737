"""Times of exits: shapes, what the claims read, and the table; no time itself is judged."""

import numpy as np

from tutelage.studies.exits.latency import (
    SIZES,
    THESIS_CPU,
    Evidence,
    draw,
    ensemble_costs,
    later_costs_alone,
    later_costs_together,
    look,
    table,
)


def test_claims_read_the_times():
    budget, anytime = np.array([[1.0, 2, 3], [1.0, 3, 2]]), np.array([[1.0, 3, 6], [2.0, 3, 8]])
    found = Evidence("cpu", {"small": (budget, anytime)})
    assert np.allclose(ensemble_costs.values(found)["small"], [2, 4])
    assert np.allclose(later_costs_alone.values(found)["small"], [1, 0.5])
    assert np.allclose(later_costs_together.values(found)["small"], [1, 1])


def test_every_exit_of_a_network_is_timed_and_drawn():
    told = []
    found = look(SIZES["smoke"], told.append)
    assert told == [1.0]
    assert found.times["small"][0].shape == (SIZES["smoke"].repeats, 3)
    assert table(found).num_rows == 2 * 3 * SIZES["smoke"].repeats
    assert "another machine" in draw(found).axes[-1].get_title()
    assert {len(seconds) for seconds in THESIS_CPU.values()} == {11}
