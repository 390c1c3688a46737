"""What an experiment is given to run with: device, threads, progress, results it needs, a place for checkpoints."""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save

from tutelage.files import write_atomically
from tutelage.printing import printed
from tutelage.settings import one_line

if TYPE_CHECKING:
    from tutelage.lab.experiment import Experiment

log = logging.getLogger(__name__)

_SHOWN = 200  # letters of what is wrong with a checkpoint


def _no_results(experiment: "Experiment") -> Any:
    raise LookupError(f"there is no store to read the results of {experiment.kind} {experiment.hash} from")


@printed
@dataclass(frozen=True)
class Context:
    """Where and how an experiment is computed; nothing in it may change the numbers beyond rounding.

    Attributes
    ----------
    device
        Chosen by the user, never probed by an experiment.
    threads
        Cores to use.
    engine
        Training engine of stacked students.
    progress
        Called with the share done, from 0 to 1.
    result
        From an experiment that this one needs to its stored result.
    scratch
        Folder for checkpoints, or None.
    on_done, advance
        Progress of several experiments that are computed together: as a share of one of them, or in seconds of cost.
    """

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    threads: int = 1
    engine: str = "auto"
    progress: Callable[[float], None] = lambda share: None
    result: Callable[["Experiment"], Any] = _no_results
    scratch: Path | None = None
    on_done: Callable[["Experiment", float], None] = lambda experiment, share: None
    advance: Callable[[float], None] = lambda seconds: None

    @contextmanager
    def of(self, experiment: "Experiment") -> Iterator["Context"]:
        """The context of one experiment: its own progress and its own folder for checkpoints."""
        scratch = None if self.scratch is None else self.scratch / experiment.hash
        yield replace(self, scratch=scratch, progress=lambda share: self.on_done(experiment, share))

    def part(self, name: str, work: Callable[[], Mapping[str, Any]]) -> dict[str, np.ndarray]:
        """Arrays of a finished part of this experiment, computed and stored as a checkpoint where there is none.

        An experiment that takes long does its work in parts, so that an interrupted one goes on from the last. The
        checkpoints are removed when the whole experiment is stored. A damaged one is computed again.
        """
        path = None if self.scratch is None else self.scratch / f"{_file_name(name)}.safetensors"
        if path is not None and (stored := _read(path, name)) is not None:
            return stored
        arrays = {key: np.asarray(value, order="C") for key, value in work().items()}
        if path is not None:
            about = {"part": name, "names": list(arrays), "sha256": _checksum(arrays)}
            write_atomically(path, save(arrays, metadata={"checkpoint": json.dumps(about)}))
        return arrays

    def forget(self) -> None:
        """Remove the checkpoints of this experiment."""
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)


def _file_name(part: str) -> str:
    return hashlib.sha256(part.encode()).hexdigest()[:20]


def _checksum(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names, types, shapes and bytes of arrays."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        total.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def _read(path: Path, name: str) -> dict[str, np.ndarray] | None:
    """The arrays of a checkpoint in the order in which they were computed, None where it is missing or damaged.

    A file has an order of its own, and the order of arrays is that of the columns of the stored results.
    """
    if not path.is_file():
        return None
    try:
        with safe_open(path, "numpy") as file:
            about = json.loads(file.metadata()["checkpoint"])
            arrays = {key: file.get_tensor(key) for key in about["names"]}
        if about["part"] == name and about["sha256"] == _checksum(arrays):
            return arrays
        why = "it holds something else"
    except Exception as error:  # a file may hold anything, and what readers raise of it is as various
        why = one_line(f"{type(error).__name__}: {error}")[:_SHOWN]
    log.warning("the checkpoint %s is damaged and is computed again (%s)", path, why)
    return None
