"""Theorem 3 and the stronger inequality: where they hold, fail and do not apply."""

import torch

from tutelage.local.certificates.lojasiewicz import lojasiewicz, polyak
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, opposite_pair, separated_teachers


def test_local_students_hold_and_far_ones_are_not_spoken_of():
    teachers = separated_teachers(3, 4, range(3))
    near = lojasiewicz(LocalSetting(teachers, local_students(teachers, 8, range(3))))
    assert [c.verdict for c in near] == ["holds"] * 3
    far = lojasiewicz(LocalSetting(teachers, 3 * local_students(teachers, 8, range(3))))
    assert [c.verdict for c in far] == ["not applicable"] * 3
    assert far[0].unmet == ("loss",)


def test_a_constant_that_is_too_large_is_refuted():
    """The gradient is zero with one student for two teachers on their bisector, so a large region is no local one."""
    teachers = torch.eye(2, dtype=torch.float64)
    found = lojasiewicz(LocalSetting(teachers, 0.9 * teachers), constant=1e4)
    assert [c.verdict for c in found] == ["fails"]


def test_the_squared_inequality_needs_one_student_a_teacher():
    teachers = separated_teachers(3, 4, range(4))
    assert {c.verdict for c in polyak(LocalSetting(teachers, local_students(teachers, 3, range(4), spread=0.05)))} == {
        "holds"
    }
    [pair] = polyak(opposite_pair(0.01))
    assert pair.verdict == "not applicable"
    assert pair.unmet == ("most students of a teacher",)
    assert pair.parts[0].conclusion.holds is False  # and there it is false indeed
