"""Who computes, when and for how long: fair turns between connections, and frames made beside the training."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tutelage.studio.course import Moment
from tutelage.threads import one_thread

FRAME = 1 / 31
"""Seconds between frames, at least."""
_SLOWEST = 1 / 17  # seconds between frames that cost much
_SHARE = 0.2  # of a core goes into frames, unless there would be too few
_CLOSED = 0.5  # seconds after which a waiting thread looks whether it is still wanted


class Turns:
    """One course computes at a time, in the order of asking: it has all cores, and no one starves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._taken = False

    @property
    def asked(self) -> int:
        """How many are waiting for their turn."""
        return len(self._waiting)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A turn, when it comes."""
        mine = threading.Event()
        with self._lock:
            if self._taken:
                self._waiting.append(mine)
            else:
                self._taken = True
                mine.set()
        # Invariant: at most one event is set and not yet given back. The one who leaves hands the turn to the head of
        # the queue and does not free it first, so that nobody who comes later can take it in between.
        mine.wait()
        try:
            yield
        finally:
            with self._lock:
                if self._waiting:
                    self._waiting.popleft().set()
                else:
                    self._taken = False


class Pace:
    """How many ticks fit into a time, learnt from those before."""

    def __init__(self) -> None:
        self._rate = 0.0

    def ticks(self, seconds: float) -> int:
        """Ticks that take about so long, at least one."""
        return max(1, int(self._rate * seconds))

    def took(self, ticks: int, seconds: float) -> None:
        """Learn that these ticks took so long; one slow stretch among fast ones counts for a third."""
        rate = ticks / max(seconds, 1e-6)
        self._rate = min(2 * self._rate + rate, 3 * rate) / 3 if self._rate else rate


class FrameMaker:
    """Makes frames of the newest moment in a thread of its own, when one is due and the page is ready.

    Parameters
    ----------
    make
        Makes and sends the frame of a moment.
    ready
        Whether the page can take a frame.
    """

    def __init__(self, make: Callable[[Moment], None], ready: Callable[[], bool]) -> None:
        self._make, self._ready = make, ready
        self._news = threading.Condition()
        self._newest: Moment | None = None
        self._busy = self._closed = False
        self._failed: Exception | None = None
        self._due = 0.0
        self.interval = FRAME  # seconds between frames, more for those that cost much
        self.dropped = 0
        self._thread = threading.Thread(target=self._work, name="studio-frames", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def show(self, moment: Moment) -> None:
        """Make a frame of this moment, unless a newer one comes first; raises what went wrong with an earlier one."""
        with self._news:
            if self._failed is not None:
                failed, self._failed = self._failed, None
                raise failed
            self._newest = moment
            self._news.notify()

    def wake(self) -> None:
        """Say that the page may be ready again."""
        with self._news:
            self._news.notify()

    def rest(self) -> None:
        """Return when no frame is being made, and make none until the next moment is shown."""
        with self._news:
            self._newest = None
            while self._busy and not self._closed:
                self._news.wait(_CLOSED)

    def close(self) -> None:
        """End the thread after the frame it is making."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    def join(self, seconds: float) -> None:
        """Wait until the thread has ended, at most so long."""
        self._thread.join(seconds)

    def _work(self) -> None:
        one_thread()
        while (moment := self._next()) is not None:
            begin = time.thread_time()
            try:
                self._make(moment)
            except Exception as error:  # raised in the thread of the course, which tells the page
                self._failed = error
            cost = time.thread_time() - begin
            with self._news:
                self._busy = False
                self.interval = min(max(FRAME, cost / _SHARE), _SLOWEST)
                self._news.notify_all()

    def _next(self) -> Moment | None:
        """The moment to show, when it is time; None at the end."""
        with self._news:
            # Every round either waits or returns. A page that is not ready costs one look per interval, and the newest
            # moment is kept meanwhile: it is replaced, never queued, so that a slow page skips frames.
            while not self._closed:
                now = time.monotonic()
                if self._newest is None:
                    wait = _CLOSED
                elif now < self._due:
                    wait = self._due - now
                elif not self._ready():
                    self.dropped += 1
                    self._due = now + self.interval
                    continue
                else:
                    # Counted from when it was due, so that the rate is kept on average; from now after a long pause,
                    # so that no burst of frames makes up for it.
                    self._due = max(self._due + self.interval, now)
                    self._busy, moment, self._newest = True, self._newest, None
                    return moment
                self._news.wait(wait)
            return None
