"""One connection: a course in a thread of its own, commands in, frames out, frames dropped rather than work delayed.

A course that runs as fast as it can publishes its state about once per frame; a second thread makes frames of the
newest one (:mod:`.pacing`), when the page is ready (at most two are on their way) and at most 31 times a second. While
the page is not ready the course goes on, and the frame that was due is counted as dropped; a frame that a command asks
for is owed instead, and is made of the state at the time when the page is ready. Sessions share nothing but the
machine, on which they take turns.

A page that does not read cannot fill the memory: what waits for it, in both directions, is counted in bytes, and a
page that leaves more than that unread is disconnected.
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
from tutelage.studio.checking import rows, table, whole
from tutelage.studio.course import Course, Moment
from tutelage.studio.frames import PREFIX
from tutelage.studio.pacing import FRAME, FrameMaker, Pace, Turns
from tutelage.threads import give_way, single_threaded

PROGRESS = 0.2
"""Seconds between frames on a long way to a tick."""
WINDOW = 2
"""Frames that may be on their way."""
_LEAP = 0.9  # of the time of a frame that the course computes before it looks for commands
_SHORTEST = 0.004  # seconds that it computes even where many take turns
_WAIT = 0.5  # seconds without a command after which a thread looks whether its connection is still there
_LAST = 10.0  # seconds that a thread has for its last tick
UNREAD = 32 << 20
"""Bytes that may wait for a page: some of the largest frames, which no page that reads leaves lying."""
_COMMANDS = 1000  # that may wait, far above what a hand can send
_CHARACTERS = 4 << 20  # of all commands that wait
_QUESTIONS = 16  # that may wait for their answers

Send = Callable[[str | bytes], None]
TURNS = Turns()


class Session:
    """The course of one connection and the thread that follows it.

    Parameters
    ----------
    send
        Called from the thread with every message: text is JSON, bytes are a frame with its prefix.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._commands: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue(maxsize=_COMMANDS)
        self._waiting = 0  # characters of the commands in the queue
        self._counting = threading.Lock()
        self._questions = threading.Semaphore(_QUESTIONS)
        self._closed = threading.Event()
        self.course: Course | None = None
        self.number = 0
        self.playing = False
        self.speed = 1.0
        self.frames = self.drawn = 0  # sent, and drawn by the page; each is written by one thread alone
        self._due, self._pace, self._shown = 0.0, Pace(), 0.0
        self._told_marks = -1
        self._owed = False  # a command asked for a frame while the page was not ready
        self._maker = FrameMaker(self._show, self._ready)
        self._answers = ThreadPoolExecutor(1, thread_name_prefix="studio-answers")
        self._thread = threading.Thread(target=self._work, name="studio-session", daemon=True)

    def start(self) -> None:
        """Start the threads."""
        self._thread.start()
        self._maker.start()

    def close(self) -> None:
        """Tell the thread to end at its next tick."""
        self._closed.set()
        self._maker.close()
        self._answers.shutdown(wait=False, cancel_futures=True)

    def join(self, seconds: float) -> None:
        """Wait until the threads have ended, each at most so long."""
        self._thread.join(seconds)
        self._maker.join(seconds)

    def receive(self, text: str) -> None:
        """A message of the page; acknowledgements count at once, commands wait for the thread."""
        try:
            command = json.loads(text)
            kind = command["do"]
        except (ValueError, TypeError, KeyError, RecursionError):
            self._tell(error="a message must be JSON with an entry 'do'")
            return
        if kind == "drawn":
            self.drawn = min(self.drawn + 1, self.frames)
            self._maker.wake()
            if self._owed and self._ready():
                self._owed = False
                self._take(0, {"do": "offer"})
            return
        self._take(len(text), command)

    def _take(self, size: int, command: dict[str, Any]) -> None:
        """Let a command wait for the thread, unless too much is waiting already."""
        # Invariant: `_waiting` is the length of all commands in the queue together. A page that sends faster than its
        # course obeys is told so, and cannot fill the memory.
        with self._counting:
            if self._waiting + size <= _CHARACTERS and not self._commands.full():
                self._waiting += size
                self._commands.put_nowait((size, command))
                return
        self._tell(error="too many commands are waiting: pause and try again")

    def _next(self, wait: bool) -> dict[str, Any] | None:
        """The command that waits longest, if any; `wait`: give one some time to come."""
        try:
            size, command = self._commands.get(timeout=_WAIT) if wait else self._commands.get_nowait()
        except queue.Empty:
            return None
        with self._counting:
            self._waiting -= size
        return command

    # ---------------------------------------------------------------------------------------------- the thread

    def _work(self) -> None:
        single_threaded()
        give_way()  # frames and the browser take little, but at once
        # Between two stretches of training one command is obeyed, so that a click waits for one stretch at most. The
        # thread sleeps until a command comes where it is paused or has no course.
        while not self._closed.is_set():
            command = self._next(wait=not self.playing or self.course is None)
            try:
                if command is not None:
                    self._maker.rest()  # from here on this thread alone shows what there is
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
        self.playing = False  # what was open stays open where the new settings are no good, as the page shows it
        self.number = whole(command.get("number", self.number + 1)) % (1 << 32)
        settings, events, look = (command.get(n) for n in ("settings", "events", "look"))
        course = Course(str(command.get("scene")), table(settings), rows(events), table(look))
        self.course, self._told_marks, self._pace = course, -1, Pace()
        course.seek(whole(command.get("tick", 0)), self._stopped)
        self._tell(opened=course.plain(), defaults=course.given.model_dump(mode="json"), ticks=course.ticks)
        self._offer()
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
        self._offer()
        self._state()

    def _do_speed(self, command: dict[str, Any]) -> None:
        speed = command.get("speed", self.speed)
        if isinstance(speed, bool) or not isinstance(speed, int | float) or not 0 <= speed <= 1000:
            raise TutelageError(f"speed must be from 0 to 1000, got {one_line(str(speed))[:40]}")
        self.speed = float(speed)
        self._state()

    def _do_seek(self, command: dict[str, Any]) -> None:
        tick = whole(command.get("tick", 0)) if "tick" in command else self._course.tick + whole(command["by"])
        self.playing = self.playing and bool(command.get("play"))
        back = tick < self._course.tick
        self._told_marks = -1 if back else self._told_marks
        self._shown = time.monotonic()
        self._course.seek(tick, self._interrupted)
        self._offer()
        self._state()

    def _do_change(self, command: dict[str, Any]) -> None:
        self._course.change(table(command.get("change")))
        self._told_marks = -1
        self._offer()
        self._tell(changed=self._course.plain())

    def _do_look(self, command: dict[str, Any]) -> None:
        self._course.look = table(command.get("look"))
        if not self.playing:
            self._offer()

    def _do_offer(self, command: dict[str, Any]) -> None:
        self._offer()

    def _do_ask(self, command: dict[str, Any]) -> None:
        question = table(command.get("question"))
        if not self._questions.acquire(blocking=False):
            self._tell(answer={"error": "too many questions are waiting: try again"}, id=command.get("id"))
            return
        self._answers.submit(self._answer, self._course.moment(), question, command.get("id"))

    def _answer(self, moment: Moment, question: dict[str, Any], number: Any) -> None:
        """Answer in a second thread, so that the course goes on."""
        single_threaded()
        try:
            answer = moment.answer(question)
        except TutelageError as error:
            answer = {"error": str(error)}
        except Exception as error:  # the page waits for an answer, whatever happened
            answer = {"error": one_line(f"internal error: {type(error).__name__}: {error}")}
        self._questions.release()
        if not self._closed.is_set():
            self._tell(answer=answer, id=number)

    @property
    def _course(self) -> Course:
        assert self.course is not None
        return self.course

    def _stopped(self) -> bool:
        """Whether a long way to a tick should end: another command waits or the page is gone."""
        return self._closed.is_set() or self._waiting > 0  # the session's own "offer" has no characters

    def _interrupted(self) -> bool:
        """The same; on the way the page is shown now and then how far it is."""
        if (stopped := self._stopped()) or time.monotonic() - self._shown < PROGRESS:
            return stopped
        self._offer()
        self._shown = time.monotonic()
        return False

    def _play(self) -> None:
        """Some ticks, and a frame of them."""
        course, now = self._course, time.monotonic()
        if self.speed and (now < self._due or not self._ready()):
            time.sleep(min(max(self._due - now, 0.001), 0.05))  # a chosen speed waits for the page
            return
        rate = self.speed * course.scene.pace  # ticks per second, 0 for as many as can be
        ticks = max(1, round(rate * FRAME)) if rate else self._pace.ticks(max(_SHORTEST, self._leap()))
        done = 0
        with TURNS.turn():
            begin = time.monotonic()
            while done < ticks and (more := course.forward(ticks - done)):
                done += more
            self._pace.took(done or 1, time.monotonic() - begin)
        if done < ticks:
            self.playing = False
            self._maker.rest()
            self._offer()
            self._state()
        elif rate:
            self._show(course.moment())
            self._due = max(now, self._due) + max(FRAME, ticks / rate)
        else:
            self._maker.show(course.moment())

    def _leap(self) -> float:
        """Seconds to compute at a stretch: most of the time of a frame, less where others wait."""
        return _LEAP * self._maker.interval / (1 + TURNS.asked)

    def _ready(self) -> bool:
        """Whether the page can take another frame."""
        return self.frames - self.drawn < WINDOW

    def _offer(self) -> None:
        """Show the present state, now or as soon as the page is ready: there is one debt, of the newest state."""
        self._owed = True  # before the look at the page: one that becomes ready in between finds the debt
        if self._ready():
            self._owed = False
            self._show(self._course.moment())

    def _show(self, moment: Moment) -> None:
        """Send new marks and the frame of a moment."""
        new = [tick for tick in moment.marks if self._told_marks < tick <= moment.tick]
        if new or self._told_marks < 0:
            self._frame(moment.history(self._told_marks))
            self._told_marks = max(new, default=0)
        self._frame(moment.frame(self._course.look))

    def _frame(self, message: bytes) -> None:
        self.frames += 1
        self._send(PREFIX.pack(self.number, self.frames % (1 << 32)) + message)

    def _state(self) -> None:
        tick = 0 if self.course is None else self.course.tick
        self._tell(state={"playing": self.playing, "tick": tick, "speed": self.speed, "dropped": self._maker.dropped})

    def _tell(self, **message: Any) -> None:
        self._send(json.dumps({"number": self.number} | message))


