"""The boundary around every reader of networks: whatever reading a file raises is one error that names the file."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from tutelage.errors import InternalError, TutelageError

F = TypeVar("F", bound=Callable[..., Any])

_WHY, _SENTENCE = 200, 800  # letters of what a parser says, and of a sentence of this library with names out of a file


def reader(read: F) -> F:
    """Decorator for functions that read the file at a path, their first argument."""

    @wraps(read)
    def checked(path: str | Path, *args: Any, **how: Any) -> Any:
        try:
            return read(path, *args, **how)
        except InternalError:
            raise
        except TutelageError as error:
            raise TutelageError(escaped(str(error), _SENTENCE)) from None
        except (Exception, MemoryError) as error:  # parsers of other libraries raise whatever they meet
            why = escaped(f"{type(error).__name__}: {error}", _WHY)
            raise TutelageError(escaped(f"{path} cannot be read ({why})", _SENTENCE)) from None

    return checked  # type: ignore[return-value]


def escaped(text: str, most: int) -> str:
    r"""Text that can be printed, cut where it is long: a file may hold anything.

    >>> print(escaped("two\nlines", 8))
    two\n...
    """
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: most + 1])
    return text if len(text) <= most else f"{text[: most - 3]}..."
