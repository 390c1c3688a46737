"""`tutelage planted` as a user meets it."""

import json

import pytest

from tutelage import plugins
from tutelage.planted import METHODS

OWN = '''
import time
from tutelage.planted import MethodAnswer, method

@method("loudest-units")
def loudest(students, inputs):
    """Units by the deviation of their activation."""
    return MethodAnswer(ranking=students.activations(inputs).std(1))

@method("broken")
def broken(students, inputs):
    """Fails."""
    return inputs.no_such_thing

@method("endless")
def endless(students, inputs):
    """Hangs."""
    time.sleep(600)
'''


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    yield tmp_path / "own.py"
    plugins.PLUGINS.clear()
    for name in ("loudest-units", "broken", "endless"):
        METHODS.pop(name, None)


def run(command, tmp_path, *words):
    options = ("--scale", "smoke", "--results", tmp_path / "results", "--out", tmp_path / "out")
    return command("planted", *words, "--difficulty", "steps=100", *options)


def test_without_a_method_the_methods_are_listed(command):
    done = command("planted", "--json")
    assert {"oracle", "pca", "weight-matching"} <= {row["method"] for row in json.loads(done.out)}
    assert "Principal directions of the activations" in command("planted").out


def test_a_table_a_page_and_a_leaderboard(command, tmp_path):
    done = run(command, tmp_path, "magnitude")
    assert done.code == 0
    assert "magnitude" in done.out
    assert (tmp_path / "out" / "planted.html").is_file()
    board = json.loads((tmp_path / "out" / "leaderboard.json").read_text())
    assert board["entries"][0]["method"] == "oracle"
    assert {entry["method"] for entry in board["entries"]} == {"oracle", "random", "magnitude"}


def test_methods_in_trouble_are_a_sentence_each_and_the_others_go_on(command, tmp_path, own):
    done = run(command, tmp_path, "broken", "endless", "loudest-units", "--with", own, "--seconds", "1", "--json")
    assert done.code == 2
    told = json.loads(done.out)
    assert {entry["method"] for entry in told["entries"]} == {"oracle", "random", "loudest-units"}
    assert "the method 'broken' fails at line 13 (AttributeError" in told["failures"]["broken"]
    assert "the method 'endless' took longer than 1 seconds" in told["failures"]["endless"]
    assert not any("\n" in sentence for sentence in told["failures"].values())


def test_what_is_stored_is_not_computed_again_and_a_changed_file_is(command, tmp_path, own):
    first = json.loads(run(command, tmp_path, "loudest-units", "--with", own, "--json").out)
    stored = {path.name for path in (tmp_path / "results").iterdir() if not path.name.startswith(".")}
    again = json.loads(run(command, tmp_path, "loudest-units", "--with", own, "--json").out)
    assert again["entries"] == first["entries"]
    assert {path.name for path in (tmp_path / "results").iterdir() if not path.name.startswith(".")} == stored
    METHODS.pop("loudest-units")
    METHODS.pop("broken")
    METHODS.pop("endless")
    own.write_text(OWN.replace(".std(1)", ".mean(1)"))
    run(command, tmp_path, "loudest-units", "--with", own)
    assert {path.name for path in (tmp_path / "results").iterdir() if not path.name.startswith(".")} > stored


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["pcaa"], "unknown method 'pcaa'; did you mean 'pca'"),
        (["pca", "--difficulty", "decoy=1"], "unknown dial 'decoy'; did you mean 'decay'"),
        (["pca", "--scale", "huge"], "unknown scale 'huge'"),
        (["pca", "--difficulty", "decay=-1"], "'decay' in the difficulty"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(command, tmp_path, words, sentence):
    done = command("planted", *words, "--results", tmp_path, "--out", tmp_path)
    assert done.code == 2
    assert sentence in done.err


def test_without_scikit_learn_a_method_says_what_to_install(command, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    monkeypatch.setitem(sys.modules, "sklearn.exceptions", None)
    done = run(command, tmp_path, "pca")
    assert done.code == 2
    assert "this method needs scikit-learn: pip install '.[planted]'" in done.err
