"""One connection: a course in a thread of its own, commands in, frames out, frames dropped rather than work delayed.

A frame is made when the page is ready for one (at most two are on their way) and at most 40 times a second. While the
page is not ready the course goes on, and the frame that was due is counted as dropped. Sessions share nothing but the
machine: every one has its own course, thread and queue.
"""

import asyncio
import json
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tutelage.errors import TutelageError
from tutelage.settings import one_line
from tutelage.studio.course import Course, Moment
from tutelage.studio.frames import PREFIX
from tutelage.threads import single_threaded

WINDOW = 2
"""Frames that may be on their way."""
_FRAME = 1 / 40  # seconds between frames, at least
_SHARE = 0.2  # of the time of a course that runs as fast as it can goes into frames, unless there would be too few
_BURST = 0.012  # seconds of training between two looks at commands and the clock
_SLOWEST = 1 / 32  # seconds between frames that cost much; at most half the time goes into them
_WAIT = 0.5  # seconds without a command after which a thread looks whether its connection is still there
_LAST = 10.0  # seconds that a thread has for its last tick

Send = Callable[[str | bytes], None]


class Session:
    """The course of one connection and the thread that follows it.

    Parameters
    ----------
    send
        Called from the thread with every message: text is JSON, bytes are a frame with its prefix.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._commands: queue.Queue[dict[str, Any]] = queue.Queue(maxsize=1000)
        self._closed = threading.Event()
        self.course: Course | None = None
        self.number = 0
        self.playing = False
        self.speed = 1.0
        self.frames = self.dropped = 0
        self._in_flight = 0
        self._due, self._burst = 0.0, 1
        self._told_marks = -1
        self._answers = ThreadPoolExecutor(1, thread_name_prefix="studio-answers")
        self._thread = threading.Thread(target=self._work, name="studio-session", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Tell the thread to end at its next tick."""
        self._closed.set()
        self._answers.shutdown(wait=False, cancel_futures=True)

    def join(self, seconds: float) -> None:
        """Wait until the thread has ended, at most so long."""
        self._thread.join(seconds)

    def receive(self, text: str) -> None:
        """A message of the page; acknowledgements count at once, commands wait for the thread."""
        try:
            command = json.loads(text)
            kind = command["do"]
        except (ValueError, TypeError, KeyError, RecursionError):
            self._tell(error="a message must be JSON with an entry 'do'")
            return
        if kind == "drawn":
            self._in_flight = max(0, self._in_flight - 1)
            return
        try:
            self._commands.put_nowait(command)
        except queue.Full:
            self._tell(error="too many commands are waiting: pause and try again")

    # ---------------------------------------------------------------------------------------------- the thread

    def _work(self) -> None:
        single_threaded()
        while not self._closed.is_set():
            try:
                busy = self.playing and self.course is not None
                command = self._commands.get(timeout=0.0005 if busy else _WAIT)
            except queue.Empty:
                command = None
            try:
                if command is not None:
                    self._obey(command)
                elif self.playing:
                    self._play()
            except TutelageError as error:
                self.playing = False
                self._tell(error=str(error))
                self._state()
            except Exception as error:  # the page must hear of it, and the thread must live on
                self.playing = False
                self._tell(error=one_line(f"internal error: {type(error).__name__}: {error}"))
                self._state()

    def _obey(self, command: dict[str, Any]) -> None:
        action = getattr(self, f"_do_{command['do']}", None) if str(command["do"]).isidentifier() else None
        if action is None:
            raise TutelageError(f"unknown command '{one_line(str(command['do']))}'")
        if self.course is None and command["do"] != "open":
            raise TutelageError("open a scene first")
        action(command)

    def _do_open(self, command: dict[str, Any]) -> None:
        self.playing, self.course = False, None
        self.number = int(command.get("number", self.number + 1)) % (1 << 32)
        settings, events, look = (command.get(n) for n in ("settings", "events", "look"))
        if not isinstance(events or [], list):
            raise TutelageError(f"events must be a list, got {one_line(str(events))[:40]}: copy the link again")
        course = Course(str(command.get("scene")), _table(settings), events or [], _table(look))
        self.course, self._told_marks, self._in_flight = course, -1, 0
        course.seek(_whole(command.get("tick", 0)), self._interrupted)
        self._tell(opened=course.plain(), defaults=course.given.model_dump(mode="json"), ticks=course.ticks)
        self._show()
        self._state()

    def _do_play(self, command: dict[str, Any]) -> None:
        self._do_speed(command)
        course = self._course
        if course.tick >= course.ticks:
            course.seek(0)
            self._told_marks = -1
        self.playing, self._due = True, 0.0
        self._state()

    def _do_pause(self, command: dict[str, Any]) -> None:
        self.playing = False
        self._show()
        self._state()

    def _do_speed(self, command: dict[str, Any]) -> None:
        speed = command.get("speed", self.speed)
        if isinstance(speed, bool) or not isinstance(speed, int | float) or not 0 <= speed <= 1000:
            raise TutelageError(f"speed must be from 0 to 1000, got {one_line(str(speed))[:40]}")
        self.speed = float(speed)
        self._state()

    def _do_seek(self, command: dict[str, Any]) -> None:
        tick = _whole(command.get("tick", 0)) if "tick" in command else self._course.tick + _whole(command["by"])
        self.playing = self.playing and bool(command.get("play"))
        back = tick < self._course.tick
        self._course.seek(tick, self._interrupted)
        self._told_marks = -1 if back else self._told_marks
        self._show()
        self._state()

    def _do_change(self, command: dict[str, Any]) -> None:
        self._course.change(_table(command.get("change")))
        self._told_marks = -1
        self._show()
        self._tell(changed=self._course.plain())

    def _do_look(self, command: dict[str, Any]) -> None:
        self._course.look = _table(command.get("look"))
        if not self.playing:
            self._show()

    def _do_ask(self, command: dict[str, Any]) -> None:
        self._answers.submit(self._answer, self._course.moment(), _table(command.get("question")), command.get("id"))

    def _answer(self, moment: Moment, question: dict[str, Any], number: Any) -> None:
        """Answer in a second thread, so that the course goes on."""
        single_threaded()
        try:
            found = moment.answer(question)
        except TutelageError as error:
            found = {"error": str(error)}
        except Exception as error:  # the page waits for an answer, whatever happened
            found = {"error": one_line(f"internal error: {type(error).__name__}: {error}")}
        if not self._closed.is_set():
            self._tell(answer=found, id=number)

    @property
    def _course(self) -> Course:
        assert self.course is not None
        return self.course

    def _interrupted(self) -> bool:
        """Whether a long way to a tick should end: another command waits or the page is gone."""
        return self._closed.is_set() or not self._commands.empty()

    def _play(self) -> None:
        """Some ticks, and a frame if one is due and the page is ready."""
        course, now = self._course, time.monotonic()
        if self.speed and (now < self._due or self._in_flight >= WINDOW):
            time.sleep(min(max(self._due - now, 0.001), 0.05))  # a chosen speed waits for the page
            return
        rate = self.speed * course.scene.pace  # ticks per second, 0 for as many as can be
        ticks = max(1, round(rate * _FRAME)) if rate else self._burst
        done = 0
        while done < ticks:
            if not (more := course.forward(ticks - done)):
                self.playing = False
                break
            done += more
        if done:
            self._burst = min(max(1, int(_BURST * done / (time.monotonic() - now + 1e-9))), 64)
        if not self.playing:
            self._show()
            self._state()
        elif time.monotonic() >= self._due:
            begin = time.monotonic()
            if self._in_flight < WINDOW:
                self._show()
            else:
                self.dropped += 1
            if rate:
                self._due = max(now, self._due) + max(_FRAME, ticks / rate)
            else:
                cost = time.monotonic() - begin
                self._due = begin + max(_FRAME, min(cost / _SHARE, max(_SLOWEST, 2 * cost)))

    def _show(self) -> None:
        """Send new marks and the present frame."""
        course = self._course
        new = [tick for tick in course.marks if self._told_marks < tick <= course.tick]
        if new or self._told_marks < 0:
            self._frame(course.history(self._told_marks))
            self._told_marks = max(new, default=0)
        self._frame(course.frame())

    def _frame(self, message: bytes) -> None:
        self.frames += 1
        self._in_flight += 1
        self._send(PREFIX.pack(self.number, self.frames % (1 << 32)) + message)

    def _state(self) -> None:
        tick = 0 if self.course is None else self.course.tick
        self._tell(state={"playing": self.playing, "tick": tick, "speed": self.speed, "dropped": self.dropped})

    def _tell(self, **message: Any) -> None:
        self._send(json.dumps({"number": self.number} | message))


def _table(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TutelageError(f"settings must be a table, got {one_line(str(value))[:60]}")
    return {str(name): entry for name, entry in value.items()}


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e15:
        raise TutelageError(f"a number is needed, got {one_line(str(value))[:60]}")
    return int(value)


async def converse(websocket: Any) -> None:
    """Serve one WebSocket until the page is gone."""
    from starlette.websockets import WebSocketDisconnect

    loop, outbox = asyncio.get_running_loop(), asyncio.Queue[str | bytes]()

    def send(message: str | bytes) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(outbox.put_nowait, message)

    session = Session(send)
    session.start()

    async def speak() -> None:
        while True:
            message = await outbox.get()
            await (websocket.send_bytes if isinstance(message, bytes) else websocket.send_text)(message)

    async def listen() -> None:
        while True:
            session.receive(await websocket.receive_text())

    tasks = [asyncio.create_task(speak()), asyncio.create_task(listen())]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if (why := task.exception()) is not None and not isinstance(
                why, WebSocketDisconnect | RuntimeError | KeyError
            ):
                raise why
    finally:
        session.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(session.join, _LAST)  # a thread that computes while Python ends would crash it
