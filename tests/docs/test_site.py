"""The site is built without a warning and without the network; every link inside it leads somewhere."""

import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest

pytest.importorskip("sphinx", reason="THE DOCUMENTATION IS NOT TESTED: install the extra 'docs'")

ROOT = Path(__file__).parents[2]
PAGES_WITHOUT_TEXT = {"genindex", "search", "py-modindex", "sg_api_usage"}
MOST_WORDS = 900
"""Of a subject page before its folds, code aside."""

KINDS = (
    "index", "answers", "cheat_sheet", "glossary", "speed", "course/lesson_1", "tutorials/first_students",
    "subjects/local", "gallery/index", "gallery/l-shape", "gallery/not_reproduced", "api/index", "api/local",
    "auto_examples/index", "auto_examples/draw_the_pieces",
)  # fmt: skip
"""One page of every kind."""
SEARCHED = {
    "per member learning rate": "answers.html",
    "cite": "citing.html",
    "replica": "answers.html",
    "Windows": "answers.html",
    "Colab": "answers.html",
    "early exits": "tutorials/distil_and_exits.html",
    "course": "course/index.html",
}
"""Words of the search, with the page that comes first."""
AXE = ROOT / "tests" / "studio" / "vendor" / "axe.js"


class Page(HTMLParser):
    """Links, anchors, sources of scripts and images, and the words of the article of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.without_text: list[str] = []  # images that have no alternative text, not even an empty one
        self.words = self.shown = 0  # in the article, and of these what is neither folded away nor code
        self._inside = self._hidden = 0
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("id"):
            self.anchors.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("img", "script") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "img" and "alt" not in given:
            self.without_text.append(given["src"])
        if tag == "link" and given.get("rel") == "stylesheet":
            self.loaded.append(given["href"])
        self._inside += tag == "article"
        self._hidden += tag in ("details", "pre")

    def handle_endtag(self, tag):
        self._inside -= tag == "article"
        self._hidden -= tag in ("details", "pre")

    def handle_data(self, data):
        if self._inside:
            self.words += len(data.split())
            self.shown += 0 if self._hidden else len(data.split())


def build(folder: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", "-d", str(folder / "doctrees")]
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": source, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [*command, str(ROOT / "docs"), str(folder / "html")], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr


def broken(path: Path, page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """Links and files of a page that are not there, and files that are loaded from the network."""
    for link in [*page.links, *page.loaded]:
        parts = urlsplit(link)
        if parts.scheme or link.startswith("//"):
            if link in page.loaded and parts.scheme != "data":
                yield f"{link} is loaded from the network"
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.exists():
            yield f"{link} does not exist"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{link} has no such place"


def test_the_site_is_whole(tmp_path, request):
    build(tmp_path)
    pages = {path.resolve(): Page(path) for path in (tmp_path / "html").rglob("*.html") if "_static" not in path.parts}
    assert len(pages) > 100
    wrong = {str(path.name): list(broken(path, page, pages)) for path, page in pages.items()}
    assert {name: found for name, found in wrong.items() if found} == {}
    empty = [p.name for p, page in pages.items() if page.words < 15 and p.stem not in PAGES_WITHOUT_TEXT]
    assert empty == []
    assert {name: page.without_text for name, page in pages.items() if page.without_text} == {}
    subjects = {path.stem: page.shown for path, page in pages.items() if path.parent.name == "subjects"}
    assert len(subjects) > 10
    assert {name: words for name, words in subjects.items() if words > MOST_WORDS} == {}
    browser = request.getfixturevalue("browser")
    look_at(tmp_path / "html", browser)
    search_in(tmp_path / "html", browser)


def look_at(site: Path, browser) -> None:
    """No kind of page violates a rule of accessibility in light or dark, or scrolls sideways on a phone."""
    for scheme, asked in (("light", "axe.run()"), ("dark", "axe.run({runOnly: ['color-contrast']})")):
        page = browser.new_page(viewport={"width": 1300, "height": 900}, color_scheme=scheme)
        for name in KINDS:
            page.goto((site / f"{name}.html").as_uri())
            page.add_script_tag(path=str(AXE))
            serious = [v for v in page.evaluate(asked)["violations"] if v["impact"] in ("serious", "critical")]
            assert [(v["id"], v["nodes"][0]["html"][:120]) for v in serious] == [], f"{name}, {scheme}"
        page.close()
    page = browser.new_page(viewport={"width": 390, "height": 844})
    for path in (site / f"{name}.html" for name in KINDS):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    page.close()


def search_in(site: Path, browser) -> None:
    """What people look for leads to the page that answers it, before any page of the gallery."""
    page = browser.new_page()
    for words, wanted in SEARCHED.items():
        page.goto((site / "search.html").as_uri() + f"?q={quote(words)}")
        page.wait_for_function("document.querySelector('.search-summary')?.textContent.includes('finished')")
        found = page.eval_on_selector_all("ul.search li > a", "all => all.map((a) => a.getAttribute('href'))")
        assert found[0].split("?")[0].split("#")[0] == wanted, words
    page.close()


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        "<a href='b.html'>x</a><a href='#y'>z</a><script src='https://x.org/a.js'></script>"
    )
    path = (tmp_path / "a.html").resolve()
    page = Page(path)
    assert len(list(broken(path, page, {path: page}))) == 3
