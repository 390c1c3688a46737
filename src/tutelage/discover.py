"""Adding a file to a package is enough: every module is imported, and registers what it holds."""

import importlib
import pkgutil
from collections.abc import Iterable

SUBJECTS = (
    "functions",
    "specialisation",
    "alignment",
    "local",
    "margins",
    "autoencoders",
    "distillation",
    "exits",
    "planted",
)
"""Packages that hold a subject: its theory, and where there are any ``certificates`` and ``studies``."""


def import_all(package: str, path: Iterable[str]) -> None:
    """Import all modules of a package in the order of their names, but for private ones (``_name``)."""
    for module in pkgutil.iter_modules(path):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package}.{module.name}")


def import_from_subjects(name: str) -> None:
    """Import the subpackage of this name, "studies" or "certificates", of every subject that has one."""
    for subject in SUBJECTS:
        package = importlib.import_module(f"tutelage.{subject}")
        if any(module.name == name for module in pkgutil.iter_modules(package.__path__)):
            importlib.import_module(f"tutelage.{subject}.{name}")
