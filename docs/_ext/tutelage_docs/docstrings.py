"""Docstrings are plain text with formulas: signs that reStructuredText would read as markup are escaped."""

import re
from typing import Any

_KEPT = re.compile(
    r"(``.*?``|:[\w:]+:`[^`]*`|`[^`]*`_?"  # code, roles, links
    r"|(?<![\w*(|^])\*\*[^*\s](?:[^*]*[^*\s])?\*\*(?![\w*])"  # strong
    r"|(?<![\w*(|^])\*[^*\s](?:[^*]*[^*\s])?\*(?![\w*]))"  # emphasis
)
_SIGNS = re.compile(r"(?<!\\)(\||\*|(?<=\w)_(?=\W|$))")


def escape(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape bars, stars and trailing underscores outside code, in place (hook of autodoc)."""
    literal: int | None = None
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not _is_code(line):
            lines[i] = escaped(line)
        if literal is None and (line.rstrip().endswith("::") or line.lstrip().startswith(".. math")):
            literal = indent


def skip(app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what pydantic adds to a record (hook of autodoc)."""
    return True if name.startswith("model_") else None


def _is_code(line: str) -> bool:
    return line.lstrip().startswith((">>>", "...", ".. ", ":param", ":type", "=="))


def escaped(line: str) -> str:
    """One line of prose without accidental markup.

    >>> print(escaped("|w_+|^2 of ``a*b`` and w* x"))
    \\|w\\_+\\|^2 of ``a*b`` and w\\* x
    """
    parts = _KEPT.split(line)
    return "".join(part if i % 2 else _SIGNS.sub(r"\\\1", part) for i, part in enumerate(parts))
