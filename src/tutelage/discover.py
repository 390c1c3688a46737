"""Adding a file to a package is enough: every module is imported, and registers what it holds."""

import importlib
import pkgutil
from collections.abc import Iterable


def import_all(package: str, path: Iterable[str]) -> None:
    """Import all modules of a package in the order of their names, but for private ones (``_name``)."""
    for module in pkgutil.iter_modules(path):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package}.{module.name}")
