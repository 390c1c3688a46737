"""Stored experiments: whoever imports them gets the stored claims without computing anything."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from scipy.stats import t

from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE, THREE, accuracies
from tutelage.exits.studies.teachers import ALL_LATER
from tutelage.exits.studies.teachers import METHODS as TEACHERS
from tutelage.exits.studies.temperature import METHODS as TEMPERATURES
from tutelage.exits.studies.temperature import STAYING, _traces
from tutelage.lab import Results, Store
from tutelage.lab.archive import import_results
from tutelage.studies.reproduce import reproduce
from tutelage.studies.study import find

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAGE = (RESULTS.parent / "subjects" / "exits.md").read_text()
STUDIES = (
    "exits-size-matched",
    "exits-unlabelled",
    "exits-teachers",
    "exits-temperature",
    "exits-few-labels",
    "exits-budget",
    "exits-anytime",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored") / "results"
    import_results(folder, RESULTS / "experiments" / "exits-cifar10.tar")
    return Store(folder)


def _found(store, experiments, methods=THREE):
    return accuracies(Results(store.load(experiment) for experiment in experiments), methods)


@pytest.mark.parametrize("name", STUDIES)
def test_imported_experiments_give_the_stored_claims(name, store, tmp_path):
    assert all(experiment in store for experiment in find(name).plan("paper").experiments)
    (found,) = reproduce([name], "paper", tmp_path, results=store.root)
    stored = json.loads((RESULTS / "paper" / name / "claims.json").read_text())
    assert len(found.claims()) == len(stored)
    for now, then in zip(found.claims(), stored, strict=True):
        assert {k: v for k, v in now.items() if not _numbers(v)} == {k: v for k, v in then.items() if not _numbers(v)}
        for key in ("measured", "stderr", "interval"):
            assert now[key] == pytest.approx(then[key], rel=1e-12)


def _numbers(value):
    return isinstance(value, float) or (isinstance(value, list) and all(isinstance(x, float) for x in value))


def _cell(values, digits=1):
    """Mean and half the 95 % interval of the mean by Student's t, as verdicts have it."""
    return f"{values.mean():.{digits}f} ± {t.ppf(0.975, len(values) - 1) * _stderr(values):.{digits}f}"


def _gain(values):
    return f"{values.mean():.2f} (s.e. {_stderr(values):.2f})"


def _stderr(values):
    return values.std(ddof=1) / len(values) ** 0.5


def test_the_table_of_all_images_is_that_of_the_networks(store):
    plans = [find(name).plan("paper") for name in ("exits-size-matched", "exits-unlabelled")]
    found = _found(store, {e.hash: e for plan in plans for e in plan.experiments}.values())
    rows = [("1 exit available", "budget", 1), ("2", "budget", 2), ("4", "budget", 4), ("11", "budget", 11)]
    rows += [("mean of exits 1 and 2", "ensemble", 2), ("mean of all 11", "ensemble", 11)]
    for name, kind, exits in rows:
        alone, taught, more = (found.values(1050, method, kind)[:, exits - 1] for method in THREE)
        assert f"| {name} | {_cell(alone)} | {_cell(taught)} | {_cell(more)} | {_gain(taught - alone)} |" in PAGE
        assert f"| {_gain(more - taught)} |\n" in PAGE
    alone = found.gain(1050, DISTILLED, EXIT_WISE, "single")[:, -1]
    assert f"({alone.mean():.2f}, s.e. {_stderr(alone):.2f})" in PAGE


def test_the_table_of_a_fifth_of_them_is_that_of_the_networks(store):
    found = _found(store, find("exits-teachers").plan("paper").experiments, TEACHERS)
    for exits in (1, 2, 4, 11):
        cells = [_cell(found.values(250, method, "budget")[:, exits - 1]) for method in TEACHERS]
        gains = [_gain(found.gain(250, m, EXIT_WISE, "budget")[:, exits - 1]) for m in (DISTILLED, ALL_LATER)]
        assert f"| {exits} | {' | '.join(cells)} | {' | '.join(gains)} |" in PAGE


def test_temperatures_on_the_page_are_those_of_the_networks(store):
    found = _found(store, find("exits-temperature").plan("paper").experiments, TEMPERATURES)
    first = [f"{found.values(250, method, 'budget')[:, 0].mean():.1f}" for method in (*STAYING, DISTILLED)]
    said = "Exit 1 reaches {} % at a fixed temperature of 1, {} at 2, {} at 3, {} at 4, and {} with annealing"
    assert said.format(*first) in PAGE
    last = _traces(found)[:, :, -30:].mean((0, 2))
    assert f"rises to {last[0]:.1f} and" in PAGE
    assert f"the raw confidence reaches {last[2]:.2f}." in PAGE


def test_the_tables_of_fewer_images_are_those_of_the_networks(store):
    found = _found(store, find("exits-budget").plan("paper").experiments)
    rows = [("budget", 1), ("budget", 2), ("budget", 11), ("ensemble", 2), ("ensemble", 11)]
    for labelled in found.labelled:
        methods = [method for method in THREE if (labelled, method.name) in found.runs]
        assert len(methods) == (2 if labelled == 500 else 3)
        for kind, exits in rows:
            values = [found.values(labelled, method, kind)[:, exits - 1] for method in methods]
            gains = [_gain(second - first).replace("s.e. ", "") for first, second in pairwise(values)]
            cells = [str(labelled - found.held), str(exits), *_three(map(_cell, values)), *_three(gains)[:2]]
            assert f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |") in PAGE


def _three(cells):
    """Empty where a method was not tried."""
    return [*cells, "", "", ""][:3]
