"""The statistic of every claim is tied to the numbers that it measured at smoke scale."""

import importlib.util
import json
from pathlib import Path

import pytest

from tutelage.lab import Store
from tutelage.studies import STUDIES
from tutelage.studies.numbers import numbers

_spec = importlib.util.spec_from_file_location("record", Path(__file__).with_name("record.py"))
record = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(record)
KEPT = json.loads(record.RECORD.read_text())


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("record"))


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_claims_measure_what_they_did(name, store):
    now = json.loads(json.dumps(record.measured(name, store)))
    assert not record.differences(name, now, KEPT.get(name, {})), "see tests/studies/record.py"
    assert numbers(*record.computed(name, store)).num_rows > 0


def test_a_study_that_is_gone_leaves_the_record():
    assert set(KEPT) == set(STUDIES)


def test_a_difference_is_seen():
    before = {"a": {"x": [3, 0.5, 0.1]}, "b": {}}
    assert not record.differences("s", {"a": {"x": [3, 0.51, 0.1]}, "b": {}}, before)
    for changed in ({"x": [3, -0.5, 0.1]}, {"x": [2, 0.5, 0.1]}, {"x": [3, 0.5, 0.2]}, {}, {"y": [3, 0.5, 0.1]}):
        assert record.differences("s", {"a": changed, "b": {}}, before)
    assert record.differences("s", {"a": before["a"]}, before) == ["s: the claim 'b' is gone"]
