"""The training loop: from one recorded step to the next, whatever the engine."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from torch import Tensor, nn

from tutelage.errors import TutelageError
from tutelage.networks import BlackBox, Network
from tutelage.training.engine import choose
from tutelage.training.inputs import Inputs
from tutelage.training.make_task import as_teacher, make_task
from tutelage.training.progress import progress_bar
from tutelage.training.settings import Training, given
from tutelage.training.several import Trajectories, train_each
from tutelage.training.stepping import LearningStudents
from tutelage.training.task import Batches, Task
from tutelage.training.trajectory import Trajectory
from tutelage.whole import steps_to_record

log = logging.getLogger(__name__)

_SPAN = 2000  # steps between two looks at whether all is well

OnRecord = Callable[[int, Network, Tensor], None]
"""Called with the step, the students and diverged_at [S] at every recorded step."""


Taught = Network | BlackBox | nn.Module | Callable[[Tensor], Tensor] | None


@overload
def train(
    teacher: Taught, students: Network, inputs: Inputs, settings: Training | None = ..., **options: Any
) -> Trajectory: ...
@overload
def train(
    teacher: Taught, students: Sequence[Network], inputs: Inputs, settings: Training | None = ..., **options: Any
) -> Trajectories: ...
def train(
    teacher: Taught,
    students: Network | Sequence[Network],
    inputs: Inputs,
    settings: Training | None = None,
    *,
    record: Iterable[int] | Mapping[str, Any] = (),
    keep: Literal["all", "last"] = "all",
    engine: str = "auto",
    later: Mapping[int, Taught] | None = None,
    batches: Batches | None = None,
    progress: bool = False,
    on_record: OnRecord | None = None,
    on_progress: Callable[[int], None] | None = None,
    **training: Any,
) -> Trajectory | Trajectories:
    r"""Train every student on the labels of its teacher.

    By default by SGD on the squared error :math:`J = \tfrac12 E\|f^* - f\|^2` (Tian 2020, eq. 2). All members are
    trained side by side; a member's result depends on its own seed and settings alone, up to rounding.

    Parameters
    ----------
    teacher
        One network per student, or a single network for all of them; a torch module or any function from inputs
        [N, d] to outputs [N, C]; None for a data set, whose labels come with ``inputs``.
    students
        Networks at the start, [S] members with the teacher's inputs and outputs; or a list of such stacks, which may
        differ in widths, depth and activation.
    inputs
        Training and evaluation points, with one seed per member (``Distribution.draw``).
    settings
        Length, batch, learning rate, schedule, loss and optimiser. Alternatively pass them by name:
        ``steps=..., batch=..., learning_rate=...``.
    record
        Steps to record besides step 0 and the last one, whole numbers; or a table as in YAML, such as
        ``{"every": 50}`` or ``{"every": 50, "at": [7]}``.
    keep
        "all": the result keeps the weights at every recorded step; "last": only at the end.
    engine
        Name of a training engine, or "auto" for the fastest that fits (see ``tutelage engines``).
    later
        Teachers that take over at a step, ``{500: second}``: from step 500 on the labels are those of ``second``, for
        the same points. ``measure(run, names, teacher=second)`` measures the whole run against one of them.
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
        The students at the recorded steps. A member whose weights diverge keeps its last bounded weights. For a list
        of stacks :class:`Trajectories`, one per stack: the numbers of the stacks trained one by one, but for the last
        bits on the engine ``stacked`` where several stacks have one architecture.

    Raises
    ------
    TutelageError
        If shapes or numbers of members do not fit, a recorded step is no whole number, or settings are given twice.

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
    if not isinstance(students, Network):
        options = {"record": record, "keep": keep, "engine": engine, "later": later, "batches": batches}
        more = {"progress": progress, "on_record": on_record, "on_progress": on_progress}
        return train_each(train, teacher, students, inputs, settings, **options, **more)
    start = time.perf_counter()
    teacher = as_teacher(teacher, students, inputs)
    task = make_task(students, teacher, inputs, settings, batches)
    others = [(step, as_teacher(other, students, inputs)) for step, other in sorted((later or {}).items())]
    tasks = [(step, make_task(students, other, inputs, settings, batches)) for step, other in others]
    recorded: dict[int, Network] = {}
    steps = tuple(sorted({0, task.steps, *steps_to_record(record, task.steps)}))

    def keep_and_tell(step: int, now: Network, diverged_at: Tensor) -> None:
        if keep == "all" or step == task.steps:
            recorded[step] = now
        if on_record:
            on_record(step, now, diverged_at)

    with progress_bar(progress, task.steps, on_progress) as tell:
        end = follow(students, task, steps, keep_and_tell, engine, tell, tell.describe, tasks)
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
    later: Sequence[tuple[int, Task]] = (),
) -> TrainingEnd:
    """Train students on a task and hand them over at each of the given steps, in order.

    ``on_engine`` is called once with the engine and why it was chosen; ``later``: tasks of the same training that take
    over at a step.
    """
    _check_later([step for step, _ in later], task)
    if steps[0] < 0 or steps[-1] > task.steps:
        raise TutelageError(f"recorded steps must lie between 0 and {task.steps}, got {steps[0]} to {steps[-1]}")
    kind, why = choose(engine, students, task)
    log.info("engine %s on %s: %s", kind.name, students.device, why)
    if on_engine:
        on_engine(f"{kind.name} ({why})")
    result = LearningStudents(kind, task, students)
    stop, waiting = task.training.stop, list(later)
    for step in steps:
        while result.step < step:
            begin = result.step
            if waiting and waiting[0][0] == begin:
                result = result.on(kind, waiting.pop(0)[1])
            look = min(begin // stop.every * stop.every + stop.every, task.steps) if stop else step
            change = waiting[0][0] if waiting else step
            result.advance(min(step, begin + _SPAN, look, change))
            if stop and result.step == look:
                result.stop()
            if on_progress:
                on_progress(result.step - begin)
        on_record(step, result.students, result.diverged_at)
    return TrainingEnd(result.diverged_at, result.stopped_at, kind.name, why)


def _check_later(steps: Sequence[int], task: Task) -> None:
    """Raise an error for steps at which no teacher can take over."""
    for step in steps:
        if isinstance(step, bool) or not isinstance(step, int) or not 0 < step < task.steps:
            raise TutelageError(f"a later teacher takes over at a step from 1 to {task.steps - 1}, got {step!r}")
    if steps and task.training.stop:
        raise TutelageError("a stopping rule would end members before the later teacher: leave out 'stop' or 'later'")
