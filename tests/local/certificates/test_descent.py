"""Theorem 4 on recorded descents, and Lemma F.1 on batches."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.certificates import certify
from tutelage.local.descent import descend, descend_on_samples, greatest_rate
from tutelage.local.initialise import random_start
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def setting(scale=1.0):
    teachers = separated_teachers(3, 4, range(3))
    return LocalSetting(teachers, scale * local_students(teachers, 8, range(3)))


def test_a_stable_descent_holds():
    found = certify("descent-rate", descend(setting(), range(300)))
    assert {c.verdicts for c in found} == {("holds", "holds")}


def test_a_rate_beyond_stability_is_not_spoken_of_and_does_rise():
    start = setting()
    run = descend(start, range(200), rate=1.6 * greatest_rate(start), beyond=True)
    found = certify("descent-rate", run)
    assert {c.verdict for c in found} == {"not applicable"}
    assert any(c.parts[0].conclusion.holds is False for c in found)


def test_a_large_loss_is_not_spoken_of():
    assert {c.unmet for c in certify("descent-rate", descend(setting(1.5), [0, 10]))} == {("loss",)}


def test_batches():
    few, many = (certify("sampled-gradient", setting(), batch=n) for n in (10, 1000))
    assert {c.verdict for c in (*few, *many)} == {"holds"}
    ratio = few[0].parts[0].conclusion.value / many[0].parts[0].conclusion.value
    assert 30 < ratio < 300  # the square of the error falls like 1 / N


SEEDS = range(3)


def test_a_random_start_arrives_and_levels_say_the_very_step():
    teachers = separated_teachers(3, 2, SEEDS)
    run = descend(LocalSetting(teachers, random_start(teachers, 40, SEEDS)), range(0, 2001, 50), levels=[1e-4])
    assert {c.verdict for c in certify("arrival", run, loss=1e-4)} == {"holds"}
    exact, recorded = (
        certify("arrival", r, loss=1e-4)[0].parts[0].conclusion.value for r in (run, descend(run.start, run.steps))
    )
    assert exact <= recorded < exact + 50
    assert exact == run.reached[0, 0]


def test_fresh_samples_arrive():
    teachers = separated_teachers(3, 4, SEEDS)
    start = LocalSetting(teachers, local_students(teachers, 9, SEEDS))
    run = descend_on_samples(start, range(0, 401, 20), 20, SEEDS)
    assert {c.verdict for c in certify("arrival", run, loss=1e-3)} == {"holds"}


def test_a_short_run_decides_nothing_and_a_large_loss_is_not_spoken_of():
    teachers = separated_teachers(3, 4, SEEDS)
    students = local_students(teachers, 9, SEEDS)
    assert {c.verdict for c in certify("arrival", descend(LocalSetting(teachers, students), [0, 3]), loss=1e-6)} == {
        "not decided"
    }
    far = certify("arrival", descend(LocalSetting(teachers, 1.5 * students), [0, 3]), loss=1e-6)
    assert {c.unmet for c in far} == {("loss",)}
    with pytest.raises(TutelageError, match="above 0"):
        certify("arrival", descend(LocalSetting(teachers, students), [0]), loss=0.0)


def test_a_zero_student_never_arrives_though_the_loss_is_small():
    """The empirical threshold is no proof: a short teacher without a student is missed for good."""
    teachers = torch.tensor([[1.0, 0.0], [0.0, 0.3]], dtype=torch.float64)
    students = torch.tensor([[1.0, 0.1], [0.0, 0.0]], dtype=torch.float64)
    run = descend(LocalSetting(teachers, students), [0, 60_000], keep=False)
    [found] = certify("arrival", run, loss=5e-3)
    assert found.verdict == "fails"
