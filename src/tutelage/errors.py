"""Errors: one for input that cannot be used, and one for results that contradict each other."""

import difflib
from collections.abc import Iterable


class TutelageError(ValueError):
    """An input that cannot be used: the message is one sentence that says what to change.

    The command line prints it without a traceback and ends with exit code 2.
    """


class InternalError(RuntimeError):
    """Two results of this library contradict each other, so at least one of them is wrong.

    The command line prints one sentence that asks for a report and ends with exit code 70.
    """

    def __init__(self, message: str) -> None:
        super().__init__(f"internal error: {message}; please report this together with the input that caused it")


def unknown(kind: str, name: object, known: Iterable[str]) -> TutelageError:
    """The error for an unknown name, with the nearest known one.

    >>> print(unknown("study", "l-shap", ["l-shape", "loss-curves"]))
    unknown study 'l-shap'; did you mean 'l-shape'? (known: l-shape, loss-curves)
    """
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return TutelageError(f"unknown {kind} '{name}'{hint} (known: {', '.join(names)})")


def how_to_install(extra: str) -> str:
    """The command that installs an optional part, for messages; the one place that says it.

    >>> how_to_install("studio")
    "pip install '.[studio]' in a clone of tutelage, or pip install 'FILE.whl[studio]' with its wheel"
    """
    return f"pip install '.[{extra}]' in a clone of tutelage, or pip install 'FILE.whl[{extra}]' with its wheel"
