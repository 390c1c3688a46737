"""Samples that a user keeps in a file."""

from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from tutelage.errors import Refusal


def read_points(path: Path) -> Tensor:
    """The only array of a safetensors file, or the one called points."""
    if not path.is_file():
        raise Refusal(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            name = "points" if "points" in names else names[0] if len(names) == 1 else None
            if name is None:
                held = ", ".join(sorted(names)) or "none"
                raise Refusal(f"{path} holds the arrays {held}: call the samples 'points'")
            return file.get_tensor(name)
    except (SafetensorError, OSError) as error:
        raise Refusal(f"{path} is not a safetensors file ({error})") from None
