"""Distances of students from their teachers' boundaries, and the size of their gradients: for studies of theorems."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage.lab import Context, Experiment, Result, Shared, TeacherStudent, TrainedStudents, build
from tutelage.lab.experiment import Arrays
from tutelage.networks import Network
from tutelage.specialisation.certificates.hyperplanes import distances
from tutelage.specialisation.certificates.scene import scenes


class BoundaryDistances(Experiment, kind="boundary-distances", numerics=1):
    """Distances of teacher boundaries from the nearest student's, and gradients, at every recorded step but the first.

    The weights of the students must be recorded at these steps.
    """

    students: TeacherStudent

    @property
    def members(self) -> int:
        return self.students.members

    def run(self, context: Context) -> Arrays:
        trained: TrainedStudents = context.result(self.students)
        steps = [step for step in trained.report.steps if step > 0]
        teacher, points, course = trained.teacher(), build(self.students)[2].train, []
        for done, at in enumerate(steps, start=1):
            course.append(nearness(at, teacher, trained.weights(at), points))
            context.progress(done / len(steps))
        return {
            "recorded_steps": Shared(np.array(steps)),
            "distance": np.stack([at.distance for at in course], axis=1),  # [S, T, m]
            "gradient": np.stack([at.gradient for at in course], axis=1),  # [S, T]
        }


@dataclass(frozen=True)
class Nearness:
    """Students at one recorded step: distance [S, m] of every teacher boundary from the nearest student's, as in
    Definition 3 of Tian 2020 (the larger of sine and offset); gradient [S]: the largest |g_1| on the training samples.
    """

    step: int
    distance: np.ndarray
    gradient: np.ndarray


def nearness(step: int, teacher: Network, students: Network, points: Tensor) -> Nearness:
    """Distances and gradients of students at a step; points [S, N, d]: their training samples."""
    parts = list(scenes(teacher, students, points))
    near = [distances(s).worst[:, : s.m, s.m :].amin(2) for s in parts]
    largest = [s.gradients[0].abs().flatten(1).amax(1) for s in parts]
    return Nearness(step, torch.cat(near).numpy(), torch.cat(largest).numpy())


def nearness_course(result: Result[BoundaryDistances]) -> list[Nearness]:
    """The recorded steps of stored distances, in order."""
    distance, gradient = (np.ascontiguousarray(result[name].swapaxes(0, 1)) for name in ("distance", "gradient"))
    return [Nearness(*at) for at in zip(result["recorded_steps"].tolist(), distance, gradient, strict=True)]


def spread(steps: int, count: int, first: int = 10) -> tuple[int, ...]:
    """So many steps from the first to the last, in equal ratios.

    >>> spread(1000, 3)
    (10, 100, 1000)
    """
    return tuple(sorted({round(s) for s in np.geomspace(min(first, steps), steps, count)}))
