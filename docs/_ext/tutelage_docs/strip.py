"""A strip of verdicts: one small square per claim and setting, with its numbers on hover."""

from collections.abc import Sequence
from html import escape
from typing import Any

from tutelage_docs.markup import number
from tutelage_docs.stored import StoredStudy, summary

ORDER = ("holds", "passes", "saturated", "vacuous", "undecided", "fails", "does not pass")
"""From the left: what came out as expected, what shows nothing, what is open, what did not."""


def strip(stored: StoredStudy | None) -> str:
    """The strip of a study's verdicts as HTML; a sentence where nothing is stored."""
    if stored is None:
        return '<span class="strip-none">no stored results</span>'
    place = {verdict: i for i, verdict in enumerate(ORDER)}
    claims = sorted(stored.claims, key=lambda claim: place.get(claim["verdict"], len(place)))
    return f'<span class="strip" role="img" aria-label="{escape(summary(stored.counts))}">{squares(claims)}</span>'


def squares(claims: Sequence[dict[str, Any]]) -> str:
    """The squares alone."""
    return "".join(
        f'<i class="v-{claim["verdict"].replace(" ", "-")}" title="{escape(words(claim), quote=True)}"></i>'
        for claim in claims
    )


def words(claim: dict[str, Any]) -> str:
    """What a square says on hover.

    >>> words({"claim": "falls", "setting": "p = 1", "verdict": "holds", "expected": "< 0.5", "measured": 0.25})
    'holds: falls (p = 1); expected < 0.5, measured 0.25'
    """
    setting = f" ({claim['setting']})" if claim["setting"] else ""
    return (
        f"{claim['verdict']}: {claim['claim']}{setting}; expected {claim['expected']}, "
        f"measured {number(claim['measured'])}"
    )
