"""Results found by their settings; a setting that no experiment has is an error, not an empty answer."""

import pytest

from tutelage import TutelageError
from tutelage.lab import TeacherStudent
from tutelage.lab.results import Result, Results


@pytest.fixture
def results(values, tmp_path):
    return Results(Result(TeacherStudent(**values(seeds=[seed])), tmp_path) for seed in range(2))


def test_results_are_found_by_their_settings(results):
    assert len(results.where(hidden=(3,))) == 2
    assert results.one(seeds=(1,)).experiment.seeds == (1,)
    assert results.values("std") == [1.5]
    assert not len(Results([]).where(anything=3))


def test_a_setting_that_does_not_exist_is_an_error_that_names_those_there_are(results):
    for ask in (
        lambda: results.one(no_such_name=0.0),
        lambda: results.where(no_such_name=0.0),
        lambda: results.values("no_such_name"),
        lambda: results.one(seeds=(1,)).setting("no_such_name"),
    ):
        with pytest.raises(TutelageError, match=r"unknown setting 'no_such_name'.*learning_rate"):
            ask()


def test_several_results_or_none_are_an_error(results):
    with pytest.raises(TutelageError, match=r"2 of 2 results have std = 1.5, expected one"):
        results.one(std=1.5)
    with pytest.raises(TutelageError, match=r"0 of 2 results have std = 2, expected one"):
        results.one(std=2.0)
