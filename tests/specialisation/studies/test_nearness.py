"""Distances from the teacher's boundaries at the recorded steps of trained students."""

import numpy as np
import torch

from tutelage.lab import Record, Store, TeacherStudent
from tutelage.lab.execute import execute
from tutelage.specialisation.studies._nearness import BoundaryDistances, nearness, nearness_course
from tutelage.training import Training
from tutelage.training.inputs import Gaussian
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels

STUDENTS = TeacherStudent(
    teacher=Levels(inputs=4, hidden=3, outputs=2),
    student=SmallNormal(width_factor=2, scale=0.1),
    inputs=Gaussian(std=1.5, train=100, evaluate=50),
    training=Training(steps=20, learning_rate=0.02),
    record=Record(at=(5,), weights="all", measures=("evaluate_loss",)),
    precision="float64",
    seeds=2,
)


def test_a_copy_of_the_teacher_is_at_distance_zero_and_has_no_gradient():
    teacher = STUDENTS.teacher.build((0, 1), STUDENTS.inputs, torch.float64)
    points = STUDENTS.inputs.draw(teacher, (0, 1)).train
    at = nearness(7, teacher, teacher, points)
    assert at.step == 7
    assert at.distance.shape == (2, 3)
    assert np.allclose(at.distance, 0, atol=1e-7)
    assert np.allclose(at.gradient, 0, atol=1e-12)


def test_stored_distances_are_those_of_the_recorded_weights(tmp_path):
    trained, result = execute([STUDENTS, BoundaryDistances(students=STUDENTS)], Store(tmp_path), device="cpu")
    course = nearness_course(result)
    assert [at.step for at in course] == [5, 20]
    points = STUDENTS.inputs.draw(trained.teacher(), (0, 1)).train
    for at in course:
        wanted = nearness(at.step, trained.teacher(), trained.weights(at.step), points)
        assert np.array_equal(at.distance, wanted.distance)
        assert np.array_equal(at.gradient, wanted.gradient)
