"""What a spec is built into depends on the spec alone, also when inputs are kept for the next pack."""

import torch

from tutelage.lab import Spec, build


def test_inputs_are_kept_between_packs_of_the_same_seeds(values):
    one, two = Spec(**values()), Spec(**values(teacher={"hidden": 5}))
    assert build(one)[2] is build(two)[2]


def test_inputs_that_look_at_the_teacher_are_not_kept(values):
    settings = [
        values(inputs={"kind": "teacher-aware"}, teacher={"polarity": p, "hidden": h}) for p, h in ((0, 3), (0, 4))
    ]
    points = [build(Spec(**s))[2].train for s in settings]
    assert not torch.equal(*points)


def test_precision_is_the_specs(values):
    for precision in ("float32", "float64"):
        teacher, students, inputs = build(Spec(**values(precision=precision)))
        assert {teacher.dtype, students.dtype, inputs.train.dtype} == {getattr(torch, precision)}
