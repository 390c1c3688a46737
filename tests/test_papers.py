"""The five works are cited alike in code and in CITATION.cff."""

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import yaml

import tutelage
from tutelage import papers
from tutelage.papers import LIBRARY_AUTHORS, LIBRARY_TITLE, PAPERS, find_paper, library_bibtex

CITATION = Path(__file__).parents[1] / "CITATION.cff"
KINDS = {"inproceedings": "conference-paper", "misc": "article", "phdthesis": "thesis", "article": "article"}


@pytest.fixture(scope="module")
def citation():
    return yaml.safe_load(CITATION.read_text())


def test_the_library_is_cited_as_it_is(citation):
    assert citation["title"] == LIBRARY_TITLE
    assert [author["name"] for author in citation["authors"]] == [LIBRARY_AUTHORS]
    assert citation["version"] == tutelage.__version__


def test_citation_names_every_paper_with_all_of_its_authors(citation):
    written = {
        (
            r["type"],
            r["title"],
            tuple((a["family-names"], a["given-names"]) for a in r["authors"]),
            r["year"],
            r["notes"],
            r["url"],
        )
        for r in citation["references"]
    }
    assert len(citation["references"]) == len(PAPERS) == 9
    assert written == {(KINDS[p.kind], p.title, p.authors, p.year, p.venue, p.url) for p in PAPERS.values()}


def test_every_entry_is_whole_and_has_its_key():
    for key, paper in PAPERS.items():
        entry = paper.bibtex()
        assert entry.startswith(f"@{paper.kind}{{{key},")
        assert entry.count("{") == entry.count("}")
        assert find_paper(key) is paper


def test_the_library_is_cited_with_commit_and_address_where_they_are_known(monkeypatch):
    from email.message import Message

    installed = Message()
    monkeypatch.setattr(papers, "commit", lambda: None)
    monkeypatch.setattr(papers, "metadata", lambda name: installed)
    assert "note" not in library_bibtex()
    assert "url" not in library_bibtex()
    installed["Project-URL"] = "Documentation, https://docs.example"
    installed["Project-URL"] = "Repository, https://code.example/tutelage"
    monkeypatch.setattr(papers, "commit", lambda: "0.2.0-3-g0123abc")
    entry = library_bibtex()
    assert "  note = {commit 0.2.0-3-g0123abc}," in entry
    assert "  url = {https://code.example/tutelage}," in entry
    assert entry.count("{") == entry.count("}")

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(papers, "metadata", missing)
    assert "url" not in library_bibtex()
