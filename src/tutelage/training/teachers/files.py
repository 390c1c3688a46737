"""Teachers from files, and data sets that need no teacher."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import torch
from pydantic import Field, PositiveInt

from tutelage.errors import TutelageError
from tutelage.networks import BlackBox, Network, read_network
from tutelage.networks.activations import ActivationName
from tutelage.networks.importing import files_of, tells_activation
from tutelage.training.inputs import Distribution
from tutelage.training.teachers.teacher import Teacher


class FromFile(Teacher):
    """Networks read from a file: one of tutelage, a torch state dict as safetensors, ONNX or .nnet; its content enters
    the hash.

    A file with one network gives every member that teacher; a file with several must have one per member.
    """

    kind: Literal["file"] = "file"
    path: Path
    """The file."""
    activation: ActivationName = "relu"
    """Activation of the hidden units, for files that do not say; another one than a file says is an error."""
    slope: float = Field(default=0.01, ge=0, lt=1)
    """Slope of leaky units for negative inputs, for files that do not say."""

    def reads(self) -> tuple[Path, ...]:
        return files_of(self.path) if self.path.is_file() else (self.path,)

    def widths(self) -> tuple[int, ...]:
        return self._network().widths

    def make(
        self,
        seeds: Sequence[int],
        distribution: Distribution | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Network:
        network = self._network().to(device, dtype)
        if network.members not in (1, len(seeds)):
            raise TutelageError(
                f"{self.path} has {network.members} networks for {len(seeds)} members: store one, or one per member"
            )
        return network.expand(len(seeds))

    def _network(self) -> Network:
        try:
            stamp = tuple(path.stat().st_mtime_ns for path in files_of(self.path))
        except OSError as error:
            raise TutelageError(f"{self.path} cannot be read ({error.strerror})") from None
        given = self.model_fields_set
        activation = self.activation if "activation" in given and self.activation != "relu" else None
        return _read(self.path, stamp, activation, self.slope if activation == "leaky" and "slope" in given else None)


@lru_cache(maxsize=4)
def _read(path: Path, stamp: tuple[int, ...], activation: str | None, slope: float | None) -> Network:
    return read_network(path, "relu" if activation is None and not tells_activation(path) else activation, slope)


class NoTeacher(Teacher):
    """No teacher: the labels come with the inputs, from a data set."""

    kind: Literal["none"] = "none"
    inputs: PositiveInt
    """Number of inputs d."""
    outputs: PositiveInt
    """Number of outputs C."""

    def widths(self) -> tuple[int, ...]:
        return (self.inputs, self.outputs)

    def make(
        self,
        seeds: Sequence[int],
        distribution: Distribution | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> BlackBox:
        return BlackBox(None, self.inputs, self.outputs, len(seeds), dtype, torch.device(device))
