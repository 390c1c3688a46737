"""Times of exits: shapes, what the claims read; no time itself is judged."""

import numpy as np
import pytest

from tutelage.exits.studies.latency import (
    PAPER_TIMES,
    Latencies,
    draw,
    exits_latency,
    later_costs_alone,
    later_costs_together,
)
from tutelage.lab import Results, Store, execute


def test_claims_read_the_times():
    budget, anytime = np.array([[1.0, 2, 3], [1.0, 3, 2]]), np.array([[1.0, 3, 6], [2.0, 3, 8]])
    found = Latencies({"small": "cpu"}, {"small": (budget, anytime)})
    assert np.allclose(later_costs_alone.values(found)["small"], [1, 0.5])
    assert np.allclose(later_costs_together.values(found)["small"], [1, 1])


def test_every_exit_of_a_network_is_timed_and_drawn(tmp_path):
    plan = exits_latency.plan("smoke")
    found = plan.view(Results(execute(plan.experiments, Store(tmp_path), device="cpu")))
    assert found.devices == {"small": "cpu"}
    (experiment,) = plan.experiments
    assert found.times["small"][0].shape == (experiment.repeats, 3)
    assert draw(found).axes[-1].get_title() == "small network, one image on a CPU"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize(("name", "exits"), [("CIFAR", 11), ("ImageNet", 5)], ids=["CIFAR", "ImageNet"])
def test_times_stand_beside_the_papers_on_a_device_of_the_same_kind(device, name, exits):
    times = np.ones((3, exits)) * np.arange(1, exits + 1)
    (axes,) = draw(Latencies({name: device}, {name: (times, times)})).axes
    here, printed = axes.lines[0], axes.lines[1]
    assert list(here.get_ydata()) == [1000.0 * exit for exit in range(1, exits + 1)]
    assert list(printed.get_ydata()) == [1000 * seconds for seconds in PAPER_TIMES[name, device]["budget"]]
    assert axes.get_title().endswith({"cpu": "CPU", "cuda": "GPU"}[device])
