"""The protocol that studies of exits share: subsets, repeats, what evidence says, and one training at each method."""

from dataclasses import replace

import numpy as np
import pytest

from tutelage.distillation.exit_training import ExitTraining
from tutelage.errors import Refusal
from tutelage.studies.exits import _protocol, _thesis
from tutelage.studies.exits._protocol import (
    DISTILLED,
    EXIT_WISE,
    SIZES,
    THREE,
    WITH_UNLABELLED,
    Job,
    Method,
    Trained,
    _network,
    look,
    sized,
    table,
)
from tutelage.studies.kept import Kept

TINY = replace(SIZES["smoke"], training=ExitTraining(1, batch=20), members=2)


def test_the_exit_is_chosen_on_held_images_not_on_test_ones():
    test, held = np.array([0.5, 0.9, 0.7]), np.array([0.6, 0.5, 0.8])
    run = Trained(test, test, held, None)
    assert run.budget.tolist() == [0.5, 0.5, 0.7]


def test_gains_are_paired_and_in_points(known):
    found = known((10,), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    assert np.allclose(found.gain(10, DISTILLED, EXIT_WISE, "budget"), [[4, 1], [4, 1]])
    assert np.allclose(found.gain(10, WITH_UNLABELLED, DISTILLED, "ensemble"), [[4, 1], [4, 1]])


def test_every_method_trains_and_repeats_differ_and_finished_ones_are_not_trained_again(tmp_path, monkeypatch):
    shares = []
    found = look(TINY, TINY.labelled[:1], THREE, Kept(tmp_path), shares.append)
    assert {method for _, method in found.runs} == {method.name for method in THREE}
    first, second = found.runs[10, DISTILLED.name]
    assert first.single.shape == (4,)
    assert not np.array_equal(first.trace, second.trace)
    assert found.runs[10, EXIT_WISE.name][0].trace is None
    assert table(found).num_rows == 3 * 2 * 4
    assert shares == pytest.approx([k / 6 for k in range(1, 7)])
    monkeypatch.setattr(_protocol, "_trained", lambda *given: pytest.fail("trained again"))
    again = look(TINY, TINY.labelled[:1], THREE, Kept(tmp_path), shares.append)
    assert np.array_equal(again.runs[10, DISTILLED.name][1].trace, second.trace)
    assert again.runs[10, EXIT_WISE.name][0].trace is None


def test_without_unlabelled_images_that_method_is_left_out():
    full = replace(TINY, total=14)
    found = look(full, (10, 14), THREE, Kept(), lambda share: None)
    assert (10, WITH_UNLABELLED.name) in found.runs
    assert (14, WITH_UNLABELLED.name) not in found.runs
    assert (14, DISTILLED.name) in found.runs


def test_everything_a_training_depends_on_tells_it_apart():
    job = Job(10, DISTILLED, 0)
    changes = [{"images": "digits"}, {"held": 3}, {"total": 21}, {"width": 5}, {"top": 5}, {"halve": (1,)},
               {"network": "msdnet"}, {"training": ExitTraining(2, batch=20)}]  # fmt: skip
    jobs = [Job(14, DISTILLED, 0), Job(10, EXIT_WISE, 0), Job(10, WITH_UNLABELLED, 0), Job(10, DISTILLED, 1),
            Job(10, Method("hot", temperature=4.0), 0)]  # fmt: skip
    others = [(replace(TINY, **change), job) for change in changes] + [(TINY, other) for other in jobs]
    abouts = [str(o.about(size)) for size, o in [(TINY, job), *others]]
    assert len(set(abouts)) == len(abouts)
    assert job.about(TINY) == job.about(replace(TINY, members=9, few=1, labelled=(1,)))


def test_the_paper_scale_is_the_theses_protocol_on_the_images_at_hand():
    size = SIZES["paper"]
    assert (size.labelled, size.held, size.total, size.few) == ((150, 250, 350, 500), 50, 500, 80)
    assert (size.training.epochs, size.training.batch, size.training.learning_rate) == (300, 64, 0.5)
    assert [size.training.rate(e) for e in (149, 150, 225)] == pytest.approx([0.5, 0.05, 0.005])
    assert _network(size, 3, 10, 0).exits == 11


def test_the_theses_own_images_and_measure_are_used_where_they_are_at_hand(monkeypatch):
    asked = []
    monkeypatch.setattr(_protocol, "at_hand", lambda name: asked.append(name) or True)
    size = sized("paper")
    assert asked == ["cifar100"]
    assert (size.images, size.top, size.training) == ("cifar100", 5, SIZES["paper"].training)
    assert sized("quick") == SIZES["quick"]
    assert asked == ["cifar100"]


def test_damaged_files_are_not_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path))
    for name in ("train.bin", "test.bin"):
        (tmp_path / name).write_bytes(b"part of a file")
    with pytest.raises(Refusal, match="not whole"):
        sized("paper")


def test_without_them_the_ten_classes_are_used(monkeypatch, tmp_path):
    monkeypatch.setenv("TUTELAGE_DATA", str(tmp_path))
    assert sized("paper") == SIZES["paper"]


def test_columns_of_the_thesis_have_the_stated_gains():
    """The gain of exit 1 on CIFAR(150) is the 6.3 points of the text; anytime begins where the budget does."""
    for labelled, columns in _thesis.BUDGET.items():
        assert {len(values) for values in columns.values()} == {11}
        for name, values in columns.items():
            assert values[0] == _thesis.ANYTIME[labelled][name][0]
    first = _thesis.BUDGET[150]
    assert first["distilled"][0] - first["exit-wise"][0] == pytest.approx(6.3)
