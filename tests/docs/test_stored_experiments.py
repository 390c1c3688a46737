"""Stored experiments: whoever imports them gets the stored claims without computing anything."""

import json
from pathlib import Path

import pytest

from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE, accuracies
from tutelage.lab import Results, Store
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


def test_the_table_of_the_page_on_exits_is_that_of_the_networks(tmp_path):
    import_results(tmp_path, RESULTS / "experiments" / "exits-size-matched.tar")
    plan, store = find("exits-size-matched").plan("paper"), Store(tmp_path)
    found = accuracies(Results(store.load(experiment) for experiment in plan.experiments))
    page = (RESULTS.parent / "subjects" / "exits.md").read_text()
    rows = [("1 exit available", "budget", 1), ("2", "budget", 2), ("4", "budget", 4), ("11", "budget", 11)]
    rows += [("mean of exits 1 and 2", "ensemble", 2), ("mean of all 11", "ensemble", 11)]
    for name, kind, exits in rows:
        values = [found.values(1050, method, kind)[:, exits - 1] for method in (EXIT_WISE, DISTILLED)]
        cells = [f"{v.mean():.1f} ± {1.96 * _stderr(v):.1f}" for v in values]
        gain = values[1] - values[0]
        assert f"| {name} | {' | '.join(cells)} | {gain.mean():.2f} (s.e. {_stderr(gain):.2f}) |" in page
    alone = found.gain(1050, DISTILLED, EXIT_WISE, "single")[:, -1]
    assert f"({alone.mean():.2f}, s.e. {_stderr(alone):.2f})" in page


def _stderr(values):
    return values.std(ddof=1) / len(values) ** 0.5


def test_there_are_such_archives():
    assert ARCHIVES
