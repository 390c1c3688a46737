"""The directive ``map``: what the papers say of a subject beside what was measured, as a picture of linked boxes.

Statements stand in ``docs/maps.yaml``; pictures and verdicts of the studies beside them come from stored results.
"""

from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tutelage_docs.stored import GalleryStudy, gallery_studies
from tutelage_docs.strip import strip
from tutelage_docs.thumbs import SIZE


@lru_cache(maxsize=1)
def _studies(docs: Path) -> dict[str, GalleryStudy]:
    return {study.name: study for study in gallery_studies(docs)}


@lru_cache(maxsize=1)
def read(docs: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows per subject: ``says`` (a statement), ``source``, ``studies``."""
    return yaml.safe_load((docs / "maps.yaml").read_text())


def picture(rows: list[dict[str, Any]], studies: dict[str, GalleryStudy]) -> str:
    """The map as HTML, one row per statement."""
    body = "".join(_row(row, studies) for row in rows)
    return (
        '<div class="map"><div class="map-head"><span>the papers say</span><span>measured here</span></div>'
        f"{body}</div>"
    )


def _row(row: dict[str, Any], studies: dict[str, GalleryStudy]) -> str:
    cards = "".join(card(studies[name]) for name in row["studies"])
    return (
        f'<div class="map-row"><div class="map-says"><strong>{escape(row["says"])}</strong>'
        f'<span>{escape(row["source"])}</span></div><div class="map-cards">{cards}</div></div>'
    )


def card(study: GalleryStudy) -> str:
    """One study: its thumbnail, its title, its strip of verdicts, linked to its page."""
    image = (
        f'<img src="../_static/thumbs/{study.name}.png" alt="" loading="lazy" width="{SIZE[0]}" height="{SIZE[1]}">'
        if study.first
        else ""
    )
    return (
        f'<a class="map-card" href="../gallery/{study.name}.html">{image}'
        f"<span>{escape(study.title)}</span>{strip(study.first)}</a>"
    )


class MapDirective(SphinxDirective):
    """``map`` with the name of a subject."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        docs = Path(self.env.srcdir)
        self.env.note_dependency(str(docs / "maps.yaml"))
        return [nodes.raw("", picture(read(docs)[self.arguments[0]], _studies(docs)), format="html")]
