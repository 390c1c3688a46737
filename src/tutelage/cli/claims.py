"""The verdicts of a study on a terminal: one entry per claim, with its worst setting."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from tutelage.studies import Verdict
    from tutelage.studies.reproduce import Reproduction

GOOD, BAD = ("holds", "passes"), ("fails", "does not pass")
_GREEN, _RED, _YELLOW = "green", "red", "yellow"


def colour(verdict: str) -> str:
    """Green for what holds, red for what fails, yellow for everything that decides nothing."""
    return _GREEN if verdict in GOOD else _RED if verdict in BAD else _YELLOW


def failed(outcomes: Sequence[Reproduction]) -> int:
    """Number of settings in which a claim fails or a check does not pass."""
    return sum(v.verdict in BAD for outcome in outcomes for v in outcome.verdicts)


def claims_summary(outcome: Reproduction) -> Group:
    """One entry per claim: its settings by verdict, the sentence, and the worst setting with what was measured."""
    rows: list[RenderableType] = [Text(title(outcome), style="bold")]
    for _, group in groupby(outcome.verdicts, key=lambda v: v.claim):
        verdicts = list(group)
        counts = Text("ran", style=_YELLOW) if outcome.scale == "smoke" else _counts(verdicts)
        head = Text.assemble(counts, ": ", verdicts[0].claim)
        rows += [_indented(head, 2), _indented(Text(_worst_line(verdicts), style="dim"), 6)]
    return Group(*rows)


def claims_details(outcome: Reproduction) -> Group:
    """Every claim, what was measured, and a table of its settings."""
    from tutelage.studies.report.words import short, span

    rows: list[RenderableType] = [Text(title(outcome), style="bold")]
    numbers = ("expected", "measured", "95 % interval", "n")
    for _, group in groupby(outcome.verdicts, key=lambda v: v.claim):
        verdicts = list(group)
        table = Table(box=None, padding=(0, 2, 0, 0))
        for column in ("setting", *numbers, "verdict"):
            table.add_column(column, justify="right" if column in numbers else "left", no_wrap=column in numbers)
        for v in verdicts:
            cells = v.setting, v.expected, short(v.measured), span(v.interval), str(v.n)
            said = ("ran", _YELLOW) if outcome.scale == "smoke" else (v.verdict, colour(v.verdict))
            table.add_row(*map(escape, cells), f"[{said[1]}]{said[0]}[/]")
        measured = Text(f"measured: {verdicts[0].statistic}", style="dim")
        rows += [_indented(Text(verdicts[0].claim), 2), _indented(measured, 6), _indented(table, 6)]
    return Group(*rows)


def _indented(text: RenderableType, columns: int) -> Padding:
    return Padding(text, (0, 0, 0, columns))


def title(outcome: Reproduction) -> str:
    from tutelage.studies.study import source

    study = outcome.study
    return f"{study.name} ({source(study.paper, study.figure)}; scale {outcome.scale})"


def print_outcomes(console: Console, outcomes: Sequence[Reproduction], everything: bool) -> None:
    """Print the verdicts of studies: one entry per claim, or the whole table."""
    for outcome in outcomes:
        console.print(claims_details(outcome) if everything else claims_summary(outcome))


def closing(outcomes: Sequence[Reproduction], at_most: int = 3) -> list[str]:
    """What was found, in a line per study, or in one line where there are more than ``at_most``."""
    if outcomes and outcomes[0].scale == "smoke":
        return [f"rehearsed: {', '.join(outcome.study.name for outcome in outcomes)}"]
    if len(outcomes) > at_most:
        verdicts = [v for outcome in outcomes for v in outcome.verdicts]
        return [f"{len(outcomes)} studies: {_in_words(verdicts)}"]
    return [f"{outcome.study.title}: {_in_words(outcome.verdicts)}" for outcome in outcomes]


def _in_words(verdicts: Sequence[Verdict]) -> str:
    from tutelage.studies.report.words import summary

    return f"of {len(verdicts)} verdicts {summary(Counter(v.verdict for v in verdicts))}"


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The setting furthest on the wrong side of the threshold, among those with the worst verdict."""
    return min(verdicts, key=lambda v: (_rank(v.verdict), _margin(v)))


def _counts(verdicts: Sequence[Verdict]) -> Text:
    """How many settings have which verdict: "holds 5, fails 1"; the word alone where there is one setting."""
    counts = sorted(Counter(v.verdict for v in verdicts).items(), key=lambda item: -_rank(item[0]))
    parts = [(name if len(verdicts) == 1 else f"{name} {n}", colour(name)) for name, n in counts]
    return Text(", ").join(Text(text, style=style) for text, style in parts)


def _worst_line(verdicts: Sequence[Verdict]) -> str:
    from tutelage.studies.report.words import quantity_of

    v = worst(verdicts)
    where = f"{'worst: ' if len(verdicts) > 1 else ''}{v.setting}: " if v.setting else ""
    quantity, interval = quantity_of(vars(v))
    words = "95 % interval " if v.exceptions is None else ""  # of a universal statement the interval has its own words
    between = f" ({words}{interval})" if v.interval else ""
    paper = f"; the paper: {v.published}" if v.published else ""
    return f"{where}{v.statistic}: {quantity}{between}, expected {v.expected}{paper}"


def _rank(verdict: str) -> int:
    return 0 if verdict in BAD else 2 if verdict in GOOD else 1


def _margin(verdict: Verdict) -> float:
    """How far the measured value lies on the right side of the threshold."""
    bound = re.search(r"([<>])=?\s*([-+.\deE]+)", verdict.expected)
    if bound is None or verdict.measured is None:
        return float("-inf")
    return (verdict.measured - float(bound[2])) * (1 if bound[1] == ">" else -1)
