"""Samples with labels that a user keeps in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tutelage.cli.points import real_points
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from torch import Tensor

    from tutelage.networks import Network


def read_samples(path: Path, labeller: Network) -> tuple[Tensor, Tensor]:
    """The arrays points and labels of a safetensors file; without labels, those that the network gives."""
    from safetensors import SafetensorError, safe_open

    from tutelage.networks import outputs
    from tutelage.networks.forward import stacked_points

    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            if "points" not in names:
                raise TutelageError(f"{path} has the arrays {', '.join(sorted(names)) or 'none'}: name one 'points'")
            points = real_points(file.get_tensor("points"), path)
            labels = file.get_tensor("labels") if "labels" in names else None
    except (SafetensorError, OSError) as error:
        raise TutelageError(f"{path} is not a safetensors file ({error})") from None
    if labels is None:
        stacked = stacked_points(labeller, points.to(labeller.dtype))
        labels = outputs(labeller, stacked)
    return points, labels
