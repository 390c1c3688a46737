"""Loads: cutting and joining experiments changes where they are computed, never what comes out."""

import sys

import numpy as np
import pytest
import torch

from tutelage.lab import Store, TeacherStudent, execute
from tutelage.lab.loads import EXPERIMENT_MEMBERS, EXPERIMENT_WORK, Piece, cut, join, loads, some, split, work

CPU = torch.device("cpu")


def several(values):
    """Specs that differ in polarity, width of the teacher and seeds; the first two have students of one shape."""
    return [
        TeacherStudent(**values(precision="float64", training={"learning_rate": [0.01, 0.02, 0.03]})),
        TeacherStudent(**values(precision="float64", teacher={"polarity": [0, 1, 2]}, seeds=[7, 8, 9])),
        TeacherStudent(**values(precision="float64", teacher={"hidden": 6}, student={"width_factor": 1}, seeds=2)),
        TeacherStudent(**values(precision="float64", student={"width_factor": 3})),
    ]


def test_pieces_hold_the_members_of_the_result_in_order(values):
    experiment = several(values)[0]
    pieces = cut(experiment, Piece(experiment, experiment).bytes // 2)
    assert [p.experiment.seeds for p in pieces] == [(0,), (1,), (2,)]
    assert [p.experiment.training.learning_rate for p in pieces] == [(0.01,), (0.02,), (0.03,)]
    assert all(p.whole is experiment for p in pieces)
    assert len(cut(experiment, Piece(experiment, experiment).bytes)) == 1


def test_an_experiment_that_fits_nowhere_is_cut_to_single_members(values):
    assert len(cut(several(values)[0], 1)) == 3


def test_an_experiment_that_shares_its_points_is_not_cut(values):
    """Its points are those of the first seed, which every piece but the first would lack."""
    assert len(cut(TeacherStudent(**values(inputs={"shared": True})), 1)) == 1


def test_only_like_shaped_pieces_are_joined_and_only_as_many_as_fit(values):
    pieces = [Piece(s, s) for s in several(values)]
    together = join(pieces, 10**9)
    assert [len(load) for load in together] == [3, 1]  # 2 x 3 units and 1 x 6 units make students of one shape
    room = max(p.bytes for p in pieces)
    assert all(sum(p.bytes for p in load) <= room for load in join(pieces, room))
    assert sorted(p.whole.hash for load in join(pieces, room) for p in load) == sorted(p.whole.hash for p in pieces)


def test_on_a_cpu_every_result_is_a_load(values):
    assert [len(load) for load in loads(several(values), CPU)] == [1, 1, 1, 1]


def test_some_members_are_an_experiment_of_their_own(values):
    experiment = some(several(values)[1], [2, 0])
    assert experiment.seeds == (9, 7)
    assert experiment.teacher.polarity == (2.0, 0.0)


@pytest.mark.parametrize("way", ["cut", "joined"])
def test_results_do_not_depend_on_how_the_work_was_loaded(values, tmp_path, monkeypatch, way):
    """Experiments cut into single members, or joined across experiments, have the numbers of experiments computed one
    by one.
    """
    experiments = several(values)
    plain = execute(experiments, Store(tmp_path / "plain"))
    if way == "cut":
        monkeypatch.setattr(sys.modules["tutelage.lab.loads"], "_CPU_BYTES", 1)
    else:
        module = sys.modules["tutelage.lab.work"]
        monkeypatch.setattr(module, "loads", lambda experiments, _: join([Piece(s, s) for s in experiments], 10**9))
    done = []
    other = execute(experiments, Store(tmp_path / way), on_progress=done.append)
    for a, b in zip(plain, other, strict=True):
        assert a.report.steps == b.report.steps
        for name in a.report.values:
            np.testing.assert_allclose(b.report[name], a.report[name], rtol=1e-10, atol=1e-12, err_msg=name)
        assert b.weights().members == len(b.experiment.seeds)
        for x, y in zip(a.weights().parameters, b.weights().parameters, strict=True):
            torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-12)


def test_a_small_experiment_is_one_result_with_its_own_hash(values):
    experiment = several(values)[0]
    assert [p.hash for p in split(experiment)] == [experiment.hash]


@pytest.mark.parametrize(("steps", "members"), [(1, 25_000), (10**5, 25_000), (10**8, 25_000), (10**11, 1_000)])
def test_many_seeds_are_cut_into_results_of_a_minute_from_the_experiment_alone(values, steps, members):
    """The members of all experiments are those of the experiment, in order; an experiment is cut no further."""
    rates = [0.01 + i * 1e-6 for i in range(members)]
    experiment = TeacherStudent(
        **values(training={"steps": steps, "learning_rate": rates}, record={"every": max(1, steps // 2)}, seeds=members)
    )
    results = split(experiment)
    assert sum((p.seeds for p in results), ()) == experiment.seeds
    assert sum((p.training.learning_rate for p in results), ()) == experiment.training.learning_rate
    assert all(
        len(p.seeds) == 1 or (work(p) <= EXPERIMENT_WORK and len(p.seeds) <= EXPERIMENT_MEMBERS) for p in results
    )
    assert max(len(p.seeds) for p in results) - min(len(p.seeds) for p in results) <= 1
    assert len({p.hash for p in results}) == len(results) > 1
    assert [p.hash for result in results[:5] for p in split(result)] == [p.hash for p in results[:5]]


def test_shared_points_keep_an_experiment_whole(values):
    experiment = TeacherStudent(**values(inputs={"shared": True}, seeds=3 * EXPERIMENT_MEMBERS))
    assert split(experiment) == [experiment]
