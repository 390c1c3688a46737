"""The page of one study: the figure, what the paper shows and what is seen, claims as intervals, how to run it."""

from html import escape as html_escape
from itertools import groupby
from typing import Any

from tutelage.studies.report.marks import interval_plots
from tutelage.studies.report.study_files import is_close
from tutelage.studies.report.words import quantity_of, shade_of, size_of, standing_of, verdict_of
from tutelage_docs.markup import duration, escape, number, sentence, table
from tutelage_docs.stored import GalleryStudy, StoredStudy
from tutelage_docs.strip import strip

MEANINGS = {
    "holds": "the interval over members lies on the expected side of the threshold",
    "fails": "the interval over members lies on the other side of the threshold",
    "undecided": "the interval over members contains the threshold",
    "saturated": "both sides of a comparison are at a limit, so that no difference can be seen",
    "not applicable": "too few members meet the premise",
    "vacuous": "a network that has learnt nothing, or the worst that is possible, meets the claim as well",
    "passes": "every value of a deterministic check satisfies the bound",
    "does not pass": "some value of a deterministic check does not satisfy the bound",
}
"""Verdicts in words; a verdict without an entry stands for itself."""

REPORTED = ("published",)
"""Fields of a claim that may carry the number that the paper prints."""


def page(study: GalleryStudy, reason: str = "") -> str:
    """The Markdown page of a study; reason: why some of its claims do not hold, where that is known."""
    first, *others = study.stored or [None]
    parts = [f"# {escape(study.title)}"]
    parts += [_figure(study, first)] if first else []
    parts += [f"**The paper shows.** {sentence(study.shows)}"]
    parts += [f"**Seen here.** {_verdict_words(first)}", _raw(strip(first))] if first else []
    parts += [f"**Why some claims do not hold.** {' '.join(reason.split())}"] if reason else []
    parts += [
        f"Study `{study.name}`, after {escape(study.source)}. Subject: {_subject_link(study)}."
        + (f" {_cost(first)}" if first else "")
    ]
    parts += [_claims(study, first)] if first else [_nothing(study)]
    for stored in others:
        head = f"## Results: {_size(stored)}"
        parts += [head, _figure(study, stored), _verdict_words(stored), _raw(strip(stored)), _cost(stored)]
        parts += [_claims(study, stored)]
    parts += [_run(study), _citation(study), _source(study)]
    return "\n\n".join(parts) + "\n"


def _raw(html: str) -> str:
    return f"```{{raw}} html\n{html}\n```"


def _subject_link(study: GalleryStudy) -> str:
    return f"[{study.subject}](../subjects/{study.subject}.md)"


def _nothing(study: GalleryStudy) -> str:
    return (
        "## Results\n\n:::{admonition} No stored results\n:class: note\n\n"
        "No results of this study are stored in the repository, so that nothing is claimed about it here. "
        "The command below computes them.\n:::"
    )


def _figure(study: GalleryStudy, stored: StoredStudy) -> str:
    return f"```{{image}} ../results/{stored.scale}/{study.name}/figure.png\n:alt: {_alt(study)}\n:class: study\n```"


def _claims(study: GalleryStudy, stored: StoredStudy) -> str:
    claims = [list(group) for _, group in groupby(stored.claims, key=lambda claim: claim["claim"])]
    return "\n\n".join([f"## Claims: {_size(stored)}", _meanings(stored), *map(_claim, claims)])


def _size(stored: StoredStudy) -> str:
    """What was computed: the scale, unless it is the paper's on other and fewer images."""
    size = size_of(stored.claims)
    return f"{size} scale" if size == stored.scale else size


def _alt(study: GalleryStudy) -> str:
    return " ".join(f"{study.title}, {study.source}".split())


def _cost(stored: StoredStudy) -> str:
    where = " and ".join(stored.devices).replace("cpu", "a CPU")
    words = [f"Written on {stored.provenance.get('written', '')[:10]}"]
    if stored.provenance.get("commit"):
        words.append(f"by commit `{stored.provenance['commit']}`")
    if stored.seconds is not None:
        words.append(f"in {duration(stored.seconds)}" + (f" on {escape(where)}" if where else ""))
    return f"{' '.join(words)}. {_values(stored)}"


def _values(stored: StoredStudy) -> str:
    """Where the statistic of every member is, or that it is not stored."""
    if (stored.folder / "values.parquet").is_file():
        where = f"docs/results/{stored.scale}/{stored.folder.name}/values.parquet"
        return f"What every claim measured, member by member, is in `{where}`: `tutelage query` reads it."
    why = "it was computed on a GPU" if stored.devices not in ([], ["cpu"]) else "it takes long to compute again"
    return f"What every claim measured is not stored member by member: {why}, before such values were kept."


def _verdict_words(stored: StoredStudy) -> str:
    total = sum(stored.counts.values())
    return f"Of {total} verdicts {stored.words}." if stored.not_good else f"All {total} verdicts are as expected."


