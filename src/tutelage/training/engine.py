"""The contract of an engine, and which engines there are."""

from abc import ABC, abstractmethod
from typing import ClassVar

from tutelage.errors import TutelageError, unknown
from tutelage.networks import Network
from tutelage.training.optimisers import TrainingState
from tutelage.training.task import Task


class Engine(ABC):
    """Base class of training engines: trains all members of a task from one step to another.

    An engine may lay out the task's data once, when it is made. ``learn`` is a pure function of the students, of what
    their optimiser remembers and of the two steps: learning from a to c gives the same as learning from a to b and then
    from b to c, and no member's result depends on the members trained beside it, up to rounding. Recording, divergence
    and resuming rely on that alone.

    Parameters
    ----------
    task
        What is learned.
    """

    name: ClassVar[str]
    supports: ClassVar[str]
    """What it can train, in a phrase."""
    speed: ClassVar[int]
    """Engines are tried from the highest speed down when the user leaves the choice open."""

    def __init__(self, task: Task) -> None:
        self.task = task

    @classmethod
    def missing(cls) -> str | None:
        """What this engine lacks on this machine, whatever the task, or None when it can be used here."""
        return None

    @classmethod
    @abstractmethod
    def unsupported(cls, students: Network, task: Task) -> str | None:
        """Why this engine cannot train these students on this task, or None when it can."""

    @abstractmethod
    def learn(self, learner: TrainingState, start: int, stop: int) -> TrainingState:
        """The students and their memory after steps start .. stop-1, given those after steps 0 .. start-1."""

    def advance(self, students: Network, start: int, stop: int) -> Network:
        """The same for plain SGD, which remembers nothing."""
        if not self.task.training.plain:
            raise TutelageError(f"{self.task.unusual} goes on from what it remembers: call learn instead of advance")
        return self.learn(TrainingState(students), start, stop).students


ENGINES: dict[str, type[Engine]] = {}


def engine(cls: type[Engine]) -> type[Engine]:
    """Class decorator that registers a training engine under its name.

    Parameters
    ----------
    cls
        A subclass of :class:`Engine`.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> from tutelage.training import ENGINES
    >>> sorted(ENGINES)
    ['fused-cpu', 'fused-gpu', 'stacked', 'stacked-graph']
    """
    ENGINES[cls.name] = cls
    return cls


def choose(name: str, students: Network, task: Task) -> tuple[type[Engine], str]:
    """The engine to use and why: the named one, or with "auto" the fastest that supports the task."""
    if name != "auto":
        if name not in ENGINES:
            raise unknown("engine", name, [*ENGINES, "auto"])
        why_not = ENGINES[name].unsupported(students, task)
        if why_not:
            raise TutelageError(f"the engine '{name}' cannot do this: {why_not}; use --engine auto")
        return ENGINES[name], "named by the user"
    passed: list[str] = []
    for candidate in sorted(ENGINES.values(), key=lambda e: -e.speed):
        why_not = candidate.missing() or candidate.unsupported(students, task)
        if why_not is None:
            return candidate, "; ".join(passed) or "the fastest there is"
        passed.append(f"not {candidate.name}: {why_not}")
    raise TutelageError("no engine can do this: " + "; ".join(passed))
