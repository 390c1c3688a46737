"""Skeletons work as they are written: their tests pass, they follow the house style, and --with accepts them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tutelage.cli.new import KINDS, skeleton

ROOT = Path(__file__).parents[2]
NAMES = {kind: f"my-own-{kind}" for kind in KINDS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, prepared):
    """One skeleton of each kind."""
    out = tmp_path_factory.mktemp("parts")
    for kind, name in NAMES.items():
        done = prepared("new", kind, name, "--out", out, "--json")
        assert done.returncode == 0, done.stderr
        module = name.replace("-", "_")
        assert json.loads(done.stdout)["written"] == [str(out / f"{module}.py"), str(out / f"test_{module}.py")]
    return out


def test_their_tests_pass_at_once(folder):
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "."]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "9 passed" in done.stdout, done.stdout


def test_they_follow_the_house_style(folder):
    config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    for words in (["check"], ["format", "--check", "--diff"]):
        command = [sys.executable, "-m", "ruff", *words, *config, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_study_is_reproduced_with_its_file(folder, tmp_path, prepared):
    words = ["reproduce", NAMES["study"], "--scale", "smoke", "--with", folder / "my_own_study.py"]
    done = prepared(*words, "--json", folder=tmp_path)
    assert [claim["setting"] for claim in json.loads(done.stdout)] == ["1x", "4x"], done.stderr


def test_a_theorem_is_listed_with_its_file(folder, prepared):
    done = prepared("certify", "list", "--with", folder / "my_own_theorem.py", "--json")
    assert NAMES["theorem"] in [row["theorem"] for row in json.loads(done.stdout)], done.stderr


@pytest.mark.parametrize("name", ["My-Study", "1st", "a--b", "a_b", "", "../x"])
def test_a_bad_name_is_one_sentence(command, tmp_path, name):
    done = command("new", "study", name, "--out", tmp_path)
    assert done.code == 2
    assert "NAME must be lower-case words" in " ".join(done.err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_a_keyword_is_called_one(command, tmp_path, kind):
    done = command("new", kind, "class", "--out", tmp_path)
    assert done.code == 2
    assert "must not be a keyword of Python, got 'class'" in " ".join(done.err.split())
    assert not list(tmp_path.iterdir())


TAKEN = {
    "study": "l-shape",
    "measure": "evaluate-loss",
    "theorem": "noisy-recovery",
    "teacher": "levels",
    "experiment": "online-overlaps",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_is_taken_is_refused(command, tmp_path, kind):
    done = command("new", kind, TAKEN[kind], "--out", tmp_path)
    assert done.code == 2
    assert f"there is a {kind} called '{TAKEN[kind]}' already" in " ".join(done.err.split())
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(command, tmp_path):
    (tmp_path / "test_mine.py").write_text("mine")
    done = command("new", "measure", "mine", "--out", tmp_path)
    assert done.code == 2
    assert "exists already" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]
    assert command("new", "engine", "mine").code == 2


def test_every_kind_has_both_files():
    for kind in KINDS:
        assert list(skeleton(kind, "x-y")) == ["x_y.py", "test_x_y.py"]
