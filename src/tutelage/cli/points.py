"""Samples that a user keeps in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from torch import Tensor


def read_points(path: Path) -> Tensor:
    """The only array of a safetensors file, or the one called points."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            name = "points" if "points" in names else names[0] if len(names) == 1 else None
            if name is None:
                held = ", ".join(sorted(names)) or "none"
                raise TutelageError(f"{path} has the arrays {held}: name the samples 'points'")
            return real_points(file.get_tensor(name), path)
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
