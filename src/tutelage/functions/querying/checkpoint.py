"""What a search asked so far, in a file."""

import json
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.functions.querying.lines import Lines
from tutelage.functions.querying.oracle import Oracle, Spent

_FORMAT = "tutelage-identification-3"
_ASKED_AGAIN = 64  # stored points at which the black box must still give the stored values
_ROUNDED = 1e-9  # share of the largest value by which answers in batches of other sizes may differ


def keep(path: str | Path | None, about: dict[str, Any], pool: Lines, lines: int, asked: Oracle) -> None:
    """Write what was asked so far; the file is complete or absent."""
    if path is None:
        return
    text = json.dumps(about | {"format": _FORMAT, "lines": lines, "queries": asked.queries, "largest": asked.largest})
    write_atomically(Path(path), to_bytes(pool.arrays(), metadata={"tutelage": text}))


def resumed(path: str | Path | None, about: dict[str, Any], asked: Oracle) -> tuple[Lines | None, int]:
    """The fold points of an earlier call with the same settings, about the same function."""
    if path is None or not Path(path).exists():
        return None, 0
    try:
        with safe_open(path, framework="np") as file:
            kept = json.loads((file.metadata() or {}).get("tutelage", "{}"))
            if kept.get("format") != _FORMAT or any(kept.get(k) != v for k, v in about.items()):
                raise TutelageError(
                    f"{path} is not a checkpoint of this call: give another file, or the settings it has"
                )
            pool = Lines(**{f.name: file.get_tensor(f.name) for f in fields(Lines)})
    except (SafetensorError, OSError) as error:
        raise TutelageError(f"{path} is not a checkpoint ({error}): give another file") from None
    asked.queries, asked.largest = kept["queries"], kept["largest"]
    with suppress(Spent):
        _ask_again(path, pool, asked)
    return pool, kept["lines"]


def _ask_again(path: str | Path, pool: Lines, asked: Oracle) -> None:
    """Raise an error where the black box no longer gives the stored values."""
    some = slice(None, None, len(pool.points) // _ASKED_AGAIN + 1)
    apart = float(np.abs(asked.values(pool.points[some]) - pool.values[some]).max(initial=0.0))
    if apart > 2 * asked.noise + _ROUNDED * asked.largest:
        raise TutelageError(
            f"{path} has the answers of another function, which differ by up to {apart:.2g}: give another checkpoint, "
            "or remove this one"
        )
