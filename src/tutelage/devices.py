"""The choice of a device, in one place: by name, checked before anything is put there."""

import torch

from tutelage.errors import TutelageError


def pick_device(name: str | torch.device = "auto") -> torch.device:
    """The device of a name, "auto", "cpu" or "cuda" (of several GPUs "cuda:1"); "auto" takes a GPU where there is one.

    >>> pick_device("cpu")
    device(type='cpu')
    """
    kind, _, number = str(name).partition(":")
    if kind not in ("auto", "cpu", "cuda") or (number and not (kind == "cuda" and number.isdecimal())):
        raise TutelageError(f"device must be auto, cpu or cuda, got '{name}'")
    if kind == "cuda" and not torch.cuda.is_available():
        raise TutelageError("no CUDA device is available here: use the device cpu or auto")
    if kind == "auto":
        kind = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(f"{kind}:{number}" if number else kind)
