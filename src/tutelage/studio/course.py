"""A scene on its way: the present state, stored states to go back to, marks for the curves, and what the user changed.

States lie on a fixed grid of ticks. Whatever way a tick was reached, forwards, backwards, after a reload, with frames
shown or dropped, its state has been computed by the same calls and has the same bits.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.settings import Settings
from tutelage.studio import frames
from tutelage.studio.scenes.scene import Look, StudioScene, find

MARKS = 100
"""Marks on the timeline, besides the start."""
_MEMORY = 64 << 20  # bytes of stored states of one course
_LEAP = 16  # ticks after which a seek asks whether to go on
_EVENTS = 200  # changes by the user in one course


@dataclass(frozen=True)
class Event:
    """A change by the user at a tick."""

    tick: int
    change: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Stored:
    """A state with the settings in force."""

    settings: Any
    state: Any


@dataclass(frozen=True, eq=False)
class Moment:
    """A course at one tick, which stays as it is while the course goes on in another thread.

    Its state, stored states up to it with their ticks, in order, the present one last, and the marks by tick.
    """

    scene: StudioScene[Any, Any]
    settings: Any
    tick: int
    state: Any
    past: list[tuple[int, Any]]
    marks: dict[int, dict[str, np.ndarray]]

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """The answer of the scene to a question about this moment, plain data."""
        return self.scene.answer(self.settings, self, question)

    def frame(self, look: Look) -> bytes:
        """The message that shows the state."""
        arrays, words = self.scene.frame(self.settings, self.state, self.tick, look)
        time = self.scene.time(self.settings, self.tick)
        return frames.encode(arrays, kind="frame", tick=self.tick, time=time, words=words)

    def history(self, after: int = -1, until: int | None = None) -> bytes:
        """The message with all marks between two ticks: arrays [marks, ...], and the ticks and times of the marks."""
        until = self.tick if until is None else until
        ticks = sorted(t for t in self.marks if after < t <= until)
        rows = [self.marks[t] for t in ticks]
        arrays = {name: np.stack([row[name] for row in rows]) for name in (rows[0] if rows else {})}
        times = [self.scene.time(self.settings, t) for t in ticks]
        return frames.encode(arrays, kind="history", after=after, ticks=ticks, times=times)


class Course:
    """A scene with settings, followed along its timeline.

    Parameters
    ----------
    scene
        Name of the scene.
    settings
        Settings that differ from the defaults.
    events
        Changes on the way: pairs of a tick and what changed then.
    look
        What frames show, see the scene.

    Examples
    --------
    >>> course = Course("specialisation", {"members": 2, "steps": 200, "every": 20})
    >>> course.seek(5)
    >>> course.tick, course.time
    (5, 100.0)
    """

    def __init__(
        self,
        scene: str,
        settings: dict[str, Any] | None = None,
        events: list[Any] | None = None,
        look: Look | None = None,
    ) -> None:
        self.scene: StudioScene[Any, Any] = find(scene)
        self.given = self.scene.settings(**(settings or {}))
        self.look: Look = dict(look or {})
        self.events = sorted((_event(e) for e in events or []), key=lambda e: e.tick)
        self.ticks = self.scene.ticks(self.given)
        self._every = max(1, self.ticks // MARKS)
        self.marks: dict[int, dict[str, np.ndarray]] = {}
        self._stored: dict[int, _Stored] = {}
        self._spacing = 1
        self.tick = 0
        self._arrive(0, self.given, self.scene.start(self.given))

    @property
    def settings(self) -> Settings:
        """Settings in force at the present tick."""
        return self._now.settings

    @property
    def state(self) -> Any:
        """The present state."""
        return self._now.state

    @property
    def time(self) -> float:
        """What the clock shows."""
        return self.scene.time(self.settings, self.tick)

    def forward(self, ticks: int = 1) -> int:
        """Advance by so many ticks, or fewer up to the next mark, change or end; how many they were, 0 at the end."""
        before = self.tick
        to = min(before + ticks, (before // self._every + 1) * self._every, self.ticks)
        to = min([to, *(e.tick for e in self.events if e.tick > before)])
        if to > before:
            self._arrive(to, self.settings, self.scene.leap(self.settings, self.state, before, to))
        return to - before

    def seek(self, tick: int, stop: Callable[[], bool] = lambda: False) -> None:
        """Go to a tick, from the last stored state before it; ``stop`` is asked at every tick on the way."""
        tick = min(max(int(tick), 0), self.ticks)
        if not self.tick <= tick:
            nearest = max(t for t in self._stored if t <= tick)
            self.tick, self._now = nearest, self._stored[nearest]
        while self.tick < tick and not stop():
            self.forward(min(tick - self.tick, _LEAP))

    def change(self, change: dict[str, Any]) -> None:
        """Branch off: change settings or state at the present tick, and forget what came later."""
        if len(self.events) >= _EVENTS:
            raise TutelageError(f"a course has at most {_EVENTS} changes: reset it, or reload the page")
        settings, state = self.scene.change(self.settings, self.state, self.tick, change)
        self.events = [e for e in self.events if e.tick <= self.tick] + [Event(self.tick, change)]
        for kept in (self._stored, self.marks):
            for tick in [t for t in kept if t >= self.tick]:
                del kept[tick]
        self._store(_Stored(settings, state))

    def frame(self) -> bytes:
        """The message that shows the present state."""
        return self.moment().frame(self.look)

    def history(self, after: int = -1, until: int | None = None) -> bytes:
        """The message with all marks between two ticks: arrays [marks, ...], and the ticks and times of the marks."""
        return self.moment().history(after, until)

    def moment(self) -> "Moment":
        """The present, for frames and answers that are made while the course goes on."""
        past = [(t, self._stored[t].state) for t in sorted(self._stored) if t < self.tick] + [(self.tick, self.state)]
        return Moment(self.scene, self.settings, self.tick, self.state, past, dict(self.marks))

    def plain(self) -> dict[str, Any]:
        """What a link holds: scene, settings that differ from the defaults, events and tick."""
        settings = self.given.model_dump(mode="json", exclude_defaults=True)
        events = [[e.tick, e.change] for e in self.events]
        return {"scene": self.scene.name, "settings": settings, "events": events, "tick": self.tick}

    def _arrive(self, tick: int, settings: Any, state: Any) -> None:
        self.tick = tick
        for event in self.events[bisect_right(self.events, tick - 1, key=lambda e: e.tick) :]:
            if event.tick != tick:
                break
            settings, state = self.scene.change(settings, state, tick, event.change)
        self._store(_Stored(settings, state))

    def _store(self, now: _Stored) -> None:
        """Keep the present state where it is due, and fewer of the older ones once they fill their memory."""
        self._now = now
        due = self.tick % self._every == 0 or self.tick == self.ticks
        if due and self.tick not in self.marks:
            self.marks[self.tick] = self.scene.mark(now.settings, now.state, self.tick)
        if self.tick % (self._every * self._spacing) == 0 or any(e.tick == self.tick for e in self.events):
            self._stored[self.tick] = now
        while len(self._stored) > 8 and len(self._stored) * self.scene.size(now.state) > _MEMORY:
            self._spacing *= 2
            changed = {e.tick for e in self.events}
            step = self._every * self._spacing
            kept = {t: s for t, s in self._stored.items() if t % step == 0 or t in changed}
            if len(kept) == len(self._stored):
                break
            self._stored = kept


def _event(given: Any) -> Event:
    if isinstance(given, Event):
        return given
    try:
        tick, change = given
        if isinstance(tick, int) and tick >= 0 and isinstance(change, dict):
            return Event(tick, change)
    except (TypeError, ValueError):
        pass
    raise TutelageError(f"an event is a tick and a change, got {str(given)[:60]}: copy the link again")
