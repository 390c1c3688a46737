"""The fault test in short: a few kills of a sweep, here and in processes; `tests/faults.py` is the long one."""

import runpy
from pathlib import Path

import pytest

faults = runpy.run_path(str(Path(__file__).with_name("faults.py")))


@pytest.mark.parametrize("on", ["local", "processes:2"])
def test_a_sweep_that_is_killed_loses_nothing_and_ends_with_the_same_numbers(on):
    counts = faults["run"](kills=2, on=on, seed=1)
    assert counts["driver"] + counts["worker"] == 2
    assert [counts[name] for name in ("lost", "changed", "damaged", "different")] == [0, 0, 0, 0]
    assert counts["landed"] == faults["PACKS"] * counts["rounds"]
