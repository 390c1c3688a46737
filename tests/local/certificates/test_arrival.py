"""Theorems 4 to 6 from the start to the end: arrived, not yet, never, and not spoken of."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.local.certificates.arrival import arrival
from tutelage.local.descent import descend, descend_on_samples
from tutelage.local.initialise import random_start
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers

SEEDS = range(3)


def test_a_random_start_arrives_and_levels_say_the_very_step():
    teachers = separated_teachers(3, 2, SEEDS)
    run = descend(LocalSetting(teachers, random_start(teachers, 40, SEEDS)), range(0, 2001, 50), levels=[1e-4])
    assert {c.verdict for c in arrival(run, 1e-4)} == {"holds"}
    exact, recorded = (arrival(r, 1e-4)[0].parts[0].conclusion.value for r in (run, descend(run.start, run.steps)))
    assert exact <= recorded < exact + 50
    assert exact == run.reached[0, 0]


def test_fresh_samples_arrive():
    teachers = separated_teachers(3, 4, SEEDS)
    start = LocalSetting(teachers, local_students(teachers, 9, SEEDS))
    run = descend_on_samples(start, range(0, 401, 20), 20, SEEDS)
    assert {c.verdict for c in arrival(run, 1e-3)} == {"holds"}


def test_a_short_run_decides_nothing_and_a_large_loss_is_not_spoken_of():
    teachers = separated_teachers(3, 4, SEEDS)
    students = local_students(teachers, 9, SEEDS)
    assert {c.verdict for c in arrival(descend(LocalSetting(teachers, students), [0, 3]), 1e-6)} == {"not decided"}
    far = arrival(descend(LocalSetting(teachers, 1.5 * students), [0, 3]), 1e-6)
    assert {c.unmet for c in far} == {("loss",)}
    with pytest.raises(TutelageError, match="above 0"):
        arrival(descend(LocalSetting(teachers, students), [0]), 0.0)


def test_a_zero_student_never_arrives_though_the_loss_is_small():
    """The empirical threshold is no proof: a short teacher without a student is missed for good."""
    teachers = torch.tensor([[1.0, 0.0], [0.0, 0.3]], dtype=torch.float64)
    students = torch.tensor([[1.0, 0.1], [0.0, 0.0]], dtype=torch.float64)
    run = descend(LocalSetting(teachers, students), [0, 60_000], keep=False)
    [found] = arrival(run, 5e-3)
    assert found.verdict == "fails"
