"""Training of networks with exits, by Algorithm 6.1 of Phuong 2021; without teachers it is the exit-wise baseline."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.exits._courses import ExitCourse, advance, seat
from tutelage.exits.multi_exit import MultiExit
from tutelage.exits.tasks import PAPER_SGD, Augment, ExitObjective, ExitTask, Samples, State, Trace, TrainedExits
from tutelage.training.settings import Training

__all__ = [
    "PAPER_SGD",
    "Augment",
    "ExitObjective",
    "ExitTask",
    "Samples",
    "State",
    "Trace",
    "TrainedExits",
    "train_exits",
    "train_side_by_side",
]

OnEpoch = Callable[[int, MultiExit], None]
"""Called with the number of epochs done and the model in evaluation mode."""

Keep = Callable[[int, int, Callable[[], State]], State]
"""From the number of a task, that of a part and a function that gives the state after it, to that state."""

_PARTS = 10  # of a training, at the ends of which its state can be kept


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
    (Phuong 2021, eq. 6.6). The loss is the mean over the exits, as in the paper; a learning rate that was chosen for
    their sum belongs to ``ExitObjective(reduction="sum")``.

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

    Examples
    --------
    >>> import torch
    >>> from tutelage.exits import multi_exit_mlp
    >>> x = torch.randn(200, 4)
    >>> done = train_exits(multi_exit_mlp(4, [8, 8], 2), x, (x[:, 0] > 0).long(), Training(epochs=2, batch=20))
    >>> len(done.losses)
    2
    """

    def tell(epoch: int, courses: list[ExitCourse]) -> None:
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

    def tell(epoch: int, courses: list[ExitCourse]) -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done / total)

    numbers = [list(range(len(tasks)))] if together else [[number] for number in range(len(tasks))]
    return [
        trained
        for group, group_numbers in zip(groups, numbers, strict=True)
        for trained in _together(group, augment, tell, keep and partial(_kept, keep, group_numbers))
    ]


def _kept(keep: Keep, numbers: Sequence[int], part: int, work: Callable[[], list[State]]) -> list[State]:
    """The states of some tasks after a part: all stored ones, or those that the work gives."""
    given: list[State] = []

    def state_at(place: int) -> State:
        if not given:
            given.extend(work())
        return given[place]

    return [keep(number, part, partial(state_at, place)) for place, number in enumerate(numbers)]


def _together(
    tasks: Sequence[ExitTask],
    augment: Augment | None,
    after: Callable[[int, list[ExitCourse]], None],
    keep: Callable[[int, Callable[[], list[State]]], list[State]] | None = None,
) -> list[TrainedExits]:
    """after: called with the number of epochs done, and all courses; keep: as in :func:`_kept`."""
    courses = [ExitCourse(task, augment) for task in tasks]
    seat(courses)
    ends = [round(tasks[0].epochs * part / _PARTS) for part in range(_PARTS + 1)]
    for part, (begin, end) in enumerate(pairwise(ends)):

        def learn(begin: int = begin, end: int = end) -> list[State]:
            advance(courses, begin, end, after)
            return [course.state() for course in courses]

        if keep is None:
            advance(courses, begin, end, after)
        else:
            for course, state in zip(courses, keep(part, learn), strict=True):
                course.restore(state, end)
    return [course.result() for course in courses]
