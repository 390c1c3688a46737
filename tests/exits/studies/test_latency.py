"""Times of exits: shapes, what the claims read; no time itself is judged."""

import numpy as np

from tutelage.exits.studies.latency import (
    THESIS_CPU,
    Latencies,
    draw,
    exits_latency,
    later_costs_alone,
    later_costs_together,
)
from tutelage.lab import Results, Store, execute


def test_claims_read_the_times():
    budget, anytime = np.array([[1.0, 2, 3], [1.0, 3, 2]]), np.array([[1.0, 3, 6], [2.0, 3, 8]])
    found = Latencies("cpu", {"small": (budget, anytime)})
    assert np.allclose(later_costs_alone.values(found)["small"], [1, 0.5])
    assert np.allclose(later_costs_together.values(found)["small"], [1, 1])


def test_every_exit_of_a_network_is_timed_and_drawn(tmp_path):
    plan = exits_latency.plan("smoke")
    found = plan.view(Results(execute(plan.experiments, Store(tmp_path), device="cpu")))
    assert found.device == "cpu"
    (experiment,) = plan.experiments
    assert found.times["small"][0].shape == (experiment.repeats, 3)
    assert "another machine" in draw(found).axes[-1].get_title()
    assert {len(seconds) for seconds in THESIS_CPU.values()} == {11}
