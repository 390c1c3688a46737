"""Questions without a timeline: two networks compared, results browsed."""

from pathlib import Path
from typing import Any

from tutelage.errors import unknown
from tutelage.studio.uploads import Uploads


def answered(asked: dict[str, Any], uploads: Uploads, results: Path | None) -> dict[str, Any] | bytes:
    """The answer to a question of the page, plain data or the bytes of a file."""
    raise unknown("question", asked.get("about"), [])
