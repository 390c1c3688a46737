"""A laboratory for teacher-student networks.

A fixed teacher labels inputs, many students learn from it, and the laboratory says what each student became.
Importing the package costs nothing: what a name needs is imported when the name is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PACKAGES = (
    "autoencoders",
    "certificates",
    "distillation",
    "geometry",
    "inputs",
    "lab",
    "measures",
    "networks",
    "studies",
    "teachers",
    "training",
)
_NAMES = {
    "Network": "networks",
    "Refusal": "errors",
    "Trajectory": "training",
    "canonical": "geometry",
    "certify": "certificates",
    "connect": "geometry",
    "distil": "distillation",
    "identify": "geometry",
    "match": "geometry",
    "measure": "measures",
    "prune": "geometry",
    "reproduce": "studies",
    "same_function": "geometry",
    "train": "training",
}
"""Names of the package by the module that has them."""

__all__ = [
    "Network",
    "Refusal",
    "Trajectory",
    "autoencoders",
    "canonical",
    "certificates",
    "certify",
    "connect",
    "distil",
    "distillation",
    "geometry",
    "identify",
    "inputs",
    "lab",
    "match",
    "measure",
    "measures",
    "networks",
    "prune",
    "reproduce",
    "same_function",
    "studies",
    "teachers",
    "train",
    "training",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'tutelage' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if TYPE_CHECKING:
    from tutelage import (
        autoencoders,
        certificates,
        distillation,
        geometry,
        inputs,
        lab,
        measures,
        networks,
        studies,
        teachers,
        training,
    )
    from tutelage.certificates import certify
    from tutelage.distillation import distil
    from tutelage.errors import Refusal
    from tutelage.geometry import canonical, connect, identify, match, prune, same_function
    from tutelage.measures import measure
    from tutelage.networks import Network
    from tutelage.studies import reproduce
    from tutelage.training import Trajectory, train
