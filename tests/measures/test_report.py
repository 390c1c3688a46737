"""Reports over a training, with diverged members blanked."""

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import TutelageError
from tutelage.measures.report import STANDARD, Recorder


def test_a_report_has_the_step_first_and_the_member_second(problem):
    p = problem()
    run = tt.train(p.teacher, p.students, p.inputs, steps=20, record=[10])
    report = tt.measure(run)
    assert report.steps == (0, 10, 20)
    assert report["rho_mean"].shape == (3, 3, 1)
    assert report["specialisation"].shape == (3, 3, 8)
    assert set(report.values) == set(STANDARD)


def test_measuring_while_training_equals_measuring_afterwards(problem):
    p = problem()
    recorder = Recorder(p.teacher, p.inputs)
    run = tt.train(p.teacher, p.students, p.inputs, steps=20, record=[10], on_record=recorder.record)
    for name, value in tt.measure(run).values.items():
        np.testing.assert_array_equal(value, recorder.report()[name])


def test_values_that_wait_on_a_gpu_are_the_same_when_collected(problem, monkeypatch):
    p, collect = problem(), Recorder._collect
    at_once, later = Recorder(p.teacher, p.inputs), Recorder(p.teacher, p.inputs)
    steps = [3, 4, 9]
    for step in steps:
        at_once.record(step, p.students, torch.tensor([-1, 4, -1]))
    with monkeypatch.context() as held:
        held.setattr(Recorder, "_collect", lambda self: None)
        for step in steps:
            later.record(step, p.students, torch.tensor([-1, 4, -1]))
    assert len(later._waiting) == len(steps)
    collect(later)
    for name, value in at_once.report().values.items():
        np.testing.assert_array_equal(value, later.report()[name])
    assert np.isnan(later.report()["evaluate_loss"][1:, 1]).all()


def test_diverged_members_are_blank_from_their_step_on_and_only_they(problem):
    p = problem()
    run = tt.train(p.teacher, p.students, p.inputs, steps=300, record=[1, 200], learning_rate=(0.01, 30.0, 0.01))
    report = tt.measure(run, ["evaluate_loss", "best_teacher"])
    assert 1 < run.diverged_at[1] <= 200
    assert np.isfinite(report["evaluate_loss"][:2]).all()
    assert np.isnan(report["evaluate_loss"][2:, 1]).all()
    assert (report["best_teacher"][2:, 1] == -1).all()
    assert np.isfinite(report["evaluate_loss"][:, [0, 2]]).all()
    assert (report["best_teacher"][:, [0, 2]] >= 0).all()


def test_a_value_that_is_not_finite_is_an_error_with_its_step(problem):
    p = problem()
    broken = p.students.map(lambda a: a * torch.tensor(float("nan")))
    recorder = Recorder(p.teacher, p.inputs, ["evaluate_loss"])
    with pytest.raises(TutelageError, match="'evaluate_loss' is not finite at step 7 for member 0"):
        recorder.record(7, broken, torch.full((3,), -1))


def test_asking_for_what_was_not_measured_names_what_was(problem):
    p = problem()
    report = tt.measure(tt.train(p.teacher, p.students, p.inputs, steps=2), ["rho_mean"])
    with pytest.raises(TutelageError, match="'fan_out' was not measured here: there are rho_mean"):
        report["fan_out"]


def test_a_report_is_iterated_by_name_and_measured_by_one(problem):
    p = problem()
    run = tt.train(p.teacher, p.students, p.inputs, steps=5)
    report = tt.measure(run, "evaluate_loss")
    assert list(report) == ["evaluate_loss"]
    assert len(report) == 1
    assert "evaluate_loss" in report
    assert "rho_mean" not in report
