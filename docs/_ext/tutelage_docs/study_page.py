"""The page of one study: the paper's statement, our figure, claims with verdicts, cost, how to run it, citation."""

from itertools import groupby
from typing import Any

from tutelage_docs.markup import duration, escape, number, sentence, table
from tutelage_docs.stored import GalleryStudy, StoredStudy, summary

MEANINGS = {
    "holds": "the value, with its interval over members, lies on the expected side of the threshold",
    "fails": "the value, with its interval over members, lies on the other side",
    "undecided": "the interval over members contains the threshold",
    "saturated": "both sides of the comparison are at the ceiling, so that it decides nothing",
    "vacuous": "the bound cannot be missed, so that it decides nothing",
    "passes": "a deterministic quantity is what it should be",
    "does not pass": "a deterministic quantity is not what it should be",
}
"""Verdicts in words; a verdict without an entry stands for itself."""

REPORTED = ("reported", "paper_value", "printed")
"""Fields of a claim that may carry the number that the paper prints."""


def page(study: GalleryStudy) -> str:
    """The Markdown page of a study."""
    parts = [
        f"# {escape(study.title)}",
        f"`{study.name}` reproduces {escape(study.source)}. Subject: {_subject_link(study)}.",
        f"**The paper's figure or statement.** {sentence(study.shows)}",
    ]
    parts += [_results(study, stored) for stored in study.stored] or [_nothing(study)]
    parts += [_run(study), _citation(study), _source(study)]
    return "\n\n".join(parts) + "\n"


def _subject_link(study: GalleryStudy) -> str:
    return f"[{study.subject}](../subjects/{study.subject}.md)"


def _nothing(study: GalleryStudy) -> str:
    return (
        "## Results\n\n:::{admonition} No stored results\n:class: note\n\n"
        "No results of this study are stored in the repository, so that nothing is claimed about it here. "
        "The command below computes them.\n:::"
    )


def _results(study: GalleryStudy, stored: StoredStudy) -> str:
    claims = [list(group) for _, group in groupby(stored.claims, key=lambda claim: claim["claim"])]
    figure = f"```{{image}} ../results/{stored.scale}/{study.name}/figure.png\n:alt: {_alt(study)}\n:class: study\n```"
    parts = [f"## Results at {stored.scale} scale", _verdict_words(stored), figure, _cost(stored)]
    parts.append(f"### Claims at {stored.scale} scale")
    return "\n\n".join([*parts, *map(_claim, claims)])


def _alt(study: GalleryStudy) -> str:
    return " ".join(f"{study.title}, {study.source}".split())


def _cost(stored: StoredStudy) -> str:
    where = " and ".join(stored.devices).replace("cpu", "a CPU")
    words = [f"Written on {stored.provenance.get('written', '')[:10]}"]
    if stored.provenance.get("commit"):
        words.append(f"by commit `{stored.provenance['commit']}`")
    if stored.seconds is not None:
        words.append(f"in {duration(stored.seconds)}" + (f" on {escape(where)}" if where else ""))
    return f"{' '.join(words)}."


def _verdict_words(stored: StoredStudy) -> str:
    total = sum(stored.counts.values())
    meanings = [f"*{v}*: {MEANINGS[v]}" for v in MEANINGS if stored.counts.get(v)]
    return f"**Of {total} checks {summary(stored.counts)}** ({'; '.join(meanings)})."


def _claim(rows: list[dict[str, Any]]) -> str:
    """One claim with a table of its settings."""
    first = rows[0]
    reported = any(_reported(row) is not None for row in rows)
    head = ["setting", *(["paper"] if reported else []), "expected", "measured", "n", "verdict"]
    lines = [f"**{sentence(first['claim'])}**", f"Statistic: {escape(first['statistic'])}."]
    body = [
        [
            escape(row["setting"]) or "all",
            *([number(_reported(row))] if reported else []),
            escape(row["expected"]),
            _measured(row),
            str(row["n"]),
            verdict(row["verdict"]),
        ]
        for row in rows
    ]
    lines.append(table(head, body))
    if first.get("refuted_by"):
        lines.append(f"What would refute it: {escape(first['refuted_by'])}.")
    return "\n\n".join(lines)


def _reported(row: dict[str, Any]) -> Any:
    return next((row[name] for name in REPORTED if row.get(name) is not None), None)


def _measured(row: dict[str, Any]) -> str:
    value = number(row["measured"])
    return value if row.get("stderr") is None else f"{value} ± {number(row['stderr'])}"


def verdict(word: str) -> str:
    """A verdict as a badge.

    >>> verdict("not decided")
    '<span class="verdict verdict-not-decided">not decided</span>'
    """
    return f'<span class="verdict verdict-{word.replace(" ", "-")}">{word}</span>'


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
