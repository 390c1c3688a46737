"""Where kinds of experiments are defined: in the studies of the package, which are imported when one is asked for."""

import importlib


def import_all_kinds() -> None:
    """Import every module of the package that defines a kind of experiment."""
    for module in ("tutelage.runs.spec", "tutelage.studies"):
        importlib.import_module(module)
