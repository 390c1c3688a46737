"""Finished parts of a study's evidence, put by: interrupted work is not lost, and studies share what is common.

A part is a few arrays and a plain description of what they are the answer to: settings, seeds, images. It stands in one
file, named after the digest of that description and of the package's version. The file holds a SHA-256 sum of all that
is read from it; a part that does not match is worked out again, with a warning.
"""

import hashlib
import json
import logging
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

log = logging.getLogger(__name__)

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
        """The arrays kept under this description, None where there are none.

        A damaged file, or one without a checksum, is as good as none; a warning says so.
        """
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
            text = json.dumps(origin)
            metadata = {"origin": text, "sha256": _checksum(whole, text)}
            write_atomically(self._folder / name, save(whole, metadata=metadata))

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


def _checksum(arrays: Arrays, origin: str) -> str:
    """SHA-256 of the names, kinds, shapes and numbers of arrays and of where they come from."""
    total = hashlib.sha256(origin.encode())
    for name in sorted(arrays):
        array = arrays[name]
        total.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def _read(path: Path) -> tuple[Arrays, dict] | None:
    if not path.is_file():
        return None
    try:
        with safe_open(path, "numpy") as file:
            arrays, about = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
        if about["sha256"] == _checksum(arrays, about["origin"]):
            return arrays, json.loads(about["origin"])
    except (SafetensorError, KeyError, TypeError, ValueError, OSError):
        pass
    log.warning("the part %s of the evidence is damaged, or has no checksum: it is worked out again", path)
    return None
