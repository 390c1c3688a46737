"""What an experiment is built into depends on the experiment alone, also when inputs are kept for the next
experiment.
"""

import numpy as np
import pytest
import torch

from tutelage import TutelageError
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


def test_labels_of_a_file_beside_a_teacher_that_gives_others_are_an_error(values, tmp_path):
    teacher, _, inputs = build(TeacherStudent(**values()))
    points = {"x": inputs.train[0].numpy(), "y": np.zeros((inputs.train.shape[1], teacher.outputs))}
    np.savez(tmp_path / "points.npz", **points)
    given = {"kind": "file", "path": tmp_path / "points.npz", "train": 5, "evaluate": 5}
    settings = values() | {"inputs": given}
    with pytest.raises(TutelageError, match="hold labels, and the teacher of the kind 'levels' gives others"):
        build(TeacherStudent(**settings))
    np.savez(tmp_path / "points.npz", x=points["x"])
    assert build(TeacherStudent(**settings))[2].train_labels is None
