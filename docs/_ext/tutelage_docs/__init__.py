"""Sphinx extension: pages of studies, of verdicts and of the reference, written from the registry and stored results.

Nothing is computed here: a page is a function of the registered studies, of ``docs/results`` and of ``explained.yaml``.
"""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tutelage.studio.offline import write_playground
from tutelage_docs import (
    api,
    citations,
    commands,
    docstrings,
    fold,
    front,
    links,
    maps,
    mathml,
    rooms,
    scenes,
    sheet,
    study_page,
    thumbs,
    verdicts,
    words,
)
from tutelage_docs.stored import gallery_studies

__all__ = ["pages", "setup"]


def pages(docs: Path) -> dict[str, str]:
    """Every generated page: path below docs -> text."""
    studies, reasons = gallery_studies(docs), verdicts.read_reasons(docs)
    written = {f"gallery/{study.name}.md": study_page.page(study, reasons.get(study.name, "")) for study in studies}
    written["gallery/index.md"] = front.page(studies)
    written["gallery/not_reproduced.md"] = verdicts.page(studies, reasons)
    written["api/commands.md"] = commands.page()
    return written | api.pages()


def _write(app: Sphinx) -> None:
    docs = Path(app.srcdir)
    written = pages(docs)
    for name, text in written.items():
        path = docs / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for folder in ("gallery", "api"):
        for old in (docs / folder).glob("*.md"):
            if old.relative_to(docs).as_posix() not in written:
                old.unlink()


def _write_pictures_and_playground(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        thumbs.write(Path(app.outdir) / "_static" / "thumbs", gallery_studies(Path(app.srcdir)))
        sheet.write(Path(app.srcdir) / "cheat_sheet.md", Path(app.outdir) / "_static" / "cheat-sheet.pdf")
        write_playground(Path(app.outdir) / "_static" / "playground.html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hooks."""
    app.connect("builder-inited", _write, priority=100)
    app.connect("build-finished", _write_pictures_and_playground)
    app.connect("source-read", links.rewrite_links)
    app.connect("doctree-read", links.link_studies)
    app.connect("autodoc-skip-member", docstrings.skip)
    app.connect("autodoc-process-docstring", docstrings.escape, priority=900)
    app.add_directive("papers", citations.PapersDirective)
    app.add_directive("rooms", rooms.RoomsDirective)
    app.add_directive("scene", scenes.SceneDirective)
    app.add_directive("word", words.WordDirective)
    app.add_directive("map", maps.MapDirective)
    app.add_directive("fold", fold.FoldDirective)
    app.add_node(fold.fold_start)
    app.add_transform(fold.Fold)
    app.add_html_math_renderer("mathml", (mathml.inline, None), (mathml.block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
