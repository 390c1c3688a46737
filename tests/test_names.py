"""A class name means one thing in the whole project."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import tutelage

ROOT = Path(tutelage.__file__).parent


def repeated(files: Iterable[Path]) -> dict[str, list[str]]:
    """Class names of several modules, each with the files that define it."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(files):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.name)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_every_class_name_occurs_once() -> None:
    files = list(ROOT.rglob("*.py"))
    assert len(files) > 100
    assert repeated(files) == {}


def test_a_name_of_two_modules_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("class Course: ...\n")
    (tmp_path / "two.py").write_text("class Course: ...\nclass Flow: ...\n")
    assert repeated(tmp_path.glob("*.py")) == {"Course": ["one.py", "two.py"]}
