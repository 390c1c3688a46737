"""The deep setting is that of the seeds, and units are cut into their layers."""

import numpy as np

from tutelage.lab import build
from tutelage.specialisation.studies._deep_setting import NAMES, DeepTeacherSize, deep_experiment, layers_of

SMALL = DeepTeacherSize(seeds=2, steps=10, samples=(50,), inputs=6, hidden=(3, 4), outputs=2, evaluate=20)


def test_the_papers_teacher_and_rates():
    experiment = deep_experiment(DeepTeacherSize(seeds=1, steps=100, samples=(1000,)), "mse", 1000, 2, ("rho_mean",))
    assert experiment.teacher.widths() == (100, 50, 75, 100, 125, 50)
    assert experiment.student.widths(experiment.teacher.widths()) == (100, 100, 150, 200, 250, 50)
    assert experiment.training.learning_rate * experiment.teacher.widths()[-1] / 2 == 0.2  # of the mean over outputs
    assert len(experiment.teacher.levels) == 9
    assert list(NAMES) == ["mse", "cross-entropy"]


def test_units_are_cut_into_layers():
    class TrainedStudents:
        experiment = deep_experiment(SMALL, "mse", 50, 2, ("fan_out",))

    teacher, students, _ = build(TrainedStudents.experiment)
    assert students.widths == (6, 6, 8, 2)
    lower, upper = layers_of(TrainedStudents, np.arange(2 * 14).reshape(2, 14))
    assert lower.shape == (2, 6)
    assert upper.tolist()[0] == list(range(6, 14))
    assert teacher.depth == 3
