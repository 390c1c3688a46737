"""Lemmas 9 to 11, and teachers too close for what was asked."""

from tutelage.local.certificates.teacher_matrix import teacher_matrix
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, plane_teachers, separated_teachers


def test_holds():
    teachers = separated_teachers(4, 4, range(4))
    found = teacher_matrix(LocalSetting(teachers, local_students(teachers, 9, range(4))))
    assert {c.verdicts for c in found} == {("holds",) * 4}


def test_close_teachers_and_a_constant_too_large():
    teachers = plane_teachers([0, 3])
    setting = LocalSetting(teachers, teachers)
    assert teacher_matrix(setting, separation=0.1)[0].verdict == "not applicable"
    assert teacher_matrix(setting, constant=10.0)[0].verdicts == ("holds", "fails", "holds", "holds")
