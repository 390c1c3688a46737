"""The deep setting is that of the seeds, and units are cut into their layers."""

import numpy as np

from tutelage.lab import build
from tutelage.specialisation.studies.deep_setting import NAMES, DeepTeacherSize, deep_spec, layers_of

SMALL = DeepTeacherSize(seeds=2, steps=10, samples=(50,), inputs=6, hidden=(3, 4), outputs=2, evaluate=20)


def test_the_papers_teacher_and_rates():
    spec = deep_spec(DeepTeacherSize(seeds=1, steps=100, samples=(1000,)), "mse", 1000, 2, ("rho_mean",))
    assert spec.teacher.widths() == (100, 50, 75, 100, 125, 50)
    assert spec.student.widths(spec.teacher.widths()) == (100, 100, 150, 200, 250, 50)
    assert spec.training.learning_rate * spec.teacher.widths()[-1] / 2 == 0.2  # of the mean over outputs
    assert len(spec.teacher.levels) == 9
    assert list(NAMES) == ["mse", "cross-entropy"]


def test_units_are_cut_into_layers():
    class Pack:
        spec = deep_spec(SMALL, "mse", 50, 2, ("fan_out",))

    teacher, students, _ = build(Pack.spec)
    assert students.widths == (6, 6, 8, 2)
    lower, upper = layers_of(Pack, np.arange(2 * 14).reshape(2, 14))
    assert lower.shape == (2, 6)
    assert upper.tolist()[0] == list(range(6, 14))
    assert teacher.depth == 3
