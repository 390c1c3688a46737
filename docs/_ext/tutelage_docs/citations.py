"""The directive ``papers``: every paper with its citation and BibTeX entry."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tutelage.papers import PAPERS


class PapersDirective(SphinxDirective):
    """A paragraph and a BibTeX block per paper, in order."""

    def run(self) -> list[nodes.Node]:
        out: list[nodes.Node] = []
        for paper in PAPERS.values():
            words, url = paper.citation().rsplit(" ", 1)
            paragraph = nodes.paragraph("", "", nodes.strong("", f"{paper.label}. "), nodes.Text(f"{words} "))
            paragraph += nodes.reference("", url, refuri=url)
            out += [paragraph, nodes.literal_block(paper.bibtex(), paper.bibtex(), language="bibtex")]
        return out
