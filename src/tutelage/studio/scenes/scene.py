"""What a scene is: settings, a state that advances tick by tick, and the frame that shows it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from tutelage.errors import TutelageError, unknown
from tutelage.settings import Settings

S = TypeVar("S", bound=Settings)
State = TypeVar("State")
Look = dict[str, Any]
"""What the page looks at, such as the member whose correlation map is drawn; it decides a frame, never the state."""


@dataclass(frozen=True)
class Preset:
    """Settings with a name.

    Parameters
    ----------
    name, title
        Short name for links, and title on the page.
    look
        What to look at, in a sentence.
    source
        Paper and figure that it reproduces, or "".
    settings
        What differs from the defaults.
    """

    name: str
    title: str
    look: str
    source: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


class StudioScene(ABC, Generic[S, State]):
    """Base class of scenes.

    ``start``, ``advance`` and ``frame`` are pure functions: the same settings give the same bytes at the same tick.
    Going back to an earlier tick is going to a stored state before it and advancing from there.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    """One sentence."""
    settings: ClassVar[type[Settings]]
    presets: ClassVar[tuple[Preset, ...]]
    order: ClassVar[int] = 100
    """Place among the tabs."""
    clock: ClassVar[str] = "step"
    """What the timeline counts."""
    forms: ClassVar[tuple[str, ...]] = ("python", "replay")
    """What it can be saved as, besides pictures."""
    unit: ClassVar[str] = ""
    """Unit of the clock."""
    pace: ClassVar[float] = 20.0
    """Ticks per second at normal speed."""

    @abstractmethod
    def ticks(self, settings: S) -> int:
        """Length of the timeline."""

    @abstractmethod
    def start(self, settings: S) -> State:
        """The state at tick 0."""

    @abstractmethod
    def advance(self, settings: S, state: State, tick: int) -> State:
        """The state at ``tick + 1`` from that at ``tick``; the given one stays as it is."""

    def leap(self, settings: S, state: State, tick: int, to: int) -> State:
        """The state at a later tick, bit for bit that of advancing one by one."""
        for at in range(tick, to):
            state = self.advance(settings, state, at)
        return state

    @abstractmethod
    def frame(self, settings: S, state: State, tick: int, look: Look) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and words that show a state."""

    def time(self, settings: S, tick: int) -> float:
        """What the clock shows at a tick."""
        return float(tick)

    def mark(self, settings: S, state: State, tick: int) -> dict[str, np.ndarray]:
        """What is kept of a state for the curves."""
        return {}

    def change(self, settings: S, state: State, tick: int, event: dict[str, Any]) -> tuple[S, State]:
        """Settings and state after the user changed something at this tick."""
        raise TutelageError(f"the scene '{self.name}' cannot be changed while it runs: it starts again instead")

    def answer(self, settings: S, moment: Any, question: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question about a moment of the course, plain data."""
        raise unknown("question", question.get("about"), [])

    def saved(self, settings: S, events: list[Any], form: str) -> str:
        """YAML or a Python snippet with these settings."""
        raise TutelageError(f"the scene '{self.name}' cannot be saved as {form}: save a picture or a replay instead")

    def size(self, state: State) -> int:
        """Bytes that a stored state takes beyond what all states share, roughly."""
        return 1 << 10


SCENES: dict[str, StudioScene[Any, Any]] = {}
"""Scenes by name."""


def counted(values: Any, least: int, most: int, **counts: str) -> Any:
    """Settings in which the number of places that are given is the setting that counts them: places=count."""
    given = values if isinstance(values, dict) else {}
    numbers = {count: len(given[p]) for p, count in counts.items() if isinstance(given.get(p), list | tuple)}
    return given | {c: n for c, n in numbers.items() if least <= n <= most} if numbers else values


def scene(cls: type[StudioScene[Any, Any]]) -> type[StudioScene[Any, Any]]:
    """Class decorator that registers a scene under its name.

    Parameters
    ----------
    cls
        A subclass of :class:`StudioScene`.

    Returns
    -------
    type
        The same class.
    """
    SCENES[cls.name] = cls()
    return cls


def find(name: Any) -> StudioScene[Any, Any]:
    """Scene by name; an error names the nearest one."""
    from tutelage.studio import scenes  # noqa: F401  (importing the package registers its scenes)

    if name not in SCENES:
        raise unknown("scene", name, SCENES)
    return SCENES[name]
