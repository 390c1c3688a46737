"""Mutual autoencoders on disk: all weights as safetensors, with the settings beside them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.settings import one_line

_KNOWN = {"kind", "target", "penalty", "latent"}


def to_file(path: str | Path, parts: Mapping[str, nn.Module], settings: Mapping[str, Any]) -> None:
    """Write modules by name, and plain settings."""
    tensors = {
        f"{name}.{key}": value.detach().contiguous().clone()
        for name, part in parts.items()
        for key, value in part.state_dict().items()
    }
    metadata = {key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}
    write_atomically(Path(path), save(tensors, metadata))


def read(path: str | Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """What stands beside the tensors of a file, and the tensors."""
    try:
        with safe_open(str(path), framework="pt") as file:
            return file.metadata() or {}, {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise TutelageError(f"{path} cannot be read as safetensors ({error})") from None


def from_file(path: str | Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Settings and tensors that :func:`to_file` wrote."""
    metadata, tensors = read(path)
    if not metadata.keys() >= _KNOWN:
        raise TutelageError(f"{path} holds no mutual autoencoder: save one with .save(path)")
    return {key: _read(value) for key, value in metadata.items()}, tensors


def _read(value: str) -> Any:
    """A number, a word, or nothing, which was once written as None."""
    try:
        return None if value == "None" else json.loads(value)
    except (ValueError, RecursionError):
        return value


def into(parts: Mapping[str, nn.Module], tensors: Mapping[str, Tensor], path: str | Path) -> None:
    """Put tensors into modules of the same shapes."""
    for name, part in parts.items():
        state = {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}
        try:
            part.load_state_dict(state)
        except (RuntimeError, TypeError) as error:
            message = one_line(str(error).splitlines()[-1].strip())
            raise TutelageError(f"the {name} in {path} does not fit the module given ({message})") from None
        part.eval()
