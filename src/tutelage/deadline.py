"""Time limits: one clock for a whole command, its start included.

A limit is kept by asking for it often: loops ask ``passed``; a routine deep inside, whose caller keeps the best answer
so far, asks ``check`` and is left by an exception. A native call cannot be asked anything while it runs, so work goes
to it in pieces of about :data:`PIECE` products.
"""

import time

from tutelage.errors import TutelageError

PIECE = 1 << 28
"""Products of numbers that one native call may take: a twentieth of a second, and more than enough to be efficient."""


_began: list[float] = []


def begin_command() -> None:
    """The command line begins, and with it the time of its command."""
    _began[:] = [time.monotonic()]


class OutOfTime(Exception):
    """A time limit passed in the middle of some work, which is left as it is; callers go on with what they had."""


class Deadline:
    """A time limit in seconds, from now or from another moment of the monotonic clock; None for no limit.

    >>> Deadline(None).left, Deadline(0).passed, Deadline(60).within(5).seconds
    (inf, True, 5.0)
    """

    def __init__(self, seconds: float | None, since: float | None = None) -> None:
        if seconds is not None:
            try:
                seconds = float(seconds)
            except (TypeError, ValueError, RuntimeError, OverflowError):
                raise TutelageError(f"seconds must be a number, got {seconds!r}") from None
            if not seconds >= 0:
                raise TutelageError(f"seconds must be at least 0, got {seconds}")
        self.seconds = seconds
        self._end = float("inf") if seconds is None else (time.monotonic() if since is None else since) + seconds

    @classmethod
    def of(cls, limit: "float | Deadline | None") -> "Deadline":
        """A limit that is one already, or one of so many seconds from now."""
        return limit if isinstance(limit, Deadline) else cls(limit)

    @classmethod
    def of_command(cls, seconds: float | None) -> "Deadline":
        """The limit of a command, counted from where the command line began; what it imports takes seconds."""
        return cls(seconds, _began[-1] if _began else None)

    @property
    def left(self) -> float:
        """Seconds left, infinite without a limit."""
        return self._end - time.monotonic()

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._end

    def check(self, needed: float = 0.0) -> None:
        """Raise OutOfTime where the limit has passed, or will before so many seconds are over."""
        if self.passed or self.left < needed:
            raise OutOfTime

    def within(self, seconds: float) -> "Deadline":
        """A time limit of so many seconds from now that ends no later than this one; at once where this one passed."""
        return Deadline(max(0.0, min(seconds, self.left)))

    def share(self, part: float) -> "Deadline":
        """A time limit of this share of the seconds left; none where this is none."""
        return self if self.seconds is None else Deadline(part * max(0.0, self.left))

    def at_least(self, seconds: float) -> "Deadline":
        """This limit, or one of so many seconds from now if that is later."""
        return self if self.left >= seconds else Deadline(seconds)


NEVER = Deadline(None)
"""No limit."""


def rows_at_a_time(products: float) -> int:
    """How many rows of so many products each a native call may take.

    >>> rows_at_a_time(1e6), rows_at_a_time(1e12)
    (268, 1)
    """
    return max(1, int(PIECE / max(products, 1.0)))
