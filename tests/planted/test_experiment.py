"""The experiments: stored, read back the same, and a method's trouble is its own."""

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import TutelageError
from tutelage.planted import METHODS, Difficulty, MethodAnswer, PlantedScores, PlantedStudents, evaluate, method
from tutelage.planted import experiment as under_test
from tutelage.planted.cases import CASES, SAME, UNTRAINED
from tutelage.planted.experiment import PlantedScene
from tutelage.planted.scores import SCORES

STUDENTS = PlantedStudents(difficulty=Difficulty(units=3, inputs=5, steps=500, samples=100), seeds=2, cases=CASES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("planted")


@pytest.fixture
def mine():
    """Registers a method for one test."""
    yield lambda function, **about: method("mine", **about)(function)
    METHODS.pop("mine", None)


def run(experiment, folder):
    under_test._known.clear()
    return tt.run(experiment, results=folder, device="cpu")


def test_students_come_back_as_they_were(folder):
    stored = run(STUDENTS, folder)
    scene = PlantedScene.of(stored)
    assert torch.equal(scene.trained.weights[0], torch.from_numpy(stored["trained_0"]))
    for case in CASES:
        assert np.array_equal(scene.truth(case, 1).state.numpy(), stored[f"state_{case}"][:, 0])
    assert all(stored[f"proved_{case}"].all() for case in SAME)
    assert not stored["state_untrained"].any()
    assert stored["cka"].shape == (2, 1)


def test_scores_have_an_entry_per_member_case_and_layer(folder):
    scores = run(PlantedScores(students=STUDENTS, method="oracle", cases=CASES), folder)
    for name in SCORES:
        assert scores[name].shape == (2, len(CASES), 1)
    assert np.isnan(scores["recall"][:, CASES.index(UNTRAINED)]).all()
    assert np.nanmin(scores["recall"]) == 1
    assert (scores["invariance"] == 1).all()


def test_a_case_or_layer_that_is_not_for_a_method_is_nan(folder):
    deep = PlantedStudents(difficulty=Difficulty(units=3, inputs=5, steps=50, depth=2, activation="tanh"), seeds=2)
    scores = run(PlantedScores(students=deep, method="weight-matching", cases=("trained", "dead")), folder)
    assert np.isnan(scores["average_precision"][:, 0, 1]).all()
    assert np.isnan(scores["average_precision"][:, 1]).all()


def test_methods_see_what_they_say_they_see(scene):
    for name, twins, teacher in [("pca", 0, 0), ("cca", 1, 0), ("max-correlation", 0, 1)]:
        view = scene.view("trained", 1, METHODS[name], scene.truth("trained", 1))
        assert (view.twins is not None, view.teacher is not None, view.truth) == (twins, teacher, None)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda s, x: 1 / 0, "the method 'mine' fails at line"),
        (
            lambda s, x: MethodAnswer(ranking=torch.rand(s.members, s.units)),
            "gives another answer when it is asked again",
        ),
        (lambda s, x: MethodAnswer(ranking=x), "must have shape"),
    ],
)
def test_a_method_in_trouble_stores_nothing(folder, mine, function, sentence):
    mine(function)
    experiment = PlantedScores(students=STUDENTS, method="mine")
    context = tt.lab.Context(result=lambda e: run(e, folder))
    with pytest.raises(TutelageError, match=sentence):
        experiment.run(context)


def test_a_method_without_a_file_is_not_stored_but_evaluated(folder, mine):
    mine(lambda s, x: MethodAnswer(ranking=s.activations(x).std(1)))
    with pytest.raises(TutelageError, match="the method 'mine' comes from no plugin file"):
        run(PlantedScores(students=STUDENTS, method="mine"), folder)
    scores = evaluate("mine", STUDENTS.difficulty, seeds=2)
    assert scores["recall"].shape == (2, 1, 1)
    built_in = run(PlantedScores(students=STUDENTS.model_copy(update={"cases": ("trained",)}), method="pca"), folder)
    again = evaluate("pca", STUDENTS.difficulty, seeds=2)
    assert all(np.array_equal(again[name], built_in[name], equal_nan=True) for name in SCORES)


def test_a_method_that_is_not_known():
    with pytest.raises(TutelageError, match="unknown method 'orakle'; did you mean 'oracle'"):
        PlantedScores(students=STUDENTS, method="orakle")
