"""What the pages for contributors name exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md")))


@pytest.mark.parametrize("page", PAGES)
def test_links_to_files_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_paths_and_modules_that_are_named_exist(page):
    text = (ROOT / page).read_text()
    for path in re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w/.-]+\.\w+)`", text):
        if not any(part in path for part in ("my_", "SUBJECT")):
            assert (ROOT / path).exists(), path
    for dotted in re.findall(r"`tutelage\.([a-z_]+(?:\.[a-z_]+)*)", text):
        place = ROOT / "src" / "tutelage" / dotted.split(".")[0]
        named = place.is_dir() or place.with_suffix(".py").is_file()
        public = f'"{dotted.split(".")[0]}"' in (ROOT / "src/tutelage/__init__.py").read_text()
        assert named or public, dotted