class Outbox:
    """What waits to be sent to a page, in bytes; more than ``most`` of it sets ``overflow``, and nothing more waits."""

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int) -> None:
        self._loop, self._most = loop, most
        self._messages: asyncio.Queue[str | bytes] = asyncio.Queue()
        self._lock = threading.Lock()
        self._bytes = 0
        self.overflow = asyncio.Event()

    def put(self, message: str | bytes) -> None:
        """Let a message wait; from any thread."""
        with self._lock:
            self._bytes += len(message)
            full = self._bytes > self._most
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(*((self.overflow.set,) if full else (self._messages.put_nowait, message)))

    async def get(self) -> str | bytes:
        """The message that waits longest; it counts until :meth:`sent`."""
        return await self._messages.get()

    def sent(self, message: str | bytes) -> None:
        """Say that a message has left."""
        with self._lock:
            self._bytes -= len(message)


async def converse(websocket: Any) -> None:
    """Serve one WebSocket until the page is gone, or leaves too much unread."""
    from starlette.websockets import WebSocketDisconnect

    outbox = Outbox(asyncio.get_running_loop(), UNREAD)
    session = Session(outbox.put)
    session.start()

    async def speak() -> None:
        while True:
            message = await outbox.get()
            await (websocket.send_bytes if isinstance(message, bytes) else websocket.send_text)(message)
            outbox.sent(message)

    async def listen() -> None:
        while True:
            session.receive(await websocket.receive_text())

    tasks = [asyncio.create_task(work) for work in (speak(), listen(), outbox.overflow.wait())]
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
