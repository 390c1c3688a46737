"""The map of rooms has every package and every arrow of the import contracts, and nothing in it overlaps."""

import doctest
import re
from itertools import combinations
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")

from tutelage_docs import rooms

ROOT = Path(__file__).parents[2]
PACKAGES = {path.parent.name for path in (ROOT / "src" / "tutelage").glob("*/__init__.py")}


@pytest.fixture(scope="module")
def contracts():
    return rooms.contracts(ROOT / "pyproject.toml")


def test_doctests():
    results = doctest.testmod(rooms)
    assert results.attempted
    assert not results.failed


def test_every_package_and_every_floor_is_in_the_picture_once(contracts):
    names = re.findall(r"<text [^>]*>([^<]*)</text>", rooms.picture(contracts, PACKAGES))
    assert set(names) >= PACKAGES
    floors = {word for row in contracts[1]["layers"] for word in re.split(r" [|:] ", row)}
    assert floors == {word for name in names[-len(contracts[1]["layers"]) :] for word in name.split(", ")}


def test_every_arrow_between_subjects_is_drawn(contracts):
    pairs = rooms.arrows_of(contracts[2])
    assert ("margins", "functions") in pairs
    assert rooms.picture(contracts, PACKAGES).count('class="arrow"') == len(pairs)


def test_boxes_do_not_overlap_and_fit(contracts):
    boxes = rooms.boxes_of(rooms.rows_of(contracts[0]), PACKAGES, set())
    assert all(box.width / 2 <= box.x <= rooms.WIDTH - box.width / 2 for box in boxes)
    for a, b in combinations(boxes, 2):
        assert abs(a.y - b.y) >= rooms.BOX or abs(a.x - b.x) >= (a.width + b.width) / 2
