"""What the page sends is checked before it is used: it may come from anybody's link."""

from typing import Any

from tutelage.errors import TutelageError
from tutelage.settings import one_line


def table(value: Any) -> dict[str, Any]:
    """Named entries; nothing is a table without any."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TutelageError(f"settings must be a table, got {one_line(str(value))[:60]}")
    return {str(name): entry for name, entry in value.items()}


def rows(value: Any) -> list[Any]:
    """The events of a link; nothing is an empty list."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise TutelageError(f"events must be a list, got {one_line(str(value))[:40]}: copy the link again")
    return value


def whole(value: Any) -> int:
    """A whole number, as JavaScript writes one: 3 or 3.0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e15:
        raise TutelageError(f"a number is needed, got {one_line(str(value))[:60]}")
    return int(value)
