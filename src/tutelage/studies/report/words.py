"""Verdicts as readers see them: numbers, intervals, whose statement it is, and what a miss means."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tutelage.studies.claims import CHECKED, MISSED, STANDINGS, VERDICTS, WHYS, refutes


def standing_of(claim: Mapping[str, Any]) -> str:
    """Whose statement a stored claim is, in words.

    >>> standing_of({"standing": "paper", "place": "Thm 2"}), standing_of({"standing": "own"})
    ('A sentence of the paper, Thm 2', 'A statement of our own')
    """
    words = STANDINGS[claim["standing"]].capitalize() if claim.get("standing") else ""
    return f"{words}, {claim['place']}" if claim.get("place") else words


A_TENTH = "CIFAR-10, a tenth"
"""CIFAR-10 has a tenth of the classes of CIFAR-100, and so a tenth of the images at as many per class."""


def size_of(claims: Sequence[Mapping[str, Any]]) -> str:
    """What was computed for stored claims of a study: the scale, unless it is the paper's on other and fewer images.

    A paper's CIFAR-100 has at most 500 images per class; studies with more of CIFAR-10 match its size.

    >>> size_of([{"study": "exits-budget", "scale": "paper", "setting": "cifar10(150)"}])
    'CIFAR-10, a tenth'
    >>> size_of([{"study": "exits-size-matched", "scale": "paper", "setting": "cifar10(1050)"}])
    'paper'
    """
    found = [int(n) for claim in claims for n in re.findall(r"cifar10\((\d+)\)", claim["setting"])]
    fewer = claims[0]["study"].startswith("exits-") and any(n <= 500 for n in found)
    return A_TENTH if fewer and claims[0]["scale"] == "paper" else str(claims[0]["scale"])


def verdict_of(claim: Mapping[str, Any]) -> str:
    """The verdict of a stored claim, a miss with its reason.

    >>> verdict_of({"verdict": "fails", "why": "not found"}), verdict_of({"verdict": "holds", "why": ""})
    ('fails: not found', 'holds')
    """
    return f"{claim['verdict']}: {claim['why']}" if claim.get("why") else claim["verdict"]


def shade_of(claim: Mapping[str, Any]) -> str:
    """The class of a verdict on a page: red is kept for what refutes a sentence of a paper.

    >>> shade_of({"verdict": "does not pass", "standing": "own", "why": "refuted"})
    'missed'
    """
    if claim["verdict"] in MISSED:
        return "refuted" if refutes(claim) else "missed"
    return str(claim["verdict"]).replace(" ", "-")


def quantity_of(claim: Mapping[str, Any]) -> tuple[str, str]:
    """What was measured and its interval, as text.

    Of a universal statement that is one quantity: how many members are exceptions, the exact limit of their share, and
    the worst value.

    >>> quantity_of({"measured": 0.5, "stderr": None, "n": 1443, "exceptions": 2, "interval": [0, 0.0044]})
    ('2 of 1,443 are exceptions, the worst has 0.5', 'at most 0.44 % are')
    """
    if claim.get("exceptions") is None:
        return short(claim["measured"]), span(claim.get("interval"))
    verb = "is an exception" if claim["exceptions"] == 1 else "are exceptions"
    worst = f"{claim['exceptions']:,} of {claim['n']:,} {verb}, the worst has {short(claim['measured'])}"
    return worst, f"at most {100 * claim['interval'][1]:.2g} % are"


def short(value: float | None) -> str:
    """A number for a table; nothing measured is a dash.

    >>> short(0.123456), short(None)
    ('0.123', '-')
    """
    return "-" if value is None else f"{value:.3g}"


def span(interval: Sequence[float] | None) -> str:
    """An interval for a table; none is a dash.

    >>> span((0.25, 1.0)), span(None)
    ('0.25 to 1', '-')
    """
    return "-" if interval is None else f"{interval[0]:.3g} to {interval[1]:.3g}"


_SEVERAL = {"holds": "hold", "fails": "fail", "passes": "pass", "does not pass": "do not pass"}


def summary(counts: Mapping[str, int]) -> str:
    """Counts of verdicts in words, those that hold first.

    >>> summary({"fails": 1, "holds": 12}), summary({"holds": 1}), summary({"saturated": 2})
    ('12 hold, 1 fails', '1 holds', '2 saturated')
    """
    order = sorted((v for v in counts if counts[v]), key=lambda verdict: (verdict not in ("holds", "passes"), verdict))
    return ", ".join(f"{counts[v]} {_SEVERAL.get(v, v) if counts[v] != 1 else v}" for v in order)


def tally(claims: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """How many verdicts there are by standing; those of misses are counted by their reason.

    >>> tally([{"verdict": "fails", "standing": "own", "why": "refuted"}])["own"]
    Counter({'refuted': 1})
    """
    counts: dict[str, Counter[str]] = {standing: Counter() for standing in STANDINGS}
    for claim in claims:
        counts[claim.get("standing") or "consequence"][claim.get("why") or claim["verdict"]] += 1
    return counts


COLUMNS = ("holds", "passes", *WHYS, *(v for v in (*VERDICTS, *CHECKED) if v not in ("holds", "passes", *MISSED)))
"""What a verdict is counted as, in the order of a table."""
