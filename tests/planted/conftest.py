"""A small scene: three students of planted teachers, trained once."""

import pytest
import torch

from tutelage.lab import Context
from tutelage.planted import Difficulty, PlantedStudents
from tutelage.planted.experiment import PlantedScene, _points
from tutelage.studies.training import train_in

SMALL = PlantedStudents(difficulty=Difficulty(units=4, inputs=6, steps=2_000, samples=300), seeds=3)


@pytest.fixture(scope="session")
def scene() -> PlantedScene:
    d, seeds = SMALL.difficulty, SMALL.seeds
    teacher = d.teacher().make(seeds, d.distribution(), torch.float64)
    inputs = d.distribution().draw(teacher, seeds)
    start, other = d.student().build(teacher, seeds), d.student().build(teacher, [s + 9 for s in seeds])
    trained, twins = (train_in(Context(), teacher, s, inputs, d.training()) for s in (start, other))
    return PlantedScene(SMALL, teacher, trained, start, twins, *_points(SMALL, inputs))