def _meanings(stored: StoredStudy) -> str:
    """What the verdicts on a page mean, behind a click."""
    words = [f"- *{verdict}*: {meaning}" for verdict, meaning in MEANINGS.items() if stored.counts.get(verdict)]
    if any(map(is_close, stored.claims)):
        words.append("- *close*: an interval of 99 % would contain the threshold")
    lines = "\n".join(words)
    return (
        ":::{dropdown} How to read the plots and verdicts\n"
        "A dot is the measured value, the bar its 95 % interval, the dashed line the threshold. A claim about every "
        f"member is drawn as the share of members that are exceptions.\n\n{lines}\n:::"
    )


def _claim(rows: list[dict[str, Any]]) -> str:
    """One claim: its intervals on one scale, and a table of its numbers behind a click."""
    first = rows[0]
    words = f"{_standing(first)}Statistic: {escape(first['statistic'])}."
    details = [_settings(rows)]
    if first.get("reason"):
        details.insert(0, f"Threshold: {escape(first['reason'])}.")
    methods = sorted({row["method"] for row in rows if row.get("interval")})
    if methods:
        details.append(f"Interval: {escape(', '.join(methods))}.")
    numbers = ":::{dropdown} Numbers\n" + "\n\n".join(details) + "\n:::"
    return "\n\n".join([f"**{sentence(first['claim'])}** {words}", _raw(_plots(rows)), numbers])


def _plots(rows: list[dict[str, Any]]) -> str:
    """Setting, interval and verdict of every row as an HTML table."""
    body = "".join(
        f"<tr><td>{html_escape(row['setting'] or 'all')}</td><td class='verdict-{shade_of(row)}'>{plot}</td>"
        f"<td>{verdict(row)}{' close' * is_close(row)}</td></tr>"
        for row, plot in zip(rows, interval_plots(rows), strict=True)
    )
    return f"<table class='plots'>{body}</table>"


def _standing(row: dict[str, Any]) -> str:
    words = standing_of(row)
    return f"{escape(words)}. " if words else ""


def _settings(rows: list[dict[str, Any]]) -> str:
    """The table of a claim: one row per setting, with columns for what the rows have."""
    columns = {
        "setting": [escape(row["setting"]) or "all" for row in rows],
        "verdict": [verdict(row) + " close" * is_close(row) for row in rows],
        "paper": [number(_reported(row)) for row in rows],
        "expected": [escape(row["expected"]) for row in rows],
        "measured": [measured(row) for row in rows],
        "95 % interval": [interval(row) for row in rows],
        "n": [str(row["n"]) for row in rows],
    }
    empty = {"paper": all(_reported(row) is None for row in rows), "95 % interval": not any(columns["95 % interval"])}
    shown = {name: cells for name, cells in columns.items() if not empty.get(name)}
    return table(list(shown), [list(cells) for cells in zip(*shown.values(), strict=True)])


def _reported(row: dict[str, Any]) -> Any:
    return next((row[name] for name in REPORTED if row.get(name) is not None), None)


def interval(row: dict[str, Any]) -> str:
    """Of the mean, or the exact limit of the share of exceptions."""
    if row.get("exceptions") is not None:
        return quantity_of(row)[1]
    return " to ".join(map(number, row.get("interval") or ()))


def measured(row: dict[str, Any]) -> str:
    """The measured value of a claim, or the exceptions to it."""
    return number(row["measured"]) if row.get("exceptions") is None else quantity_of(row)[0]


def verdict(row: dict[str, Any]) -> str:
    """A verdict as a badge, a miss with its reason.

    >>> verdict({"verdict": "not applicable"})
    '<span class="verdict verdict-not-applicable">not applicable</span>'
    """
    return f'<span class="verdict verdict-{shade_of(row)}">{verdict_of(row)}</span>'


def _run(study: GalleryStudy) -> str:
    scale = study.first.scale if study.first else "quick"
    return (
        "## Run it\n\n"
        f"```console\n$ tutelage reproduce {study.name} --scale {scale}\n```\n\n"
        "`--scale smoke` rehearses the machinery in seconds and proves nothing about the paper; "
        "`--device cuda` uses a GPU."
    )


def _citation(study: GalleryStudy) -> str:
    if study.paper is None:
        return f"## Cite\n\n{escape(study.source)}"
    return (
        f"## Cite\n\n{escape(study.paper.citation().rsplit(' ', 1)[0])} <{study.paper.url}>\n\n"
        f":::{{dropdown}} BibTeX\n```bibtex\n{study.paper.bibtex()}\n```\n:::"
    )


def _source(study: GalleryStudy) -> str:
    return f"## Source\n\n:::{{dropdown}} `{study.file}`\n```{{literalinclude}} ../../{study.file}\n```\n:::"
