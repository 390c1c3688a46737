"""Training of networks with exits, by Algorithm 6.1 of Phuong 2021; without teachers it is the exit-wise baseline."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.exits._batches import Samples, batches
from tutelage.exits._pupil import Pupil
from tutelage.exits.inference import exit_accuracy
from tutelage.exits.multi_exit import MultiExit
from tutelage.exits.objective import check_labels, teacher_sets
from tutelage.exits.settings import PAPER_SGD, SUPPORTED, ExitObjective
from tutelage.exits.stacked.pupils import Pupils, Seat, can_stack
from tutelage.printing import printed
from tutelage.training.settings import Training

__all__ = [
    "PAPER_SGD",
    "Augment",
    "ExitObjective",
    "ExitTask",
    "Samples",
    "Trace",
    "TrainedExits",
    "train_exits",
    "train_side_by_side",
]

Augment = Callable[[Tensor, Tensor, int], Tensor]
"""(samples [1, B, ...], key of the stream [1], number of the first sample) -> samples."""

OnEpoch = Callable[[int, MultiExit], None]
"""Called with the number of epochs done and the model in evaluation mode."""

State = dict[str, np.ndarray]
"""Weights, momenta and traces of a training that is under way."""

Keep = Callable[[int, int, Callable[[], State]], State]
"""From the number of a task, that of a part and a function that gives the state after it, to that state."""

_PARTS = 10  # of a training, at the ends of which its state can be kept
_AHEAD = 32  # batches whose samples are gathered at a time, at most
_NUMBERS = 2**27  # that they hold, at most, if they are several


@printed
@dataclass(frozen=True, eq=False)
class ExitTask:
    """One training of a network with exits.

    Parameters
    ----------
    model
        The network.
    x, y
        Samples [N, ...] (or ``Pixels``, for images too many for the device) and labels [N], some of which may be
        ``UNLABELLED``.
    settings
        Length in epochs, batch, learning rate and optimiser.
    objective
        Which exits teach which.
    seed
        Of the batches.
    held
        Samples and labels apart from these; the weights of the epoch with the best accuracy on them, averaged over
        exits, are then kept.
    """

    model: MultiExit
    x: Samples
    y: Tensor
    settings: Training
    objective: ExitObjective = field(default_factory=ExitObjective)
    seed: int = 0
    held: tuple[Samples, Tensor] | None = None

    def __post_init__(self) -> None:
        SUPPORTED.check(self.settings)

    @property
    def epochs(self) -> int:
        assert self.settings.epochs is not None  # or it would not be supported
        return self.settings.epochs


@dataclass(frozen=True, eq=False)
class Trace:
    """The teachers at every step: temperature, confidence at it ("adjusted"), and without it ("raw"): [steps] each."""

    temperature: Tensor
    adjusted: Tensor
    raw: Tensor

    def by_epoch(self, epochs: int) -> "Trace":
        """Means over the steps of every epoch: [epochs] each."""
        if epochs < 1 or len(self.raw) % epochs:
            raise TutelageError(f"{len(self.raw)} steps are not {epochs} epochs of equal length")
        return Trace(*(part.view(epochs, -1).mean(1) for part in (self.temperature, self.adjusted, self.raw)))


@printed
@dataclass(frozen=True, eq=False)
class TrainedExits:
    """A trained network with exits.

    Attributes
    ----------
    model
        The network.
    losses
        Mean loss of every epoch.
    trace
        Temperatures and confidence of the teachers, None where no exit teaches.
    epoch
        Epoch of these weights, counted from 1: the last, or the best on held-out samples.
    """

    model: MultiExit
    losses: tuple[float, ...]
    trace: Trace | None
    epoch: int


def train_exits(
    model: MultiExit,
    x: Samples,
    y: Tensor,
    settings: Training,
    *,
    objective: ExitObjective | None = None,
    augment: Augment | None = None,
    seed: int = 0,
    held: tuple[Samples, Tensor] | None = None,
    on_epoch: OnEpoch | None = None,
) -> TrainedExits:
    """Train a copy of a network with exits.

    An epoch is one pass through the labelled samples, an incomplete last batch left out. If there are unlabelled
    samples and an exit teaches, each batch has as many of them, and both kinds are weighted as in the whole data
    (Phuong 2021, eq. 6.6).

    Parameters
    ----------
    model
        The network; it is left as it is.
    x, y
        Samples [N, ...] and labels [N], some of which may be ``UNLABELLED``.
    settings
        Length in epochs, and SGD.
    objective
        Default: the last exit teaches all others at a rising temperature.
    augment
        Called with a batch, its sample numbers and the epoch.
    seed
        Decides the batches.
    held
        As in :class:`ExitTask`.
    on_epoch
        Called with the epoch and the network.

    Returns
    -------
    TrainedExits
    """

    def tell(epoch: int, courses: list[_Course]) -> None:
        if on_epoch:
            on_epoch(epoch, courses[0].pupil.model.eval())
            courses[0].pupil.model.train()

    return _together([ExitTask(model, x, y, settings, objective or ExitObjective(), seed, held)], augment, tell)[0]


def train_side_by_side(
    tasks: Sequence[ExitTask],
    *,
    augment: Augment | None = None,
    progress: Callable[[float], None] | None = None,
    keep: Keep | None = None,
) -> list[TrainedExits]:
    """Train several networks with equally many epochs: at the same time on a GPU, else one after another.

    Parameters
    ----------
    tasks
        The trainings.
    augment
        As in :func:`train_exits`.
    progress
        Called with the share done after every epoch.
    keep
        Called with the number of a task, that of a part of its training and a function that gives the state after it;
        returns what that function gives, or a state stored before. A training that was interrupted goes on from there.

    Returns
    -------
    list of TrainedExits
    """
    if not tasks:
        raise TutelageError("there is nothing to train: give at least one task")
    if len({task.epochs for task in tasks}) > 1:
        raise TutelageError("trainings side by side have equally many epochs: give one number, or train them in turn")
    together = all(task.x.is_cuda for task in tasks)
    groups = [list(tasks)] if together else [[task] for task in tasks]
    total = len(groups) * tasks[0].epochs
    done = 0

    def tell(epoch: int, courses: list[_Course]) -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done / total)

    numbers = [list(range(len(tasks)))] if together else [[number] for number in range(len(tasks))]
    return [
        one
        for group, own in zip(groups, numbers, strict=True)
        for one in _together(group, augment, tell, keep and partial(_kept, keep, own))
    ]


def _kept(keep: Keep, numbers: Sequence[int], part: int, work: Callable[[], list[State]]) -> list[State]:
    """The states of some tasks after a part: all stored ones, or those that the work gives."""
    given: list[State] = []

    def one(place: int) -> State:
        if not given:
            given.extend(work())
        return given[place]

    return [keep(number, part, partial(one, place)) for place, number in enumerate(numbers)]


def _together(
    tasks: Sequence[ExitTask],
    augment: Augment | None,
    after: Callable[[int, list["_Course"]], None],
    keep: Callable[[int, Callable[[], list[State]]], list[State]] | None = None,
) -> list[TrainedExits]:
    """after: called with the number of epochs done, and all courses; keep: as in :func:`_kept`."""
    courses = [_Course(task, augment) for task in tasks]
    _seat(courses)
    ends = [round(tasks[0].epochs * part / _PARTS) for part in range(_PARTS + 1)]
    for part, (begin, end) in enumerate(pairwise(ends)):

        def learn(begin: int = begin, end: int = end) -> list[State]:
            _advance(courses, begin, end, after)
            return [course.state() for course in courses]

        if keep is None:
            _advance(courses, begin, end, after)
        else:
            for course, state in zip(courses, keep(part, learn), strict=True):
                course.restore(state, end)
    return [course.result() for course in courses]


def _seat(courses: list["_Course"]) -> None:
    """Give each course the network it trains; networks that can be stacked and differ only in data and seed share one
    stack.
    """
    stacks: dict[tuple, list[_Course]] = {}
    for course in courses:
        task, batch = course.task, course.batches
        if not can_stack(task.model, task.x, task.settings, task.epochs * course.steps):
            course.pupil = Pupil(task.model, batch, task.settings, task.objective, course.sets)
            continue
        shapes = tuple(tuple(p.shape) for p in task.model.parameters()), tuple(task.x.shape[1:])
        sizes = batch.size, batch.extra, len(batch.labelled), len(batch.unlabelled)
        stacks.setdefault((task.settings, task.objective, course.sets, shapes, sizes), []).append(course)
    for stack in stacks.values():
        task, models = stack[0].task, [course.task.model for course in stack]
        pupils = Pupils(models, stack[0].batches, task.x.shape[1:], task.settings, task.objective, stack[0].sets)
        for member, course in enumerate(stack):
            course.pupil = Seat(pupils, member, course.task.model)


def _advance(courses: list["_Course"], begin: int, end: int, after: Callable[[int, list["_Course"]], None]) -> None:
    """Train for the epochs from begin to end."""
    steps, ahead = max(course.steps for course in courses), min(course.ahead for course in courses)
    for epoch in range(begin, end):
        for start in range(0, steps, ahead):
            for course in courses:
                course.gather(epoch, start, ahead)
            for step in range(start, min(start + ahead, steps)):
                for course in courses:
                    course.advance(step)
        for course in courses:
            course.close(epoch)
        after(epoch + 1, courses)


class _Course:
    """A task under way: its pupil, its batches, and the best weights so far."""

    def __init__(self, task: ExitTask, augment: Augment | None) -> None:
        assert task.settings.batch != "all"  # or it would not be supported
        self.task, self.augment = task, augment
        self.sets = teacher_sets(task.model.exits, task.objective.teachers)
        self.batches = batches(task.x, task.y, task.settings.batch, any(self.sets), task.seed)
        self.steps = self.batches.steps
        self.rates = list(task.settings.rates(task.epochs * self.steps, self.steps))
        self.done = 0
        self.moves = draws.keys([task.seed], "exits-augmentation", task.x.device)
        self._check()
        self.pupil: Pupil | Seat
        self.losses: list[float] = []
        self.best: tuple[float, int, dict[str, Tensor]] | None = None

    def _check(self) -> None:
        """Reject samples that are not finite or do not fit the network, and labels that are no classes of it."""
        x, model = self.task.x, self.task.model
        device, own = self.batches.order.device, next(model.parameters()).device
        if device != own:
            raise TutelageError(f"the samples are on {device} and the network on {own}: move one to the other")
        if isinstance(x, Tensor) and not x.isfinite().all():
            raise TutelageError("some samples are not finite: leave them out")
        was = model.training
        try:
            with torch.no_grad():
                outputs = model.eval()(x[:1])[0].shape[1]
        except RuntimeError as error:
            said = str(error).splitlines()[0]
            raise TutelageError(f"the network does not take samples of shape {list(x.shape[1:])} ({said})") from None
        finally:
            model.train(was)
        check_labels(self.task.y, outputs)

    @property
    def ahead(self) -> int:
        """Batches whose samples may be gathered at a time."""
        return max(1, min(_AHEAD, _NUMBERS // (self.batches.width * math.prod(self.task.x.shape[1:]))))

    def gather(self, epoch: int, start: int, ahead: int) -> None:
        """The samples of the next batches of an epoch, moved about where that was asked."""
        stop = min(start + ahead, self.steps)
        if start >= stop:
            return
        with self.pupil.at_work():
            rows = self.batches.rows(epoch, start, stop)
            x = self.task.x[rows.flatten()]
            if self.augment:
                x = self.augment(x.unsqueeze(0), self.moves, (epoch * self.steps + start) * self.batches.width)[0]
            self.pupil.prepare(x.view(*rows.shape, *x.shape[1:]), self.task.y[rows], min(ahead, self.steps))

    def advance(self, step: int) -> None:
        """One step of this epoch, if it has so many."""
        if step < self.steps:
            with self.pupil.at_work():
                self.pupil.advance(self.rates[self.done])
            self.done += 1

    def close(self, epoch: int) -> None:
        """The epoch's loss; weights that are the best on the held samples are put by."""
        seen = self.pupil.seen[epoch * self.steps : (epoch + 1) * self.steps, 0]
        with self.pupil.at_work():
            self.losses.append(float(seen.mean()))
            if self.task.held:
                accuracy = float(exit_accuracy(self.pupil.model, *self.task.held).single.mean())
                if self.best is None or accuracy > self.best[0]:
                    state = {name: value.clone() for name, value in self.pupil.model.state_dict().items()}
                    self.best = accuracy, epoch + 1, state
        if not math.isfinite(self.losses[-1]):
            raise TutelageError(
                f"training diverged in epoch {epoch + 1}: lower the learning rate {self.task.settings.rate:g}"
            )

    def state(self) -> State:
        """All that the epochs to come depend on, on the host."""
        out = {name: value.detach().cpu().numpy() for name, value in self.pupil.state().items()}
        if self.best is not None:
            out |= {f"best.{name}": value.cpu().numpy() for name, value in self.best[2].items()}
            out["best"] = np.array([self.best[0], self.best[1]])
        return out | {"losses": np.array(self.losses)}

    def restore(self, state: State, epochs: int) -> None:
        """Go on from a state after so many epochs; nothing to do for the one just reached."""
        if self.done == epochs * self.steps:
            return
        with self.pupil.at_work():
            self.pupil.restore({name: torch.as_tensor(value) for name, value in state.items()})
        self.losses, self.done = state["losses"].tolist(), epochs * self.steps
        if "best" in state:
            weights = {k.removeprefix("best."): torch.as_tensor(v) for k, v in state.items() if k.startswith("best.")}
            self.best = float(state["best"][0]), int(state["best"][1]), weights

    def result(self) -> TrainedExits:
        model, epoch = self.pupil.finished(), self.task.epochs
        if self.best:
            epoch = self.best[1]
            model.load_state_dict(self.best[2])
        seen = self.pupil.seen.cpu()
        trace = Trace(seen[:, 1], seen[:, 2], seen[:, 3]) if any(self.sets) else None
        return TrainedExits(model.eval(), tuple(self.losses), trace, epoch)
