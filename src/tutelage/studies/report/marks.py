"""Verdicts as small pictures in HTML: a strip of squares, and the interval of every setting on one scale."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tutelage.studies.claims import threshold_of
from tutelage.studies.report.words import quantity_of, shade_of, verdict_of

SHADES = ("holds", "passes", "saturated", "vacuous", "not-applicable", "undecided", "missed", "refuted")
"""From the left of a strip: what came out as expected, what shows nothing, what is open, what did not."""
WIDTH, HEIGHT = 240, 18
_EDGE = 6
_DECADES = 3
"""Positive values that span more powers of ten than this are drawn on a logarithmic scale."""


def strip(claims: Sequence[Mapping[str, Any]]) -> str:
    """One small square per claim and setting, from good to bad, with its numbers on hover.

    Parameters
    ----------
    claims
        Stored verdicts, as in ``claims.json``.

    Returns
    -------
    str
        HTML; its colours are those of the page's classes ``v-holds``, ``v-missed`` and so on.
    """
    places = {shade: i for i, shade in enumerate(SHADES)}
    ordered = sorted(claims, key=lambda claim: places.get(shade_of(claim), len(SHADES)))
    squares = "".join(f'<i class="v-{shade_of(c)}" title="{escape(hover(c), quote=True)}"></i>' for c in ordered)
    words = ", ".join(f"{n} {shade.replace('-', ' ')}" for shade, n in Counter(map(shade_of, ordered)).items())
    return f'<span class="strip" role="img" aria-label="verdicts: {words}">{squares}</span>'


def hover(claim: Mapping[str, Any]) -> str:
    """What a square says.

    >>> hover({"claim": "it falls", "setting": "p = 1", "verdict": "holds", "expected": "< 0.5", "measured": 0.25})
    'holds: it falls (p = 1); expected < 0.5, measured 0.25'
    """
    setting = f" ({claim['setting']})" if claim["setting"] else ""
    return (
        f"{verdict_of(claim)}: {claim['claim']}{setting}; expected {claim['expected']}, "
        f"measured {quantity_of(claim)[0]}"
    )


def interval_plots(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The point, interval and threshold of every setting of one claim, as one SVG per row on a common scale.

    A universal statement is drawn as the share of members that are exceptions, with the exact limit of that share.

    Parameters
    ----------
    rows
        Stored verdicts of one claim.

    Returns
    -------
    list of str
        One SVG per row; empty text where nothing was measured.
    """
    spans = [_span(row) for row in rows]
    thresholds = [None if row.get("exceptions") is not None else threshold_of(row["expected"])[1] for row in rows]
    shown = [v for span in spans for v in span if v is not None] + [t for t in thresholds if t is not None]
    finite = [v for v in shown if math.isfinite(v)]
    if not finite:
        return [""] * len(rows)
    low, high = min(finite), max(finite)
    logarithmic = low > 0 and high / low > 10**_DECADES
    scale = math.log10 if logarithmic else float
    low, high = scale(low), scale(high)

    def place(value: float) -> float:
        """Where a value stands; what is infinite stands at the edge."""
        if not math.isfinite(value):
            return float(WIDTH - 1 if value > 0 else 1)
        return _EDGE + (WIDTH - 2 * _EDGE) * ((scale(value) - low) / (high - low) if high > low else 0.5)

    words = ", logarithmic scale" if logarithmic else ""
    return [_drawn(row, span, t, place, words) for row, span, t in zip(rows, spans, thresholds, strict=True)]


def _span(row: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Lower end, point, upper end."""
    interval = row.get("interval") or (None, None)
    if row.get("exceptions") is not None:
        return interval[0], row["exceptions"] / max(1, row["n"]), interval[1]
    return interval[0], row["measured"], interval[1]


def _drawn(row: Mapping[str, Any], span: tuple, threshold: float | None, place: Any, words: str) -> str:
    low, point, high = span
    if point is None:
        return ""
    middle, marks = HEIGHT / 2, []
    if threshold is not None:
        x = place(threshold)
        marks.append(f'<path class="threshold" d="M{x:.1f} 1V{HEIGHT - 1}"/>')
    if low is not None and high is not None:
        marks.append(f'<path class="interval" d="M{place(low):.1f} {middle}H{place(high):.1f}"/>')
    marks.append(f'<circle cx="{place(point):.1f}" cy="{middle}" r="3.5"/>')
    measured, limits = quantity_of(row)
    label = f"measured {measured}, interval {limits}, expected {row['expected']}{words}"
    return (
        f'<svg class="interval-plot" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="{escape(label, quote=True)}"><title>{escape(label)}</title>'
        f'<path class="scale" d="M0 {middle}H{WIDTH}"/>{"".join(marks)}</svg>'
    )
