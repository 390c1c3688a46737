"""Links of the sources that lead somewhere else on the site: folders of results, and names of studies."""

import re
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

from tutelage.studies import STUDIES

_FOLDER = re.compile(r"\]\((?:\.\./)*(?:docs/)?results/(?:paper|quick)/([a-z0-9-]+)/(?:figure\.png)?\)")
_LEDGER = re.compile(r"\]\((?:\.\./)*(?:docs/)?results/(?:ledger\.md|paper/|quick/|)\)")
_CONTRIBUTING = re.compile(r"\]\((?:\.\./)*CONTRIBUTING\.md\)")
_FAULTS = re.compile(r"\[([^\]]*)\]\((?:\.\./)*results/faults/\)")

TOP = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}
"""Pages whose text is a file at the top of the repository."""


def rewrite_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links to a folder of results become links to the page of the study, those to the ledger to the verdicts."""
    if docname in TOP:
        page = Path(app.srcdir).parent / TOP[docname]
        app.env.note_dependency(str(page))
        source[0] = page.read_text().replace("](docs/", "](").replace("](src/", "](../src/")
    if not docname.startswith("gallery/"):
        source[0] = rewritten(source[0])


def rewritten(text: str) -> str:
    """The Markdown text with its links turned.

    >>> rewritten("[a](../results/paper/l-shape/) [b](results/ledger.md)")
    '[a](/gallery/l-shape.md) [b](/gallery/not_reproduced.md)'
    """
    text = _FOLDER.sub(r"](/gallery/\1.md)", text)
    text = _LEDGER.sub("](/gallery/not_reproduced.md)", text)
    text = _CONTRIBUTING.sub("](/contributing.md)", text)
    return _FAULTS.sub(r"\1 (`docs/results/faults`)", text)


def link_studies(app: Sphinx, doctree: nodes.document) -> None:
    """Every name of a study in code becomes a link to its page.

    A name that is also an ordinary word (``images``) is one only after "study", or alone in a cell of a table.
    """
    docname = app.env.docname
    if docname.startswith(("api/", "auto_examples/")):
        return
    for literal in list(doctree.findall(nodes.literal)):
        name = literal.astext()
        if name in STUDIES and docname != f"gallery/{name}" and _is_study(literal, name):
            literal.replace_self(_reference(docname, name, literal))


def _is_study(literal: nodes.literal, name: str) -> bool:
    parent: Any = literal.parent
    while parent is not None:
        if isinstance(parent, (nodes.reference, pending_xref, nodes.title)):
            return False
        parent = parent.parent
    place = literal.parent.index(literal)
    alone = len(literal.parent) == 1 and isinstance(literal.parent.parent, nodes.entry)  # in a table of studies
    before = literal.parent[place - 1].astext() if place else ""
    return "-" in name or alone or re.search(r"stud(y|ies) $", before) is not None


def _reference(docname: str, name: str, literal: nodes.literal) -> pending_xref:
    target = f"/{PurePosixPath('gallery') / name}"
    link = pending_xref("", refdoc=docname, refdomain="std", reftype="doc", reftarget=target, refexplicit=True)
    link["refwarn"] = True
    link += literal.deepcopy()
    return link
