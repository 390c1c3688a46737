"""Students on their way, advanced step by step by an engine, with divergence found to the step."""

import copy
import logging
from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.networks import Network, outputs
from tutelage.training.engine import Engine
from tutelage.training.losses import values
from tutelage.training.optimisers import TrainingState
from tutelage.training.task import Task

log = logging.getLogger(__name__)


class LearningStudents:
    """Students on their way: those still bounded are trained, the diverged wait as they last were.

    Arrays are replaced as a whole and never written to: a copy is a point to come back to.
    """

    def __init__(self, kind: type[Engine], task: Task, students: Network) -> None:
        self.task, self.step = task, 0
        optimiser = task.training.optimiser
        self.learner = TrainingState(students) if optimiser.plain else optimiser.start(students)
        self.engine = kind(task)
        self.active = list(range(task.members))
        self.diverged_at = torch.full((task.members,), -1, dtype=torch.int64)
        self.stopped_at = torch.full((task.members,), -1, dtype=torch.int64)
        self.watched = task.training.stop.start(task.members) if task.training.stop else torch.empty(0)

    @property
    def students(self) -> Network:
        return self.learner.students

    def copied(self) -> "LearningStudents":
        """The same students; advancing one leaves the other as it is."""
        return copy.copy(self)

    def on(self, kind: type[Engine], task: Task) -> "LearningStudents":
        """These students, trained on another task from here on; another optimiser starts without memory."""
        other = LearningStudents(kind, task, self.students)
        if self.task.training.optimiser == task.training.optimiser:
            other.learner = self.learner
        other.step, other.diverged_at = self.step, self.diverged_at
        fine = (self.diverged_at < 0).nonzero()[:, 0].tolist()
        if len(fine) < task.members:
            other._keep(fine)
        return other

    def advance(self, stop: int) -> None:
        """Train up to a step, which lies after the present one."""
        if self.active:
            everyone = len(self.active) == self.task.members
            before = self.learner if everyone else self.learner[self.active]
            after = self.engine.learn(before, self.step, stop)
            lost = [i for i, fine in enumerate(bounded(after.students).tolist()) if not fine]
            if lost:
                last, when = locate(type(self.engine), self.engine.task[lost], before[lost], self.step, stop)
                after = after.replaced(lost, last)
            self.learner = after if everyone else self.learner.replaced(self.active, after)
            if lost:
                self._retire(lost, when)
        self.step = stop

    def _retire(self, lost: Sequence[int], when: Tensor) -> None:
        self.diverged_at = self.diverged_at.clone()  # those handed out before stay as they were
        self.diverged_at[[self.active[i] for i in lost]] = when
        log.warning("%d of %d students diverged by step %d", len(lost), len(self.active), int(when.max()))
        self._keep([i for i in range(len(self.active)) if i not in set(lost)])

    def stop(self) -> None:
        """Take out the members whose loss on the training points meets the stopping rule; they stay as they are."""
        rule, task = self.task.training.stop, self.engine.task
        if rule is None or not self.active:
            return
        now = self.students if len(self.active) == self.task.members else self.students[self.active]
        with torch.no_grad():
            got = outputs(now, task.points)
            losses = values(task.training.loss, task.labels, got, task.training.temperature).double().cpu()
        met, self.watched[self.active] = rule.judge(losses, self.watched[self.active])
        self.stopped_at = self.stopped_at.clone()
        self.stopped_at[[self.active[i] for i in met.nonzero()[:, 0].tolist()]] = self.step
        if met.any():
            self._keep((~met).nonzero()[:, 0].tolist())

    def _keep(self, stays: Sequence[int]) -> None:
        """Go on with some of the active members alone."""
        if stays:
            self.engine = type(self.engine)(self.engine.task[stays])
        self.active = [self.active[i] for i in stays]


def bounded(network: Network) -> Tensor:
    """Whether the weights of each member are small enough for its outputs and their squares to be finite: bool [S].

    Outputs grow as the L-th power of the weights and losses as their square, so with some room for widths and inputs
    no weight may exceed the largest number to the power 1/(2L + 4): 6.5e4 for two layers in float32. A student that
    is learning stays many orders of magnitude below; one that has passed it is on its way to infinity.
    """
    bound = torch.finfo(network.dtype).max ** (1 / (2 * network.depth + 4))
    flat = [a.flatten(1) for a in network.parameters]  # a NaN is the largest and the smallest of its row
    return torch.stack([(a.amax(1) <= bound) & (a.amin(1) >= -bound) for a in flat]).all(0)


def locate(
    kind: type[Engine], task: Task, learner: TrainingState, start: int, stop: int
) -> tuple[TrainingState, Tensor]:
    """The step after which each of these students, bounded at ``start`` and not at ``stop``, is no longer bounded.

    Halving the interval replays it at most once more, because an engine's steps can be repeated at will.
    Returns the last bounded state and the steps int64 [S].
    """
    if stop - start == 1:
        return learner, torch.full((task.members,), stop, dtype=torch.int64)
    middle = (start + stop) // 2
    half = kind(task).learn(learner, start, middle)
    fine = bounded(half.students).tolist()
    last, when = learner, torch.empty(task.members, dtype=torch.int64)
    for half_bounded, state, begin, end in ((False, learner, start, middle), (True, half, middle, stop)):
        members = [i for i, f in enumerate(fine) if f == half_bounded]
        if members:
            located, when[members] = locate(kind, task[members], state[members], begin, end)
            last = last.replaced(members, located)
    return last, when
