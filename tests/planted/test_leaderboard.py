"""The leaderboard: entries from results, merged in a file, ranked."""

import json

import numpy as np
import pytest

import tutelage as tt
from tutelage import TutelageError
from tutelage.planted.cases import CASES
from tutelage.planted.difficulty import DIALS
from tutelage.planted.leaderboard import MEMBERS, TURNED, Entry, Summary, board, ranked, read, summary, write
from tutelage.studies.study import SCALES

SMALL = {"steps": (100, 300)}


@pytest.fixture(scope="module")
def bed():
    return board("smoke", SMALL, seeds=(3, 4))


@pytest.fixture(scope="module")
def entries(bed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return [bed.entry(name, tt.run(bed.scored(name), results=folder)) for name in ("oracle", "random", "pca")]


def test_every_scale_has_members_and_dials():
    assert set(MEMBERS) == set(TURNED) == set(SCALES)
    assert all(set(dials) <= set(DIALS) for dials in TURNED.values())
    assert set(TURNED["paper"]) == set(DIALS)


def test_an_entry_has_every_score_case_and_point(entries):
    for entry in entries:
        assert list(entry.cases) == list(CASES)
        assert [value for value, _ in entry.curves["steps"]] == [100, 300]
        assert len(entry.precision) == 11
        assert entry.scores["recall"].n == 2
        assert entry.cases["untrained"].n == 0
    oracle = entries[0]
    assert oracle.scores["recall"].mean == oracle.scores["invariance"].mean == 1
    assert oracle.precision == [1.0] * 11


def test_intervals_lie_within_what_is_possible():
    found = summary(np.array([0.9, 1.0, 0.95]), "recall")
    assert found.low < found.mean < found.high == 1.0
    assert summary(np.array([0.9, 1.0, 0.95]), "count_bias").high > 1.0
    assert summary(np.array([np.nan]), "recall") == Summary(None, None, None, 0)


def test_a_file_is_added_to_and_begun_anew_for_another_bed(bed, entries, tmp_path):
    write(tmp_path, bed, entries[:2])
    path = write(tmp_path, bed, entries[2:])
    assert {entry.method for entry in read(path)} == {"oracle", "random", "pca"}
    assert read(path)[0] == entries[0]
    write(tmp_path, board("smoke", SMALL, seeds=(5, 6)), entries[2:])
    assert [entry.method for entry in read(path)] == ["pca"]


def test_a_file_that_is_none(bed, tmp_path):
    path = tmp_path / "leaderboard.json"
    path.write_text(json.dumps({"entries": [{"method": 1}]}))
    with pytest.raises(TutelageError, match="is no leaderboard"):
        read(path)


def test_the_best_is_first():
    def entry(name, recall, precision):
        means = {"recall": recall, "average_precision": precision}
        return Entry(name, "students", {n: Summary(m, None, None, 1) for n, m in means.items()})

    order = ranked([entry("a", 0.5, 0.1), entry("b", 0.5, 0.2), entry("c", None, None), entry("d", 0.9, 0.0)])
    assert [e.method for e in order] == ["d", "b", "a", "c"]
