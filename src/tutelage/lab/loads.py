"""Parts and loads of experiments: what is stored at once, and what is put on a device at once.

An experiment with very many seeds is split into experiments by :func:`split`, from its settings alone. When they are
computed, experiments too large for a device are cut further into pieces, and on a GPU pieces of one shape are joined. A
member's numbers depend on its own seed and settings alone, up to rounding: the stacked engine's last bits may differ
with the members that are trained side by side (:class:`tutelage.training.stacked.Stacked`), whose number is in the log
of an experiment.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from tutelage.lab.experiment import Experiment
from tutelage.lab.store import Store
from tutelage.lab.teacher_student import TeacherStudent
from tutelage.settings import of_members, without_members

STREAMS = 3
"""Loads that are at work on a GPU at the same time."""

_SHARE = 0.6  # of the free memory of a GPU that the data of the loads at work may take together
_CPU_BYTES = 2 << 30

EXPERIMENT_WORK = 6e12
"""Multiplications of the largest part that :func:`split` makes: about a minute of one core (see docs/speed.md)."""

EXPERIMENT_MEMBERS = 10_000
"""Members of the largest part that :func:`split` makes, so that tables of short trainings stay of a size to handle."""


def capacity(device: torch.device) -> int:
    """Bytes of data a load may hold on a device."""
    if device.type == "cuda":
        return int(_SHARE * torch.cuda.mem_get_info(device)[0] / STREAMS)
    return _CPU_BYTES


def work(experiment: TeacherStudent) -> float:
    """Number of multiplications of an experiment, to weigh experiments against each other.

    Parameters
    ----------
    experiment
        The settings.

    Returns
    -------
    float
        Multiplications of all members together.
    """
    widths = experiment.student.widths(experiment.teacher.widths())
    samples = experiment.inputs.train if experiment.training.batch == "all" else experiment.training.batch
    per_sample = 3.0 * sum(a * b for a, b in pairwise(widths))
    return len(experiment.seeds) * experiment.steps * samples * per_sample


def split(experiment: TeacherStudent) -> list[TeacherStudent]:
    """Split an experiment with many members into experiments of about a minute of work each.

    The parts follow from the experiment alone, so every run of it, anywhere, computes and stores the same ones.

    Parameters
    ----------
    experiment
        Any number of members.

    Returns
    -------
    list of TeacherStudent
        The experiment itself, or experiments with some of its members each.

    Examples
    --------
    >>> import tutelage as tt
    >>> experiment = tt.TeacherStudent(
    ...     teacher={"kind": "levels", "inputs": 50, "hidden": 20, "outputs": 10},
    ...     student={"kind": "small-normal", "width_factor": 10},
    ...     inputs={"kind": "gaussian", "train": 1000, "evaluate": 100},
    ...     training={"steps": 100_000}, seeds=1000,
    ... )
    >>> parts = split(experiment)
    >>> len(parts) > 1, sum(len(part.seeds) for part in parts)
    (True, 1000)
    """
    members = len(experiment.seeds)
    most = max(1, min(EXPERIMENT_MEMBERS, int(EXPERIMENT_WORK * members / work(experiment))))
    if (
        members <= most or experiment.inputs.shared or experiment.teacher.shared
    ):  # what is shared is that of the first seed, which other experiments would lack
        return [experiment]
    parts = math.ceil(members / most)
    ends = [members * part // parts for part in range(parts + 1)]
    return [some(experiment, range(*bounds)) for bounds in pairwise(ends)]


def parts_of(experiment: Experiment, store: Store) -> list[Any]:
    """The experiments that one is computed and stored as: its parts, unless it is stored whole, as studies store it."""
    if not isinstance(experiment, TeacherStudent) or experiment in store:
        return [experiment]
    return split(experiment)


@dataclass(frozen=True)
class Piece:
    """Some members of an experiment, in order: ``experiment`` has those alone, ``whole`` has all."""

    whole: TeacherStudent
    experiment: TeacherStudent

    @property
    def bytes(self) -> int:
        """Bytes of the points, labels and teacher activations, in training and in evaluation."""
        d, *hidden, c = self.experiment.teacher.widths()
        size = torch.finfo(getattr(torch, self.experiment.precision)).bits // 8
        train = self.experiment.inputs.train * (d + c)
        evaluate = self.experiment.inputs.evaluate * (d + c + 2 * sum(hidden))
        return len(self.experiment.seeds) * size * (2 * train + 2 * evaluate)  # twice, since pieces are joined

    @property
    def shape(self) -> tuple:
        """What pieces must share to be trained in one stack: students, training but for the rates, recorded steps."""
        student = self.experiment.student
        training = without_members(self.experiment.training)
        return (
            student.widths(self.experiment.teacher.widths()),
            (student.activation, student.slope, student.bias),
            self.experiment.inputs.train,
            training,
            (self.experiment.inputs, _architecture(self.experiment)) if training.generated else None,
            self.experiment.record.steps(self.experiment.steps),
            self.experiment.precision,
            second_teacher(self.experiment),
        )


def _architecture(experiment: TeacherStudent) -> tuple:
    """What teachers must share to label fresh points side by side."""
    teacher = experiment.teacher
    kind = getattr(teacher, "activation", ""), getattr(teacher, "slope", 0.0), getattr(teacher, "bias", None) is None
    return teacher.kind, teacher.widths(), kind, experiment.seeds[0] if experiment.inputs.shared else None


def second_teacher(experiment: TeacherStudent) -> tuple | None:
    """When a second teacher takes over and what it must share with others to be trained on side by side, if any."""
    later = experiment.later
    if later is None:
        return None
    kind = getattr(later.teacher, "activation", ""), getattr(later.teacher, "slope", 0.0)
    return later.step, later.teacher.kind, kind, getattr(later.teacher, "bias", None) is None


def loads(experiments: Sequence[TeacherStudent], device: torch.device) -> list[list[Piece]]:
    """Experiments as loads: each a list of pieces that are trained together and fit on the device.

    On a GPU like-shaped pieces are joined, since a few dozen students leave most of it idle. On a CPU a load is one
    piece, since students are worked through core by core anyway and results land sooner.
    """
    room = capacity(device)
    pieces = [piece for experiment in experiments for piece in cut(experiment, room)]
    return join(pieces, room) if device.type == "cuda" else [[piece] for piece in pieces]


def cut(experiment: TeacherStudent, room: int) -> list[Piece]:
    """An experiment as pieces with fewer members, each small enough; the members of all pieces are those of the
    experiment.
    """
    members = len(experiment.seeds)
    # what is shared is that of the first seed; one set of points takes no more room for many members
    if experiment.inputs.shared or experiment.teacher.shared:
        return [Piece(experiment, experiment)]
    most = max(1, room * members // Piece(experiment, experiment).bytes)
    starts = range(0, members, most)
    return [Piece(experiment, some(experiment, range(i, min(i + most, members)))) for i in starts]


def join(pieces: Sequence[Piece], room: int) -> list[list[Piece]]:
    """Like-shaped pieces together, as many as there is room for, pieces of one experiment in their order."""
    alike: dict[tuple, list[Piece]] = {}
    for piece in pieces:
        alike.setdefault(piece.shape, []).append(piece)
    joined: list[list[Piece]] = []
    for group in alike.values():
        used = room
        for piece in group:
            if used + piece.bytes > room:
                joined.append([])
                used = 0
            joined[-1].append(piece)
            used += piece.bytes
    return joined


def some(experiment: TeacherStudent, members: Sequence[int]) -> TeacherStudent:
    """The experiment of some of its members, with their own values of the settings that are given per member."""
    seeds = tuple(experiment.seeds[i] for i in members)
    return of_members(experiment, members).model_copy(update={"seeds": seeds})
