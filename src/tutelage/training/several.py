"""Students of several architectures in one training: those of one architecture side by side in one stack."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import BlackBox, Network, concatenate
from tutelage.printing import printed
from tutelage.settings import of_members
from tutelage.training.inputs import Inputs
from tutelage.training.make_task import as_teacher
from tutelage.training.settings import Training
from tutelage.training.trajectory import Trajectory


@printed
@dataclass(frozen=True)
class Trajectories:
    """Trainings of students of several architectures, in the order in which the students were given.

    ``measure(runs)`` measures each, and :func:`tutelage.measures.table` makes one table of all.

    Attributes
    ----------
    runs
        One :class:`Trajectory` per stack of students.
    """

    runs: tuple[Trajectory, ...]

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, place: int) -> Trajectory:
        return self.runs[place]


def train_each(
    train: Callable[..., Trajectory],
    teacher: Any,
    students: Sequence[Network],
    inputs: Inputs,
    settings: Training,
    **options: Any,
) -> Trajectories:
    """Train stacks of students, each with one member per seed of the inputs, on one teacher.

    Stacks of one architecture are one stack for the engine, which sees the teachers and the inputs once for each.
    """
    stacks = list(students)
    if not stacks or not all(isinstance(stack, Network) for stack in stacks):
        got = ", ".join(type(stack).__name__ for stack in stacks) or "nothing"
        raise TutelageError(f"students must be a network or a list of networks, got a list of {got}")
    if options.get("on_record") or options.get("batches"):
        raise TutelageError("on_record and batches know one stack of students: train each architecture by itself")
    members = len(inputs.seeds)
    for stack in stacks:
        if stack.members != members:
            raise TutelageError(
                f"a stack has {stack.members} students for {members} seeds: build all with the same seeds"
            )
    runs: dict[int, Trajectory] = {}
    for places in _alike(stacks):
        count, first = len(places), stacks[places[0]]
        every = list(range(members)) * count
        one_each = as_teacher(teacher, first, inputs)
        later = {step: as_teacher(t, first, inputs)[every] for step, t in (options.get("later") or {}).items()}
        joined = concatenate([stacks[place] for place in places])
        run = train(
            one_each[every],
            joined,
            _repeated(inputs, count),
            of_members(settings, every),
            **(options | {"later": later or None}),
        )
        for turn, place in enumerate(places):
            part = slice(turn * members, (turn + 1) * members)
            runs[place] = _part(run, part, one_each, inputs, run.seconds / count)
    return Trajectories(tuple(runs[place] for place in range(len(stacks))))


def _alike(stacks: Sequence[Network]) -> list[list[int]]:
    """Places of the stacks of each architecture."""
    groups: dict[tuple, list[int]] = {}
    for place, stack in enumerate(stacks):
        kind = stack.widths, stack.activation, stack.slope, stack.biases is None, stack.dtype, stack.device
        groups.setdefault(kind, []).append(place)
    return list(groups.values())


def _repeated(inputs: Inputs, count: int) -> Inputs:
    """The inputs of all members so many times; points that are shared stay one array."""

    def again(a: Tensor | None) -> Tensor | None:
        if a is None:
            return None
        return a[:1].expand(count * len(a), -1, -1) if a.stride(0) == 0 else a.repeat(count, 1, 1)

    arrays: Any = {
        name: again(getattr(inputs, name)) for name in ("train", "evaluate", "train_labels", "evaluate_labels")
    }
    return replace(inputs, seeds=inputs.seeds * count, **arrays)


def _part(run: Trajectory, part: slice, teacher: Network | BlackBox, inputs: Inputs, seconds: float) -> Trajectory:
    """The members of one stack, with the teacher and the inputs that were given."""
    recorded = {step: network[part] for step, network in run.recorded.items()}
    stopped = None if run.stopped_at is None else run.stopped_at[part]
    return replace(
        run, recorded=recorded, teacher=teacher, inputs=inputs, diverged_at=run.diverged_at[part], stopped_at=stopped,
        seconds=seconds,
    )  # fmt: skip
