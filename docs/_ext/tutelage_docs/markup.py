"""Text of records as Markdown: what is a sign in Markdown stays what the record says."""

import math
import re
from typing import Any

_SIGNS = re.compile(r"([\\*_{}\[\]<>#$|~^])")


def escape(text: str) -> str:
    """Plain text whose signs are not markup; code in backticks stays code.

    >>> escape("|w_*| of `a_b`")
    '\\\\|w\\\\_\\\\*\\\\| of `a_b`'
    """
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else _SIGNS.sub(r"\\\1", part) for part in parts)


def sentence(text: str) -> str:
    """Escaped text that starts with a capital letter and ends with a full stop.

    >>> sentence("the loss goes to zero")
    'The loss goes to zero.'
    """
    text = escape(text)
    first = text[:1].upper() if not re.match(r"\w\b|\w\(", text) else text[:1]
    return first + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def number(value: Any) -> str:
    """Three digits of a number, a dash for none.

    >>> number(0.123456), number(None), number(1234567.0), number("n/a")
    ('0.123', '-', '1.23e+06', 'n/a')
    """
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "-"
    return f"{value:.3g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else escape(str(value))


def duration(seconds: float) -> str:
    """Seconds, or minutes where there are many.

    >>> duration(9.4), duration(0.62), duration(1940.4)
    ('9.4 s', '0.6 s', '32 minutes')
    """
    if seconds >= 120:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines)
