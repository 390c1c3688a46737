"""The deep teacher of Tian 2020 and Tian 2019, and students that learn it.

100 inputs from N(0, 10^2), hidden layers of 50, 75, 100 and 125 units, 50 outputs of mean 0 and deviation 1, entries
from nine levels, biases at the median. SGD with batches of 64; the rate falls to a half in the middle. The seeds leave
the rates open; these train (0.008 for the sum over outputs is 0.2 for torch's mean).
"""

from dataclasses import dataclass

import numpy as np

from tutelage.lab import Record, TeacherStudent, TrainedStudents
from tutelage.training import Drops, Training
from tutelage.training.inputs import Gaussian
from tutelage.training.losses import Loss
from tutelage.training.students import UniformFanIn
from tutelage.training.teachers import Levels

RATES: dict[Loss, float] = {"mse": 0.008, "cross-entropy": 0.05}
NAMES: dict[Loss, str] = {"mse": "MSE", "cross-entropy": "cross-entropy"}
BATCH = 64


@dataclass(frozen=True)
class DeepTeacherSize:
    """What a scale means for the deep teacher."""

    seeds: int
    steps: int
    samples: tuple[int, ...]
    inputs: int = 100
    hidden: tuple[int, ...] = (50, 75, 100, 125)
    outputs: int = 50
    evaluate: int = 10_000


def deep_experiment(
    size: DeepTeacherSize,
    loss: Loss,
    samples: int,
    width_factor: float,
    measures: tuple[str, ...],
    recorded: tuple[int, ...] = (),
) -> TeacherStudent:
    """One experiment: students ``width_factor`` times as wide that learn from so many samples."""
    return TeacherStudent(
        teacher=Levels(
            inputs=size.inputs,
            hidden=size.hidden,
            outputs=size.outputs,
            levels=tuple(k / 4 for k in range(-4, 5)),
            bias="median",
            standardised=True,
        ),
        student=UniformFanIn(width_factor=width_factor),
        inputs=Gaussian(std=10.0, train=samples, evaluate=size.evaluate),
        training=Training(
            steps=size.steps,
            batch=BATCH,
            learning_rate=RATES[loss],
            schedule=Drops(at=(max(1, size.steps // 2),), factor=0.5),
            loss=loss,
        ),
        record=Record(at=recorded, measures=measures),
        seeds=size.seeds,
    )


def layers_of(result: TrainedStudents, values: np.ndarray) -> list[np.ndarray]:
    """Values of all student units [S, sum n_l], cut into hidden layers from below."""
    widths = result.experiment.student.widths(result.experiment.teacher.widths())[1:-1]
    return np.split(values, np.cumsum(widths)[:-1], axis=-1)
