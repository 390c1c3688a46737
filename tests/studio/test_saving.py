"""Files to take away are made from a link alone, and are the same for the same link."""

import re

import numpy as np
import pytest

from tutelage import TutelageError
from tutelage.lab.teacher_student import from_yaml
from tutelage.studio.saving import saved

SMALL = {"units": 2, "members": 2, "dimension": 3, "outputs": 2, "train": 20, "evaluate": 20, "steps": 200}
LINK = {"scene": "specialisation", "settings": SMALL, "events": [[3, {"learning_rate": 0.1}]], "tick": 6}


@pytest.mark.parametrize("form", ["yaml", "python", "replay"])
def test_the_same_link_gives_the_same_file(form):
    first, second = (saved(LINK | {"form": form}) for _ in range(2))
    assert first == second


def test_the_yaml_of_a_branch_has_both_learning_rates(tmp_path):
    content, name, _ = saved(LINK | {"form": "yaml"})
    (tmp_path / name).write_bytes(content)
    training = from_yaml(tmp_path / name).training
    assert (training.learning_rate * training.schedule.factors(np.array([0, 59, 60, 199]), 200)).tolist() == [
        0.05,
        0.05,
        0.1,
        0.1,
    ]


def test_a_replay_holds_everything():
    page = saved(LINK | {"form": "replay"})[0].decode()
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", page.split("importmap")[0])
    assert page.count('"studio/') >= 10


def test_a_replay_carries_the_licence_of_what_it_contains():
    page = saved(LINK | {"form": "replay"})[0].decode()
    assert "Permission is hereby granted" in page
    assert "Leon Sorokin" in page[: page.index("-->")]


def test_a_replay_that_takes_too_long_is_a_sentence(monkeypatch):
    monkeypatch.setattr("tutelage.studio.saving._SECONDS", -1.0)
    with pytest.raises(TutelageError, match="a replay up to tick 6 takes more than"):
        saved(LINK | {"form": "replay"})


def test_bad_requests_are_sentences():
    with pytest.raises(TutelageError, match="unknown form 'gif'"):
        saved(LINK | {"form": "gif"})
    with pytest.raises(TutelageError, match="unknown scene"):
        saved({"form": "replay"})
    with pytest.raises(TutelageError, match="cannot be saved as yaml"):
        saved({"form": "yaml", "scene": "flow"})
    with pytest.raises(TutelageError, match="may change on the way"):
        saved(LINK | {"form": "replay", "events": [[1, {"units": 3}]]})
