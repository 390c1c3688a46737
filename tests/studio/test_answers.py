"""Comparing and browsing without a browser."""

from pathlib import Path

import pytest

from tutelage import TutelageError
from tutelage.networks.files import to_bytes
from tutelage.studio.answers import answered
from tutelage.studio.scenes.folds import FoldSettings, changed
from tutelage.studio.uploads import Uploads


@pytest.fixture
def uploads():
    kept = Uploads(most=3)
    network = FoldSettings(units=4, seed=17).network()
    files = {"a": network, "b": changed(network, {"permute": True}), "c": changed(network, {"copy": 0})}
    kept.keys = {name: kept.take(f"{name}.safetensors", to_bytes(n))["key"] for name, n in files.items()}
    return kept


def ask(uploads, a, b, **more):
    question = {"about": "compare", "first": uploads.keys[a], "second": uploads.keys[b]}
    return answered(question | more, uploads, None)


def test_permuted_networks_are_the_same(uploads):
    found = ask(uploads, "a", "b")
    assert found["verdict"].startswith("same")
    assert sorted(u["match"] for u in found["units"] if u["network"] == 1) == [0, 1, 2, 3]


def test_others_differ_at_a_witness_inside_the_box(uploads):
    found = ask(uploads, "a", "c", box=[-1, 1])
    assert found["verdict"] == "different"
    assert max(map(abs, found["witness"])) <= 1
    assert found["pruned"][1]["after"] == [3]
    assert found["picture"].startswith("data:image/png")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"box": [1, -1]}, "lower bound below"),
        ({"box": "wide"}, "two numbers"),
        ({"first_member": 7}, "members 0 to 0, got 7"),
        ({"second": "gone"}, "drop it on the page again"),
    ],
)
def test_bad_questions_are_sentences(uploads, more, why):
    with pytest.raises(TutelageError, match=why):
        ask(uploads, "a", "b", **more)


def test_the_oldest_upload_goes(uploads):
    uploads.take("d.safetensors", to_bytes(FoldSettings(units=2).network()))
    with pytest.raises(TutelageError, match="does not have the file"):
        ask(uploads, "a", "b")


def test_results_need_a_folder(uploads):
    with pytest.raises(TutelageError, match="--results DIR"):
        answered({"about": "results"}, uploads, None)
    with pytest.raises(TutelageError, match="no experiment"):
        answered({"about": "student", "experiment": "../..", "seed": 0}, uploads, Path.cwd())
