"""Results as short text: shapes instead of numbers, one line per field.

``repr`` of a result is one line, ``print`` shows one line per field, and notebooks show the same as a table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any, TypeVar

T = TypeVar("T", bound=type)

_LISTED = 6  # entries of a list that are shown one by one
_ENTRIES = 24  # entries of a table that have a row each
_LONGEST = 100  # letters of a value


def printed(result: T) -> T:
    """Class decorator for results: short ``repr``, ``str`` and ``_repr_html_`` made from the fields.

    A ``__str__`` that the class defines stays. A method ``_title`` returns what the first line says after the name of
    the class.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @printed
    ... @dataclass(frozen=True)
    ... class Angles:
    ...     students: np.ndarray
    ...     dimension: int
    >>> angles = Angles(np.zeros((3, 4)), 2)
    >>> angles
    Angles(students=float64 [3, 4], dimension=2)
    >>> print(angles)
    Angles
      students   float64 [3, 4]
      dimension  2
    """
    methods: dict[str, Callable[[Any], str]] = {"__repr__": one_line, "__str__": lines, "_repr_html_": html}
    for name, function in methods.items():
        if name == "__repr__" or name not in vars(result):
            setattr(result, name, function)
    return result


def one_line(result: Any) -> str:
    """The class and its fields in one line."""
    title = _title(result)
    inside = title or ", ".join(f"{name}={describe(value)}" for name, value in _shown(result))
    return f"{type(result).__name__}({_cut(inside, 3 * _LONGEST)})"


def lines(result: Any) -> str:
    """The class, then one line per field."""
    described = [row for name, value in _shown(result) for row in _rows(name, value)]
    width = max((len(name) for name, _ in described), default=0)
    title = _title(result)
    head = f"{type(result).__name__}: {title}" if title else type(result).__name__
    return "\n".join([head, *(f"  {name:<{width}}  {text}" for name, text in described)])


def html(result: Any) -> str:
    """The text of a result for a notebook: as a table, or as it is where the class has its own text."""
    if type(result).__str__ is not lines:
        return f"<pre>{escape(str(result))}</pre>"
    title = _title(result)
    head = f"<b>{type(result).__name__}</b>{f': {escape(title)}' if title else ''}"
    cells = "".join(
        f'<tr><td style="text-align:left">{escape(name)}</td><td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in (row for name, value in _shown(result) for row in _rows(name, value))
    )
    return f"<div>{head}<table>{cells}</table></div>"


def printable(text: str) -> str:
    r"""Text without what a terminal would obey: all but letters, ends of lines and tabs is escaped.

    >>> print(printable("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def _shown(result: Any) -> list[tuple[str, Any]]:
    """Name and value of every public field that is shown."""
    return [(f.name, getattr(result, f.name)) for f in fields(result) if f.repr and not f.name.startswith("_")]


def _rows(name: str, value: Any) -> list[tuple[str, str]]:
    """One row per field; tables have one row per entry, unless they are long."""
    if isinstance(value, Mapping) and 1 < len(value) <= _ENTRIES:
        return [(f"{name}[{key!r}]", describe(entry)) for key, entry in value.items()]
    return [(name, describe(value))]


def describe(value: Any) -> str:
    """A value in a few words: shapes for arrays, counts for long lists.

    >>> import numpy as np
    >>> describe(np.zeros((2, 3))), describe([1, 2]), describe({"a": np.ones(2)}), describe(0.123456789)
    ('float64 [2, 3]', '1, 2', 'a: float64 [2]', '0.1235')
    """
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.4g}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return _array(value)
    if isinstance(value, Mapping):
        return _listed([f"{key}: {describe(v)}" for key, v in value.items()], "entries")
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return _listed([describe(v) for v in value], "entries")
    if is_dataclass(value) or not callable(value):
        return _cut(" ".join(str(value).split()) if not is_dataclass(value) else repr(value))
    return getattr(value, "__qualname__", type(value).__name__)


def _array(value: Any) -> str:
    kind = str(value.dtype).removeprefix("torch.")
    if len(value.shape) == 0:
        return describe(value.item())
    return f"{kind} [{', '.join(map(str, value.shape))}]"


def _listed(texts: list[str], noun: str) -> str:
    """The texts one by one where they are few, their number and the first of them otherwise."""
    if not texts:
        return "none"
    if len(texts) <= _LISTED:
        return _cut(", ".join(texts))
    return _cut(f"{len(texts)} {noun}: {', '.join(texts[:2])}, ..., {texts[-1]}")


def _title(result: Any) -> str:
    title = getattr(result, "_title", None)
    return title() if title is not None else ""


def _cut(text: str, most: int = _LONGEST) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
