"""The device that bounds are computed on."""

import torch

from tutelage.errors import TutelageError, unknown

DEVICES = ("auto", "cpu", "cuda")


def chosen_device(name: str) -> str:
    """The device "cpu" or "cuda" for a name of a device; "auto" takes a GPU where there is one.

    >>> chosen_device("cpu")
    'cpu'
    """
    if name not in DEVICES:
        raise unknown("device", name, DEVICES)
    if name == "cuda" and not torch.cuda.is_available():
        raise TutelageError("device cuda was asked for, but torch finds no GPU: use cpu or auto")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"
