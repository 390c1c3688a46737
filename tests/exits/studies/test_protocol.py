"""What studies of exits share: which networks they train, and how accuracies are read off the results."""

import numpy as np
import pytest

from tutelage.exits.studies import _exit_network as exit_network
from tutelage.exits.studies import _protocol as _thesis
from tutelage.exits.studies._protocol import (
    DISTILLED,
    EXIT_WISE,
    FEW,
    LABELLED,
    SETTINGS,
    THREE,
    WITH_UNLABELLED,
    NetworkAccuracy,
    accuracies,
    networks,
)
from tutelage.lab import Results, Store, execute
from tutelage.studies import STUDIES

TINY = SETTINGS["smoke"] | {"epochs": 1, "drops": ()}


def test_the_exit_is_chosen_on_held_images_not_on_test_ones():
    test, held = np.array([0.5, 0.9, 0.7]), np.array([0.6, 0.5, 0.8])
    run = NetworkAccuracy(test, test, held, None)
    assert run.budget.tolist() == [0.5, 0.5, 0.7]


def test_gains_are_paired_and_in_points(known):
    found = known((10,), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    assert np.allclose(found.gain(10, DISTILLED, EXIT_WISE, "budget"), [[4, 1], [4, 1]])
    assert np.allclose(found.gain(10, WITH_UNLABELLED, DISTILLED, "ensemble"), [[4, 1], [4, 1]])


def test_every_method_trains_and_repeats_differ_and_finished_ones_are_not_trained_again(tmp_path, monkeypatch):
    shares = []
    experiments = networks(TINY, [10], THREE, 2)
    found = accuracies(Results(execute(experiments, Store(tmp_path), device="cpu", on_progress=shares.append)))
    assert {method for _, method in found.runs} == {method.name for method in THREE}
    first, second = found.runs[10, DISTILLED.name]
    assert first.single.shape == (4,)
    assert first.trace.shape == (3, 1)
    assert not np.array_equal(first.trace, second.trace)
    assert found.runs[10, EXIT_WISE.name][0].trace is None
    assert sum(shares) == pytest.approx(sum(experiment.cost for experiment in experiments))
    monkeypatch.setattr(exit_network, "train_networks", lambda *given: pytest.fail("trained again"))
    again = accuracies(Results(execute(experiments, Store(tmp_path), device="cpu")))
    assert np.array_equal(again.runs[10, DISTILLED.name][1].trace, second.trace)
    assert again.runs[10, EXIT_WISE.name][0].trace is None


def test_without_unlabelled_images_that_method_is_left_out():
    found = {(e.labelled, e.unlabelled) for e in networks(TINY | {"total": 14}, (10, 14), THREE, 1)}
    assert found == {(10, False), (10, True), (14, False)}


def test_the_paper_scale_is_the_theses_protocol_on_ten_classes():
    assert (LABELLED["paper"], FEW["paper"]) == ((150, 250, 350, 500), 80)
    first = networks(SETTINGS["paper"], LABELLED["paper"], THREE, 1)[0]
    assert (first.images, first.top, first.held, first.total) == ("cifar10", 1, 50, 500)
    assert (first.training.epochs, first.training.batch, first.training.learning_rate) == (300, 64, 0.5)
    rates = list(first.training.rates(300))
    assert [rates[e] for e in (149, 150, 225)] == pytest.approx([0.5, 0.05, 0.005])
    assert exit_network._network(first, 3, 10).exits == 11


def test_files_that_happen_to_be_there_change_no_plan(monkeypatch, tmp_path):
    exits = [study for name, study in STUDIES.items() if name.startswith("exits-")]
    before = [study.plan("paper").experiments for study in exits]
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path))
    for name in ("train.bin", "test.bin", "cifar100.safetensors"):
        (tmp_path / name).write_bytes(b"part of a file")
    assert [study.plan("paper").experiments for study in exits] == before
    assert {e.images for plan in before for e in plan if e.kind == "exit-network"} == {"cifar10", "imagenet"}


def test_columns_of_the_thesis_have_the_stated_gains():
    """The gain of exit 1 on CIFAR(150) is the 6.3 points of the text; anytime begins where the budget does."""
    for labelled, columns in _thesis.BUDGET.items():
        assert {len(values) for values in columns.values()} == {11}
        for name, values in columns.items():
            assert values[0] == _thesis.ANYTIME[labelled][name][0]
    first = _thesis.BUDGET[150]
    assert first["distilled"][0] - first["exit-wise"][0] == pytest.approx(6.3)
