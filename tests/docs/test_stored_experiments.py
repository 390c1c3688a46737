"""Stored experiments: whoever imports them gets the stored claims without computing anything."""

import json
from pathlib import Path

import pytest

from tutelage.lab import Store
from tutelage.lab.archive import import_results
from tutelage.studies import find
from tutelage.studies.reproduce import reproduce

RESULTS = Path(__file__).parents[2] / "docs" / "results"
ARCHIVES = sorted((RESULTS / "experiments").glob("*.tar"))


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
def test_imported_experiments_give_the_stored_claims(archive, tmp_path):
    import_results(tmp_path / "results", archive)
    store, experiments = Store(tmp_path / "results"), find(archive.stem).plan("paper").experiments
    assert all(experiment in store for experiment in experiments)
    (found,) = reproduce([archive.stem], "paper", tmp_path, results=tmp_path / "results")
    stored = json.loads((RESULTS / "paper" / archive.stem / "claims.json").read_text())
    assert len(found.claims()) == len(stored)
    for now, then in zip(found.claims(), stored, strict=True):
        assert {k: v for k, v in now.items() if not _numbers(v)} == {k: v for k, v in then.items() if not _numbers(v)}
        for name in ("measured", "stderr", "interval"):
            assert now[name] == pytest.approx(then[name], rel=1e-12)


def _numbers(value):
    return isinstance(value, float) or (isinstance(value, list) and all(isinstance(x, float) for x in value))


def test_there_are_such_archives():
    assert ARCHIVES
