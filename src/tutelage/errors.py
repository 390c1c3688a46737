"""The one error a user meets: a sentence that says what was asked, what is possible and what to change."""

import difflib
from collections.abc import Iterable


class Refusal(ValueError):
    """Something was asked that cannot be done; the message is one sentence and says what to change.

    The command line prints it without a traceback and ends with exit code 2.
    """


def unknown(kind: str, name: object, known: Iterable[str]) -> Refusal:
    """The refusal for a name that is not known, with the nearest one that is.

    >>> print(unknown("study", "l-shap", ["l-shape", "loss-curves"]))
    there is no study 'l-shap': did you mean 'l-shape'? (known: l-shape, loss-curves)
    """
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f": did you mean '{near[0]}'?" if near else ";"
    return Refusal(f"there is no {kind} '{name}'{hint} (known: {', '.join(names)})")
