"""Whole numbers as users give them: of Python, NumPy and torch, and floats without a fraction."""

import operator
from collections.abc import Iterable, Mapping
from typing import Any

from tutelage.errors import TutelageError


def whole(value: Any) -> int | None:
    """The whole number that a value is, None if it is none.

    >>> whole(3), whole(3.0), whole(1.5), whole(float("nan")), whole("3")
    (3, 3, None, None, None)
    """
    try:
        return operator.index(value)
    except TypeError:
        number = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    return int(number) if isinstance(number, float) and number.is_integer() else None


def recorded_steps(steps: Iterable[Any]) -> tuple[int, ...]:
    """Steps to record as whole numbers, in the order given; an error for any other value."""
    try:
        values = list(steps)
    except TypeError:
        raise TutelageError(f"recorded steps must be a list of whole numbers, got {steps!r}") from None
    recorded = [whole(value) for value in values]
    if None in recorded:
        raise TutelageError(f"recorded steps must be whole numbers, got {values[recorded.index(None)]!r}")
    return tuple(step for step in recorded if step is not None)


def steps_to_record(record: Any, total: int) -> tuple[int, ...]:
    """The steps that a list names, or a table as in YAML: ``every`` so many steps, and ``at`` further ones.

    >>> steps_to_record({"every": 50, "at": [7]}, 100), steps_to_record([3.0], 100)
    ((0, 50, 100, 7), (3,))
    """
    if not isinstance(record, Mapping):
        return recorded_steps(record)
    if unknown := set(record) - {"every", "at"}:
        raise TutelageError(f"record must have 'every' and 'at' alone, got {sorted(map(str, unknown))[0]!r}")
    regular = range(0, total + 1, positive(record["every"], "record['every']")) if record.get("every") else ()
    return (*regular, *recorded_steps(record.get("at", ())))


def positive(value: Any, name: str) -> int:
    """A whole number of at least 1; an error for any other value.

    >>> positive(3.0, "count")
    3
    """
    number = whole(value)
    if number is None or number < 1:
        raise TutelageError(f"{name} must be a whole number of at least 1, got {value!r}")
    return number
