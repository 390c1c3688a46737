"""A laboratory for teacher-student networks.

A fixed teacher labels inputs, many students learn from it, and the laboratory says what each student became.
Importing the package costs nothing: what a name needs is imported when the name is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_PACKAGES = (
    "alignment",
    "autoencoders",
    "certificates",
    "data",
    "distillation",
    "exits",
    "functions",
    "lab",
    "local",
    "margins",
    "measures",
    "networks",
    "planted",
    "population",
    "specialisation",
    "studies",
    "studio",
    "training",
)
_NAMES = {
    "Network": "networks",
    "TeacherStudent": "lab",
    "Trajectory": "training",
    "TutelageError": "errors",
    "barrier": "functions",
    "canonical": "functions",
    "certify": "certificates",
    "connect": "functions",
    "distil": "distillation",
    "grid": "lab.from_python",
    "identify": "functions",
    "inputs": "training",
    "match": "functions",
    "measure": "measures",
    "prune": "functions",
    "query": "lab.from_python",
    "reproduce": "studies",
    "results": "lab.from_python",
    "run": "lab.from_python",
    "same_function": "functions",
    "students": "training",
    "teachers": "training",
    "train": "training",
}
"""Names of the package by the package that has them."""

__all__ = [
    "Network",
    "TeacherStudent",
    "Trajectory",
    "TutelageError",
    "alignment",
    "autoencoders",
    "barrier",
    "canonical",
    "certificates",
    "certify",
    "connect",
    "data",
    "distil",
    "distillation",
    "exits",
    "functions",
    "grid",
    "identify",
    "inputs",
    "lab",
    "local",
    "margins",
    "match",
    "measure",
    "measures",
    "networks",
    "planted",
    "population",
    "prune",
    "query",
    "reproduce",
    "results",
    "run",
    "same_function",
    "specialisation",
    "students",
    "studies",
    "studio",
    "teachers",
    "train",
    "training",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        package = importlib.import_module(f"{__name__}.{_NAMES[name]}")
        value = getattr(package, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'tutelage' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if TYPE_CHECKING:
    from tutelage import (
        alignment,
        autoencoders,
        certificates,
        data,
        distillation,
        exits,
        functions,
        lab,
        local,
        margins,
        measures,
        networks,
        planted,
        population,
        specialisation,
        studies,
        studio,
        training,
    )
    from tutelage.certificates import certify
    from tutelage.distillation import distil
    from tutelage.errors import TutelageError
    from tutelage.functions import barrier, canonical, connect, identify, match, prune, same_function
    from tutelage.lab import TeacherStudent
    from tutelage.lab.from_python import grid, query, results, run
    from tutelage.measures import measure
    from tutelage.networks import Network
    from tutelage.studies.reproduce import reproduce
    from tutelage.training import Trajectory, inputs, students, teachers
    from tutelage.training.train import train
