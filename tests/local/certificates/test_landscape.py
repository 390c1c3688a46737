"""Theorem 2: perfect students, a neuron off the lines, and zero students, which are named."""

import torch

from tutelage.certificates import certify
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, opposite_pair, separated_teachers, split_students


def test_perfect_students_and_one_turned_away():
    teachers = separated_teachers(2, 3, [0])
    students = split_students(teachers, [[0.4, 0.6], [1.0]])
    assert certify("zero-loss", LocalSetting(teachers, students))[0].verdict == "holds"
    students[0, 0] += torch.tensor([0.0, 0.01, 0.0])
    [turned] = certify("zero-loss", LocalSetting(teachers, students))
    assert turned.verdict == "not applicable"
    assert turned.parts[0].conclusion.holds is False


def test_zero_students_are_named():
    teachers = separated_teachers(2, 3, [0])
    students = torch.cat([split_students(teachers, [[1.0], [1.0]]), torch.zeros(1, 2, 3, dtype=torch.float64)], 1)
    [found] = certify("zero-loss", LocalSetting(teachers, students))
    assert found.verdict == "holds"
    assert "2 students are zero" in found.parts[0].conclusion.witness


def test_local_students_hold_and_far_ones_are_not_spoken_of():
    teachers = separated_teachers(3, 4, range(3))
    near = certify("lojasiewicz", LocalSetting(teachers, local_students(teachers, 8, range(3))))
    assert [c.verdict for c in near] == ["holds"] * 3
    far = certify("lojasiewicz", LocalSetting(teachers, 3 * local_students(teachers, 8, range(3))))
    assert [c.verdict for c in far] == ["not applicable"] * 3
    assert far[0].unmet == ("loss",)


def test_a_constant_that_is_too_large_is_refuted():
    """The gradient is zero with one student for two teachers on their bisector, so a large region is no local one."""
    teachers = torch.eye(2, dtype=torch.float64)
    found = certify("lojasiewicz", LocalSetting(teachers, 0.9 * teachers), constant=1e4)
    assert [c.verdict for c in found] == ["fails"]


def test_the_squared_inequality_needs_one_student_a_teacher():
    teachers = separated_teachers(3, 4, range(4))
    assert {
        c.verdict for c in certify("polyak", LocalSetting(teachers, local_students(teachers, 3, range(4), spread=0.05)))
    } == {"holds"}
    [pair] = certify("polyak", opposite_pair(0.01))
    assert pair.verdict == "not applicable"
    assert pair.unmet == ("most students of a teacher",)
    assert pair.parts[0].conclusion.holds is False  # and there it is false indeed


def test_local_students_hold_in_every_part():
    teachers = separated_teachers(3, 4, range(5))
    for found in certify("descent-direction", LocalSetting(teachers, local_students(teachers, 7, range(5)))):
        assert found.verdicts == ("holds",) * 4


def test_a_teacher_without_students_leaves_it_unsaid():
    [found] = certify("descent-direction", LocalSetting(torch.eye(2), torch.tensor([[1.0, 0.0], [0.5, 0.1]])))
    assert found.verdict == "not applicable"
    assert found.parts[0].conclusion.holds is None
    assert "share of a teacher's mass within delta_max" in found.unmet


def test_far_students_are_judged_by_the_parts_without_a_threshold():
    teachers = separated_teachers(2, 3, [0])
    [found] = certify("descent-direction", LocalSetting(teachers, 2 * local_students(teachers, 6, [0], spread=1.0)))
    assert dict(zip((p.about for p in found.parts), found.verdicts, strict=True)) == {
        "Lemma 7": "not applicable",
        "Lemma C.1": "holds",
        "length of D": "holds",
        "Theorem 3": "holds",
    }
