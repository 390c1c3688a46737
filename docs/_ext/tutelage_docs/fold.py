"""The directive ``fold``: what follows it in its section is shown after a click on its sentence.

A page then opens with what most readers look for, and headings keep their place in the table of contents and their
addresses. ``docs/_static/gallery.js`` opens the fold that an address or a search points into.
"""

from html import escape

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective


class fold_start(nodes.General, nodes.Element):
    """Where the folded part of a section begins."""


class FoldDirective(SphinxDirective):
    """``fold`` with the sentence that says what is below."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        return [fold_start(summary=self.arguments[0])]


class Fold(SphinxTransform):
    """Put the rest of the section between the tags of ``details``."""

    default_priority = 900

    def apply(self, **kwargs: object) -> None:
        for start in list(self.document.findall(fold_start)):
            summary = escape(start["summary"])
            start.parent.append(nodes.raw("", "</details>", format="html"))
            opening = f'<details class="fold"><summary>{summary}</summary>'
            start.replace_self(nodes.raw("", opening, format="html"))
