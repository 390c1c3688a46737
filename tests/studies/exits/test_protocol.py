"""The protocol that studies of exits share: subsets, repeats, what evidence says, and one training at each method."""

from dataclasses import replace

import numpy as np
import pytest

from tutelage.distillation.exit_training import ExitTraining
from tutelage.studies.exits import _thesis
from tutelage.studies.exits._protocol import (
    DISTILLED,
    EXIT_WISE,
    SIZES,
    THREE,
    WITH_UNLABELLED,
    Trained,
    _network,
    _trained,
    look,
    table,
)

TINY = replace(SIZES["smoke"], training=ExitTraining(1, batch=20), members=2)


def test_the_exit_is_chosen_on_held_images_not_on_test_ones():
    test, held = np.array([0.5, 0.9, 0.7]), np.array([0.6, 0.5, 0.8])
    run = Trained(test, test, held, None)
    assert run.budget.tolist() == [0.5, 0.5, 0.7]


def test_gains_are_paired_and_in_points(known):
    found = known((10,), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    assert np.allclose(found.gain(10, DISTILLED, EXIT_WISE, "budget"), [[4, 1], [4, 1]])
    assert np.allclose(found.gain(10, WITH_UNLABELLED, DISTILLED, "ensemble"), [[4, 1], [4, 1]])


def test_every_method_trains_and_repeats_differ():
    found = look(TINY, TINY.labelled[:1], THREE, lambda share: None)
    assert {method for _, method in found.runs} == {method.name for method in THREE}
    first, second = found.runs[10, DISTILLED.name]
    assert first.single.shape == (4,)
    assert not np.array_equal(first.trace, second.trace)
    assert found.runs[10, EXIT_WISE.name][0].trace is None
    assert table(found).num_rows == 3 * 2 * 4
    assert _trained(TINY, 10, DISTILLED, 0) is first


def test_the_paper_scale_is_the_theses_protocol_on_the_images_at_hand():
    size = SIZES["paper"]
    assert (size.labelled, size.held, size.total, size.few) == ((150, 250, 350), 50, 500, 80)
    assert (size.training.epochs, size.training.batch, size.training.learning_rate) == (300, 64, 0.5)
    assert [size.training.rate(e) for e in (149, 150, 225)] == pytest.approx([0.5, 0.05, 0.005])
    assert _network(size, 3, 10, 0).exits == 11


def test_columns_of_the_thesis_have_the_stated_gains():
    """The gain of exit 1 on CIFAR(150) is the 6.3 points of the text; anytime begins where the budget does."""
    for labelled, columns in _thesis.BUDGET.items():
        assert {len(values) for values in columns.values()} == {11}
        for name, values in columns.items():
            assert values[0] == _thesis.ANYTIME[labelled][name][0]
    first = _thesis.BUDGET[150]
    assert first["distilled"][0] - first["exit-wise"][0] == pytest.approx(6.3)
