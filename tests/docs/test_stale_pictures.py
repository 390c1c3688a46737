"""Every stored picture is what its study would draw now, but for a list: the drawing code has not changed since.

The commit in the provenance of a stored study is that of the code that drew its picture. The functions that draw are
compared with what they were then, by their syntax: a comment, or another claim in the same file, changes no picture.
"""

import ast
import inspect
import json
import subprocess
from functools import cache
from pathlib import Path
from types import FunctionType

import pytest

from tutelage.studies import STUDIES

ROOT = Path(__file__).parents[2]
STALE = {
    "paper/exits-latency",
    "paper/how-often-identifiable",
    "paper/one-output",
    "paper/sentences",
    "quick/exits-anytime",
    "quick/exits-budget",
    "quick/exits-few-labels",
    "quick/exits-imagenet",
    "quick/exits-images",
    "quick/exits-teachers",
    "quick/exits-temperature",
}
"""Pictures whose drawing code has changed since, and whose numbers take long to compute again, or need a GPU."""


def git(*words: str) -> str | None:
    """What git says of this repository; None where it does not know."""
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


@cache
def functions(source: str) -> dict[str, str]:
    """The functions of a module by name, without docstrings, as their syntax says it."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:]
            found[node.name] = ast.dump(node)
    return found


def drawing(function) -> set[FunctionType]:
    """A function of a study that draws, and those of studies that it calls."""
    found, waiting = set(), [getattr(function, "func", function)]
    while waiting:
        here = waiting.pop()
        if not isinstance(here, FunctionType) or here in found or ".studies." not in f"{here.__module__}.":
            continue
        found.add(here)
        waiting += [here.__globals__[name] for name in here.__code__.co_names if name in here.__globals__]
    return {f for f in found if not f.__module__.startswith("tutelage.studies")}


def changed(function: FunctionType, commit: str) -> bool:
    """Whether a function is not what it was in a commit."""
    path = Path(inspect.getsourcefile(function)).relative_to(ROOT)
    before = git("show", f"{commit}:{path.as_posix()}")
    now = functions((ROOT / path).read_text())
    return before is None or functions(before).get(function.__name__) != now.get(function.__name__)


def commit_of(provenance: Path) -> str:
    """The commit of the code that drew a picture; empty where none is named."""
    named = str(json.loads(provenance.read_text()).get("commit") or "").removesuffix("-dirty")
    return named.rpartition("-g")[2]


def test_a_changed_line_is_seen_and_a_changed_comment_is_not():
    first = functions('def draw(x):\n    """One."""\n    return x + 1\n')
    assert functions('def draw(x):\n    """Two."""\n    # why\n    return x + 1\n') == first
    assert functions("def draw(x):\n    return x + 2\n") != first


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a copy without history does not know what changed")
def test_stored_pictures_are_what_would_be_drawn_now_but_for_a_list():
    commits = {path.parent: commit_of(path) for path in (ROOT / "docs" / "results").glob("*/*/provenance.json")}
    unknown = {
        commit for commit in commits.values() if commit and git("cat-file", "-e", f"{commit}^{{commit}}") is None
    }
    if unknown:
        pytest.skip(f"the history of this clone is not whole: it lacks {len(unknown)} commits that drew pictures")
    stale = set()
    for folder, commit in sorted(commits.items()):
        scale, name = folder.parent.name, folder.name
        figure = STUDIES[name].plan(scale).figure
        if not commit or any(changed(function, commit) for function in drawing(figure)):
            stale.add(f"{scale}/{name}")
    assert stale == STALE
