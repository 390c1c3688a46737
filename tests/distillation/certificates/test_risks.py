"""Checks C5.16 to C5.18 and C5.20: bounds on the expected risk, held, broken and left undecided."""

import math

import pytest
import torch

from tutelage.certificates import certify
from tutelage.distillation.bounds import best_bound, polynomial_bound, polynomial_step
from tutelage.distillation.certificates.scene import DistillationScene
from tutelage.distillation.deep import balanced_start, limit
from tutelage.distillation.flows import StudentFlow
from tutelage.distillation.learners import learned
from tutelage.distillation.tasks import Empirical, Isotropic, LargeMargin, Polynomial
from tutelage.errors import TutelageError

TASKS = [Polynomial(50, kappa=0.5), Polynomial(50, kappa=2.0), LargeMargin(50, limit=1.0), Isotropic(50)]


@pytest.mark.parametrize("task", TASKS, ids=["half", "two", "margin", "isotropic"])
@pytest.mark.parametrize("count", [1, 5, 20])
def test_c5_16_the_risk_is_below_the_bound(task, count, verdicts):
    assert verdicts("risk-bound", task.transfer(range(200), count), task=task) == ["holds"]


def test_c5_16_the_risk_is_zero_from_n_equal_d_on(verdicts):
    task = Polynomial(5, kappa=0.3)
    assert verdicts("risk-bound", task.transfer(range(50), 5), task=task) == ["holds"]
    assert float(task.risk(learned(task.transfer(range(50), 4))).mean()) > 0.01


def test_c5_16_a_task_of_another_teacher_is_a_condition_not_met(verdicts):
    sets = Polynomial(50, kappa=0.2).transfer(range(100), 20)
    assert verdicts("risk-bound", sets, task=Polynomial(50, norm=2.0)) == ["not applicable"]


def test_c5_17_a_margin_gives_an_exponential_rate(verdicts):
    task = LargeMargin(30, limit=1.0)
    for count in (2, 10):
        assert verdicts("margin-risk", task.transfer(range(300), count), task=task, beta=1.0) == ["holds"]
    assert verdicts("margin-risk", task.transfer(range(5), 2), task=task, beta=0.9) == ["not applicable"]
    assert verdicts("margin-risk", Isotropic(30).transfer(range(5), 2), task=Isotropic(30)) == ["not applicable"]


@pytest.mark.parametrize("kappa", [0.5, 1.0, 2.0])
def test_c5_18_polynomial_tasks(kappa, verdicts):
    task = Polynomial(60, kappa=kappa)
    assert verdicts("polynomial-risk", task.transfer(range(200), 10), task=task, kappa=kappa) == ["holds"]
    stronger = verdicts("polynomial-risk", task.transfer(range(10), 10), task=task, kappa=kappa + 0.5)
    assert stronger == ["not applicable"]


def test_c5_18_the_chain_of_the_proof():
    for kappa in (0.1, 0.5, 1.0, 2.0, 5.0):
        task = Polynomial(1000, kappa=kappa)
        for count in range(1, 200, 7):
            best = best_bound(task.p, count).value
            assert best <= polynomial_step(kappa, count) + 1e-9
            assert polynomial_step(kappa, count) <= polynomial_bound(kappa, count) + 1e-12


@pytest.mark.parametrize("layers", [2, 3])
def test_c5_20_students_nearby(layers, verdicts):
    task = Polynomial(40, kappa=1.0)
    transfer = task.transfer(range(200), 8)
    start = balanced_start(transfer, range(200), layers, scale=1e-4).w
    end = limit(transfer, start, layers)
    scene = DistillationScene(transfer, StudentFlow(transfer, (0.0, math.inf), torch.stack([start, end]), layers), task)
    assert verdicts("approximate-risk", scene) == ["holds"]
    assert verdicts("approximate-risk", scene, share=1e-9) == ["not applicable"]
    [certificate] = certify("approximate-risk", scene)
    printed, sharp = (part.conclusion.bound for part in certificate.parts)
    assert best_bound(task.p, 8).value <= sharp <= printed


def test_c5_20_without_a_course_the_bound_is_theorem_5_3(verdicts):
    task = Polynomial(40, kappa=1.0)
    [certificate] = certify("approximate-risk", task.transfer(range(50), 8), task)
    assert certificate.verdict == "holds"
    assert certificate.parts[0].conclusion.bound == pytest.approx(best_bound(task.p, 8).value)


class Boastful(Polynomial):
    """A task that claims more than it has: p of kappa = 30, and the risks of its own kappa."""

    def p(self, theta):
        return (1 - 2 * theta / math.pi).clamp(0, 1) ** 30

    def risk(self, w):
        return Polynomial(self.dimension, kappa=self.kappa).risk(w)


@pytest.mark.parametrize("name", ["risk-bound", "approximate-risk", "polynomial-risk"])
def test_a_bound_from_a_p_that_is_not_the_tasks_fails(name, verdicts):
    task = Boastful(50, kappa=0.3)
    options = {"kappa": 30.0} if name == "polynomial-risk" else {}
    assert verdicts(name, task.transfer(range(100), 20), task=task, **options) == ["fails"]


def test_a_margin_that_is_not_there_fails(verdicts):
    class Narrow(Boastful):
        def p(self, theta):
            return torch.where(theta >= 1.0, 0.0, (1 - theta).clamp(0, 1))

    task = Narrow(50, kappa=0.3)
    assert verdicts("margin-risk", task.transfer(range(100), 20), task=task, beta=1.0) == ["fails"]


def test_a_sample_decides_nothing(verdicts):
    draw = torch.Generator().manual_seed(0)
    pool, out = torch.randn(300, 10, generator=draw), torch.randn(200, 10, generator=draw)
    task = Empirical(pool, torch.ones(10), out)
    assert verdicts("risk-bound", task.transfer(range(20), 4), task=task) == ["not decided"]


def test_a_task_must_be_named(few):
    with pytest.raises(TutelageError, match="pass the task"):
        certify("risk-bound", few)
