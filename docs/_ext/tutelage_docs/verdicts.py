"""What did not reproduce, and why: claims that do not hold and checks that do not pass, with their explanations."""

from collections import Counter
from html import escape as html_escape
from pathlib import Path

import yaml

from tutelage.studies.claims import STANDINGS, WHYS
from tutelage.studies.report.marks import strip as squares
from tutelage.studies.report.words import standing_of, tally
from tutelage_docs.markup import escape, sentence, table
from tutelage_docs.stored import GalleryStudy, StoredStudy, summary
from tutelage_docs.study_page import MEANINGS, interval, measured, verdict
from tutelage_docs.thumbs import SIZE


def read_reasons(docs: Path) -> dict[str, str]:
    """Explanations by study, written by hand."""
    return yaml.safe_load((docs / "explained.yaml").read_text())


def page(studies: list[GalleryStudy], reasons: dict[str, str]) -> str:
    """The Markdown page of all claims that do not hold and checks that do not pass."""
    stored = [(study, results) for study in studies for results in study.stored]
    total = sum((results.counts for _, results in stored), Counter())
    parts = [
        "# What did not reproduce, and why",
        f"Of {sum(total.values())} verdicts in {len(stored)} stored runs, {summary(total)}. A verdict is that of one "
        "claim in one setting, with a threshold that was fixed before its results were seen unless the claim says "
        "otherwise.",
        ":::{dropdown} What the verdicts mean\n"
        + "\n".join(f"- *{v}*: {MEANINGS[v]}" for v in MEANINGS if total[v])
        + "\n:::",
        _by_standing([claim for _, results in stored for claim in results.claims]),
        "This page is written from the stored results; explanations are written by hand. A study that is not listed "
        "has none of these.",
        _without(studies),
        _filters(stored),
    ]
    parts += [_section(study, results, reasons.get(study.name)) for study, results in stored if results.not_good]
    return "\n\n".join(part for part in parts if part) + "\n"


def _by_standing(claims: list[dict]) -> str:
    """How many misses there are by whose statement it is and by what the miss means."""
    counts = tally(claims)
    rows = [
        [words.capitalize(), *(str(counts[standing][why]) for why in WHYS)] for standing, words in STANDINGS.items()
    ]
    return (
        "Only a refuted sentence of a paper, shown in red, says something against the paper: all its premises were "
        "met. *Premise not met*: the conditions of a theorem did not hold on these networks. *Not found*: a search "
        "or training of ours did not get there.\n\n" + table(["misses of", *WHYS], rows)
    )


def _without(studies: list[GalleryStudy]) -> str:
    names = [f"`{study.name}`" for study in studies if not study.stored]
    return f"No results are stored of {', '.join(names)}." if names else ""


def _filters(stored: list[tuple[GalleryStudy, StoredStudy]]) -> str:
    papers = {study.paper.key: study.paper.label for study, _ in stored if study.paper}
    fields = {"paper": papers, "standing": STANDINGS, "why": {why.replace(" ", "-"): why for why in WHYS}}
    choices = "\n".join(
        f"<label>{name} <select name='{name}'><option value=''>all</option>"
        + "".join(f"<option value='{key}'>{html_escape(words)}</option>" for key, words in options.items())
        + "</select></label>"
        for name, options in fields.items()
    )
    return f"```{{raw}} html\n<form class='misses' hidden>\n{choices}\n<output></output>\n</form>\n```"


def _section(study: GalleryStudy, results: StoredStudy, reason: str | None) -> str:
    """The card of a study: thumbnail, strip, why; its misses and open verdicts as a table behind a click."""
    rows = [
        [
            sentence(c["claim"]),
            escape(c["setting"]) or "all",
            verdict(c),
            standing_of(c),
            escape(c["expected"]),
            measured(c),
            interval(c),
        ]
        for c in results.not_good
    ]
    counts = Counter(c["verdict"] for c in results.not_good)
    head = f"## {study.name}, {results.scale} scale\n\n```{{raw}} html\n{_card(study, results)}\n```"
    words = f"{escape(study.source)}: {results.words}. [All claims]({study.name}.md)."
    fold = f"```{{fold}} {summary(counts)}: claims, settings and numbers\n```"
    parts = [head, words, *([sentence_of(reason)] if reason else []), fold]
    return "\n\n".join(
        [*parts, table(["claim", "setting", "verdict", "standing", "expected", "measured", "95 % interval"], rows)]
    )


def _card(study: GalleryStudy, results: StoredStudy) -> str:
    missed = [c for c in results.not_good if c.get("why")]
    data = {
        "paper": {study.paper.key} if study.paper else set(),
        "standing": {c["standing"] for c in missed},
        "why": {c["why"].replace(" ", "-") for c in missed},
    }
    attributes = " ".join(f"data-{name}='{' '.join(sorted(values))}'" for name, values in data.items())
    return (
        f"<div class='miss' {attributes}><a href='{study.name}.html'><img src='../_static/thumbs/{study.name}.png' "
        f"alt='Figure of {study.name}' loading='lazy' width='{SIZE[0]}' height='{SIZE[1]}'></a>"
        f"{squares(results.not_good)}</div>"
    )


def sentence_of(reason: str) -> str:
    """An explanation, set apart from what is generated."""
    return f"**Why.** {' '.join(reason.split())}"
