"""What an experiment is built into depends on the experiment alone, also when inputs are kept for the next
experiment.
"""

import torch

from tutelage.lab import TeacherStudent, build


def test_inputs_are_kept_between_results_of_the_same_seeds(values):
    one, two = TeacherStudent(**values()), TeacherStudent(**values(teacher={"hidden": 5}))
    assert build(one)[2] is build(two)[2]


def test_inputs_that_look_at_the_teacher_are_not_kept(values):
    settings = [
        values(inputs={"kind": "teacher-aware"}, teacher={"polarity": p, "hidden": h}) for p, h in ((0, 3), (0, 4))
    ]
    points = [build(TeacherStudent(**s))[2].train for s in settings]
    assert not torch.equal(*points)


def test_precision_is_the_experiments(values):
    for precision in ("float32", "float64"):
        teacher, students, inputs = build(TeacherStudent(**values(precision=precision)))
        assert {teacher.dtype, students.dtype, inputs.train.dtype} == {getattr(torch, precision)}
