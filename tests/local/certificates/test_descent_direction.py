"""Lemma 7 with its parts, and students for whom there is no direction."""

import torch

from tutelage.local.certificates.descent_direction import descent_direction
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def test_local_students_hold_in_every_part():
    teachers = separated_teachers(3, 4, range(5))
    for found in descent_direction(LocalSetting(teachers, local_students(teachers, 7, range(5)))):
        assert found.verdicts == ("holds",) * 4


def test_a_teacher_without_students_leaves_it_unsaid():
    [found] = descent_direction(LocalSetting(torch.eye(2), torch.tensor([[1.0, 0.0], [0.5, 0.1]])))
    assert found.verdict == "not applicable"
    assert found.parts[0].conclusion.holds is None
    assert "share of a teacher's mass within delta_max" in found.unmet


def test_far_students_are_judged_by_the_parts_without_a_threshold():
    teachers = separated_teachers(2, 3, [0])
    [found] = descent_direction(LocalSetting(teachers, 2 * local_students(teachers, 6, [0], spread=1.0)))
    assert dict(zip((p.about for p in found.parts), found.verdicts, strict=True)) == {
        "Lemma 7": "not applicable",
        "Lemma C.1": "holds",
        "length of D": "holds",
        "Theorem 3": "holds",
    }
