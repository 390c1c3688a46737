"""The front page of the gallery: thumbnails by subject, filtered by paper and verdict."""

from html import escape
from itertools import groupby

from tutelage.papers import PAPERS
from tutelage_docs.stored import BAD, GalleryStudy
from tutelage_docs.strip import strip
from tutelage_docs.thumbs import SIZE

SUBJECTS = {
    "specialisation": "Specialisation: which teacher units students recover",
    "alignment": "Alignment: students of one teacher in the plane",
    "population": "Population: training without samples",
    "local": "Local convergence near the optimum",
    "functions": "Functions: which function a network is",
    "margins": "Margins: which network training picks",
    "distillation": "Distillation: what a student learns from soft labels",
    "autoencoders": "Autoencoders: codes with the information you ask for",
    "exits": "Exits: networks that can answer early",
    "planted": "Planted teachers: does a method find what is there",
}
"""Headings of the subjects, in order; a subject without an entry comes last, under its own name."""


def page(studies: list[GalleryStudy]) -> str:
    """The Markdown page with one card per study."""
    order = [*SUBJECTS, *sorted({s.subject for s in studies} - set(SUBJECTS))]
    ranked = sorted(studies, key=lambda s: (order.index(s.subject), s.name))
    parts = ["# Gallery of studies", _introduction(studies), _filters(studies)]
    for subject, group in groupby(ranked, key=lambda s: s.subject):
        cards = "\n".join(_card(study) for study in group)
        parts.append(
            f"## {SUBJECTS.get(subject, subject)}\n\n```{{raw}} html\n<div class='cards'>\n{cards}\n</div>\n```"
        )
    names = "\n".join(study.name for study in ranked)
    parts.append(f"```{{toctree}}\n:hidden:\n\nnot_reproduced\n{names}\n```")
    return "\n\n".join(parts) + "\n"


def _introduction(studies: list[GalleryStudy]) -> str:
    stored = sum(1 for study in studies if study.stored)
    return (
        f"One study is one figure, table or statement of a paper. There are {len(studies)}; "
        f"results of {stored} are stored in the repository, and each page is written from them. "
        "[What did not reproduce](not_reproduced.md) lists every claim that does not hold "
        "and every check that does not pass."
    )


def verdict_class(study: GalleryStudy) -> str:
    """How a study is filtered: all claims hold, some are refuted or missed, some are open, or nothing is stored."""
    if study.first is None:
        return "none"
    if not study.first.not_good:
        return "holds"
    if study.first.refuted:
        return "refuted"
    return "missed" if any(study.first.counts[verdict] for verdict in BAD) else "open"


def _filters(studies: list[GalleryStudy]) -> str:
    papers = [paper for key, paper in PAPERS.items() if any(s.paper is paper for s in studies)]
    choices = "".join(f"<option value='{p.key}'>{escape(p.label)}</option>" for p in papers)
    return (
        "```{raw} html\n<form class='filters' hidden>\n"
        "<label>Search <input name='words' type='search' placeholder='names, titles, figures'></label>\n"
        f"<label>Paper <select name='paper'><option value=''>all</option>{choices}</select></label>\n"
        "<label>Verdicts <select name='verdict'><option value=''>all</option>"
        "<option value='holds'>all hold</option><option value='refuted'>some refute the paper</option>"
        "<option value='missed'>some fail, none refutes the paper</option>"
        "<option value='open'>none fails, some are open</option><option value='none'>nothing stored</option>"
        "</select></label>\n<output></output>\n</form>\n```"
    )


def _card(study: GalleryStudy) -> str:
    words = study.first.words if study.first else "no stored results"
    picture = (
        f"<img src='../_static/thumbs/{study.name}.png' alt='' loading='lazy' width='{SIZE[0]}' height='{SIZE[1]}'>"
        if study.first
        else "<span class='no-picture'>no stored results</span>"
    )
    searched = escape(f"{study.name} {study.title} {study.source} {study.shows}".lower(), quote=True)
    return (
        f"<a class='study-card' href='{study.name}.html' data-paper='{study.paper.key if study.paper else ''}' "
        f"data-verdict='{verdict_class(study)}' data-words='{searched}'>{picture}<strong>{escape(study.title)}</strong>"
        f"<span>{escape(study.source)}</span>{strip(study.first)}<span class='counts'>{words}</span></a>"
    )
