"""From an experiment to its teachers, students and inputs: three pure functions of it, member by member."""

import threading
from functools import lru_cache
from typing import cast

import torch

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.lab.teacher_student import TeacherStudent
from tutelage.networks import Network
from tutelage.training.inputs import Distribution, Inputs

_one_at_a_time = threading.Lock()


def build(experiment: TeacherStudent, device: torch.device | str = "cpu") -> tuple[Network, Network, Inputs]:
    """Build teachers, students and inputs of an experiment without training.

    Parameters
    ----------
    experiment
        The settings.
    device
        Where the arrays are made.

    Returns
    -------
    teacher, students, inputs
        Two networks with S members each (a teacher without units is a :class:`BlackBox`), and the points.

    Examples
    --------
    >>> import tutelage as tt
    >>> experiment = tt.TeacherStudent(
    ...     teacher={"kind": "levels", "inputs": 5, "hidden": 3, "outputs": 2},
    ...     student={"kind": "small-normal", "width_factor": 2},
    ...     inputs={"kind": "gaussian", "train": 50, "evaluate": 20},
    ...     training={"steps": 100}, seeds=4,
    ... )
    >>> teacher, students, inputs = build(experiment)
    >>> students
    Network(4 members, widths 5-6-2, relu, float32 on cpu)
    """
    dtype = getattr(torch, experiment.precision)
    with _one_at_a_time:
        built = experiment.teacher.build(experiment.seeds, experiment.inputs, dtype, device)
        teacher = cast(Network, built)  # a black box serves wherever outputs alone are needed
        students = experiment.student.build(teacher, experiment.seeds)
        inputs = _inputs(experiment, teacher)
        if inputs.train_labels is not None and isinstance(teacher, Network):
            raise TutelageError(
                f"the inputs of the kind '{experiment.inputs.kind}' hold labels, and the teacher of the kind "
                f"'{experiment.teacher.kind}' gives others: set the teacher to {{kind: none, inputs: "
                f"{teacher.inputs}, outputs: {inputs.train_labels.shape[2]}}}, or leave the labels out of the file"
            )
        if teacher.device.type == "cuda":
            torch.cuda.current_stream().synchronize()  # what is kept here may be read on another stream
    return teacher, students, inputs


def build_later(experiment: TeacherStudent, device: torch.device | str = "cpu") -> Network | None:
    """The second teachers of an experiment, None where there is none.

    Their seeds are drawn from those of the members: the same recipe gives another teacher.
    """
    if experiment.later is None:
        return None
    seeds = [int(key) & (2**63 - 1) for key in draws.keys(experiment.seeds, "later teacher")]
    with _one_at_a_time:
        dtype = getattr(torch, experiment.precision)
        return cast(Network, experiment.later.teacher.build(seeds, experiment.inputs, dtype, device))


def _inputs(experiment: TeacherStudent, teacher: Network) -> Inputs:
    kind = type(experiment.inputs)
    if (
        kind.training_points is Distribution.training_points
        and kind.evaluation_points is Distribution.evaluation_points
    ):
        return _same_inputs(experiment.inputs, experiment.seeds, teacher.inputs, teacher.dtype, str(teacher.device))
    return experiment.inputs.draw(teacher, experiment.seeds)


@lru_cache(maxsize=1)
def _same_inputs(
    distribution: Distribution, seeds: tuple[int, ...], dimension: int, dtype: torch.dtype, device: str
) -> Inputs:
    """Inputs that do not depend on the teacher, kept for the next experiment of the same seeds."""
    shape_only = Network((torch.zeros(len(seeds), dimension, 1, dtype=dtype, device=device),))
    return distribution.draw(shape_only, seeds)
