"""Samples, with labels or without, that a user keeps in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from torch import Tensor

    from tutelage.networks import Network


def read_points(path: Path) -> Tensor:
    """The only array of a safetensors file, or the one called points."""
    arrays = _read(path)
    name = "points" if "points" in arrays else next(iter(arrays)) if len(arrays) == 1 else None
    if name is None:
        held = ", ".join(sorted(arrays)) or "none"
        raise TutelageError(f"{path} has the arrays {held}: name the samples 'points'")
    return real_points(arrays[name], path)


def read_samples(path: Path, labeller: Network) -> tuple[Tensor, Tensor]:
    """The arrays points and labels of a safetensors file; without labels, those that the network gives."""
    from tutelage.networks import outputs
    from tutelage.networks.forward import stacked_points

    arrays = _read(path)
    if "points" not in arrays:
        raise TutelageError(f"{path} has the arrays {', '.join(sorted(arrays)) or 'none'}: name one 'points'")
    points = real_points(arrays["points"], path)
    if "labels" in arrays:
        return points, arrays["labels"]
    return points, outputs(labeller, stacked_points(labeller, points.to(labeller.dtype)))


def _read(path: Path) -> dict[str, Tensor]:
    """The arrays of a safetensors file."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)
    except (SafetensorError, OSError) as error:
        raise TutelageError(f"{path} is not a safetensors file ({error})") from None


def real_points(points: Tensor, path: Path) -> Tensor:
    """Samples as floating-point numbers; whole numbers become them."""
    import torch

    from tutelage.networks.network import PRECISIONS

    if points.dtype in PRECISIONS:
        return points
    if points.is_floating_point() or points.is_complex() or points.dtype == torch.bool:
        kind = str(points.dtype).removeprefix("torch.")
        raise TutelageError(
            f"the samples of {path} are of type {kind}: give real numbers, float16 to float64 or integers"
        )
    return points.double()
