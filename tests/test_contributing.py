"""What the pages for contributors name exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "docs", ROOT / "docs/tutorials", ROOT / "docs/subjects")
GENERATED = ("gallery/", "api/", "auto_examples/")
"""Pages that the build of the documentation writes; tests/docs walks the links between them."""
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *(str(page.relative_to(ROOT)) for folder in FOLDERS for page in sorted(folder.glob("*.md"))),
)


@pytest.mark.parametrize("page", PAGES)
def test_links_to_files_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        generated = any(target.removeprefix("../").startswith(folder) for folder in GENERATED)
        if "://" not in target and not target.startswith("mailto:") and not generated:
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
