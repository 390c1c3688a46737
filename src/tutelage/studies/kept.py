"""Finished parts of a study's evidence, put by: interrupted work is not lost, and studies share what is common.

A part is a few arrays and a plain description of what they are the answer to: settings, seeds, images. It stands in one
file, named after the digest of that description and of the package's version.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

import tutelage
from tutelage.files import write_atomically
from tutelage.version import commit

Arrays = dict[str, np.ndarray]


class Kept:
    """Parts in a folder; without a folder they are kept as long as this object is.

    >>> kept = Kept()
    >>> kept.recall({"what": "square", "of": 3}) is None
    True
    >>> kept.keep({"what": "square", "of": 3}, {"value": np.array(9.0)})
    >>> float(kept.recall({"what": "square", "of": 3})["value"])
    9.0
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = Path(folder) if folder else None
        self._parts: dict[str, tuple[Arrays, dict]] = {}
        self._used: dict[str, dict] = {}

    @property
    def used(self) -> list[dict]:
        """Where the parts that were asked for come from: description, commit, date, device, seconds."""
        return list(self._used.values())

    def recall(self, about: Mapping[str, Any]) -> Arrays | None:
        """The arrays kept under this description, None where there are none; a damaged file is as good as none."""
        name = _name(about)
        if name not in self._parts:
            found = _read(self._folder / name) if self._folder else None
            if found is None:
                return None
            self._parts[name] = found
        arrays, self._used[name] = self._parts[name]
        return arrays

    def keep(self, about: Mapping[str, Any], arrays: Arrays, seconds: float = 0.0) -> None:
        """Put arrays by under a description of plain data; ``what`` in it begins the file's name."""
        name = _name(about)
        origin = {
            "about": dict(about),
            "commit": commit(),
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            "seconds": round(seconds, 1),
        }
        whole = {key: np.asarray(array, order="C") for key, array in arrays.items()}
        self._parts[name], self._used[name] = (whole, origin), origin
        if self._folder:
            write_atomically(self._folder / name, save(whole, metadata={"origin": json.dumps(origin)}))

    def part(self, about: Mapping[str, Any], work: Callable[[], Mapping[str, Any]]) -> Arrays:
        """The arrays kept under this description, worked out and put by where there are none.

        >>> kept = Kept()
        >>> [float(kept.part({"what": "root", "of": n}, lambda n=n: {"value": n**0.5})["value"]) for n in (4, 9)]
        [2.0, 3.0]
        """
        found = self.recall(about)
        if found is None:
            began = perf_counter()
            self.keep(about, {name: np.asarray(value) for name, value in work().items()}, perf_counter() - began)
            found = self.recall(about)
        assert found is not None
        return found


def _name(about: Mapping[str, Any]) -> str:
    described = json.dumps({**about, "version": tutelage.__version__}, sort_keys=True)
    return f"{about['what']}-{hashlib.blake2b(described.encode(), digest_size=10).hexdigest()}.safetensors"


def _read(path: Path) -> tuple[Arrays, dict] | None:
    if not path.is_file():
        return None
    try:
        with safe_open(path, "numpy") as file:
            return {key: file.get_tensor(key) for key in file.keys()}, json.loads(file.metadata()["origin"])  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError):
        return None
