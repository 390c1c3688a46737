"""The training loop: from one recorded step to the next, whatever the engine, with divergence found to the step."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from tutelage.errors import TutelageError
from tutelage.networks import BlackBox, Network, outputs
from tutelage.training.engine import Engine, choose
from tutelage.training.inputs import Inputs
from tutelage.training.losses import values
from tutelage.training.make_task import as_teacher, make_task
from tutelage.training.optimisers import TrainingState
from tutelage.training.progress import progress_bar
from tutelage.training.settings import Training, given
from tutelage.training.task import Batches, Task
from tutelage.training.trajectory import Trajectory

log = logging.getLogger(__name__)

_SPAN = 2000  # steps between two looks at whether all is well

OnRecord = Callable[[int, Network, Tensor], None]
"""Called with the step, the students and diverged_at [S] at every recorded step."""


def train(
    teacher: Network | BlackBox | nn.Module | Callable[[Tensor], Tensor] | None,
    students: Network,
    inputs: Inputs,
    settings: Training | None = None,
    *,
    record: Iterable[int] = (),
    keep: Literal["all", "last"] = "all",
    engine: str = "auto",
    batches: Batches | None = None,
    progress: bool = False,
    on_record: OnRecord | None = None,
    on_progress: Callable[[int], None] | None = None,
    **training: Any,
) -> Trajectory:
    r"""Train every student on the labels of its teacher.

    By default by SGD on the squared error :math:`J = \tfrac12 E\|f^* - f\|^2` (Tian 2020, eq. 2). All members are
    trained side by side; a member's result depends on its own seed and settings alone, up to rounding.

    Parameters
    ----------
    teacher
        One network per student, or a single network for all of them; a torch module or any function from inputs
        [N, d] to outputs [N, C]; None for a data set, whose labels come with ``inputs``.
    students
        Networks at the start, [S] members with the teacher's inputs and outputs.
    inputs
        Training and evaluation points, with one seed per member (``Distribution.draw``).
    settings
        Length, batch, learning rate, schedule, loss and optimiser. Alternatively pass them by name:
        ``steps=..., batch=..., learning_rate=...``.
    record
        Steps to record besides step 0 and the last one.
    keep
        "all": the result keeps the weights at every recorded step; "last": only at the end.
    engine
        Name of a training engine, or "auto" for the fastest that fits (see ``tutelage engines``).
    batches
        Function from a step to the points of its batch, [B, d] or [S, B, d], or to points and labels. It must return
        the same for the same step.
    progress
        Whether to draw a progress bar on the terminal, with the engine and why it was chosen.
    on_record
        Called as ``on_record(step, students, diverged_at)`` at every recorded step.
    on_progress
        Called with the number of steps done since the last call.
    **training
        Fields of :class:`Training`, if ``settings`` is not given.

    Returns
    -------
    Trajectory
        The students at the recorded steps. A member whose weights diverge keeps its last bounded weights.

    Raises
    ------
    TutelageError
        If shapes or numbers of members do not fit, or settings are given twice.

    Examples
    --------
    >>> import tutelage as tt
    >>> seeds = range(4)
    >>> teacher = tt.teachers.Levels(inputs=10, hidden=3, outputs=2).build(seeds)
    >>> inputs = tt.inputs.Gaussian(train=200, evaluate=200).draw(teacher, seeds)
    >>> students = tt.students.SmallNormal(width_factor=2).build(teacher, seeds)
    >>> run = tt.train(teacher, students, inputs, steps=100, batch=8, learning_rate=0.05)
    >>> run.students.widths
    (10, 6, 2)
    """
    settings = given(settings, training)
    start = time.perf_counter()
    teacher = as_teacher(teacher, students, inputs)
    task = make_task(students, teacher, inputs, settings, batches)
    recorded: dict[int, Network] = {}
    steps = tuple(sorted({0, task.steps, *record}))

    def keep_and_tell(step: int, now: Network, diverged_at: Tensor) -> None:
        if keep == "all" or step == task.steps:
            recorded[step] = now
        if on_record:
            on_record(step, now, diverged_at)

    with progress_bar(progress, task.steps, on_progress) as tell:
        end = follow(students, task, steps, keep_and_tell, engine, tell, tell.describe)
    seconds = time.perf_counter() - start
    return Trajectory(steps, recorded, teacher, inputs, end.diverged_at, end.engine, seconds, end.why, end.stopped_at)


@dataclass(frozen=True)
class TrainingEnd:
    """How a training ended: diverged_at and stopped_at int64 [S], -1 where not; the engine and why it was chosen."""

    diverged_at: Tensor
    stopped_at: Tensor
    engine: str
    why: str


def follow(
    students: Network,
    task: Task,
    steps: Sequence[int],
    on_record: OnRecord,
    engine: str = "auto",
    on_progress: Callable[[int], None] | None = None,
    on_engine: Callable[[str], None] | None = None,
) -> TrainingEnd:
    """Train students on a task and hand them over at each of the given steps, in order.

    ``on_engine`` is called once with the engine and why it was chosen.
    """
    if steps[0] < 0 or steps[-1] > task.steps:
        raise TutelageError(f"recorded steps must lie in 0 .. {task.steps}, not {steps[0]} .. {steps[-1]}")
    kind, why = choose(engine, students, task)
    log.info("engine %s on %s: %s", kind.name, students.device, why)
    if on_engine:
        on_engine(f"{kind.name} ({why})")
    result = _TrainedStudents(kind, task, students)
    stop = task.training.stop
    for step in steps:
        while result.step < step:
            begin = result.step
            look = begin // stop.every * stop.every + stop.every if stop else step
            result.advance(min(step, begin + _SPAN, look))
            if stop and result.step == look:
                result.stop()
            if on_progress:
                on_progress(result.step - begin)
        on_record(step, result.students, result.diverged_at)
    return TrainingEnd(result.diverged_at, result.stopped_at, kind.name, why)


class _TrainedStudents:
    """Students on their way: those still bounded are trained, the diverged wait as they last were."""

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

    def advance(self, stop: int) -> None:
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
    return torch.stack([(a.flatten(1).abs() <= bound).all(-1) for a in network.parameters]).all(0)


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
            found, when[members] = locate(kind, task[members], state[members], begin, end)
            last = last.replaced(members, found)
    return last, when
