"""Results found by their settings; a setting that no experiment has is an error, not an empty answer."""

import pytest

from tutelage import TutelageError
from tutelage.lab import TeacherStudent
from tutelage.lab.results import Result, Results


@pytest.fixture
def results(values, tmp_path):
    return Results(Result(TeacherStudent(**values(seeds=[seed])), tmp_path) for seed in range(2))


def test_results_are_found_by_their_settings(results):
    assert len(results.where({"teacher.hidden": (3,)})) == 2
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


@pytest.fixture
def noisy(values, tmp_path):
    """Two experiments with noise in their labels, of which both noise and inputs have an ``std``, and one without."""
    noises = [{"label_noise": {"kind": "gaussian", "std": std}} for std in (0.1, 0.2)]
    return Results(Result(TeacherStudent(**values(training=noise)), tmp_path) for noise in [*noises, {}])


def test_settings_have_their_dotted_names(noisy):
    first = noisy.one({"training.label_noise.std": 0.1})
    assert first.setting("training.label_noise.std") == 0.1
    assert first.setting("label_noise.std") == 0.1
    assert first.setting("inputs.std") == 1.5
    assert len(noisy.where({"inputs.std": 1.5}, polarity=1.0)) == 3
    assert len(noisy.where(label_noise=None)) == 1


def test_a_short_name_is_never_that_of_another_record(noisy):
    first, _, plain = noisy
    for ask in (lambda: first.setting("std"), lambda: noisy.one(std=0.1), lambda: noisy.values("std")):
        with pytest.raises(TutelageError, match=r"'std' may be inputs.std or training.label_noise.std: give the whole"):
            ask()
    assert plain.setting("std") == 1.5


def test_a_section_is_no_setting(noisy):
    with pytest.raises(TutelageError, match=r"unknown setting 'label_noise'.*training.label_noise.std"):
        noisy.one({"training.label_noise.std": 0.1}).setting("label_noise")
    with pytest.raises(TutelageError, match=r"0 of 3 results have label_noise = 0"):
        noisy.one(label_noise=0.0)
