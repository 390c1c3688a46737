"""Tasks: draws follow p, larger sets begin with smaller ones, and angles of students have the known distribution."""

import math

import pytest
import torch
from scipy.stats import beta, kstest

from tutelage.distillation.learners import learned, unsigned_angle
from tutelage.distillation.tasks import Empirical, Isotropic, LargeMargin, Polynomial, reverse_distribution
from tutelage.errors import TutelageError

TASKS = [
    Polynomial(12, kappa=0.3),
    Polynomial(12, kappa=2.0),
    LargeMargin(12, limit=1.0),
    LargeMargin(12, limit=1.2, kappa=0.5),
    Isotropic(12),
    Isotropic(2),
]


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_angles_follow_p(task):
    points = task.points([5], 4000)[0]
    found = unsigned_angle(points, task.teacher.expand_as(points))
    cdf = lambda a: 1 - task.p(torch.as_tensor(a)).numpy()  # noqa: E731
    assert kstest(found.numpy(), cdf).pvalue > 1e-3
    theta = torch.linspace(0, math.pi / 2, 101, dtype=torch.float64)
    p = task.p(theta)
    assert float(p[0]) == pytest.approx(1.0)
    assert (p[1:] <= p[:-1] + 1e-15).all()
    assert (task.p(theta) - reverse_distribution(points, task.teacher)(theta)).abs().max() < 1.95 / math.sqrt(4000)


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_members_and_beginnings(task):
    small, large = task.points([1], 3), task.points([0, 1], 7)
    assert torch.equal(small[0], large[1, :3])
    assert not torch.equal(task.points([1], 3), task.points([1], 3, "test"))
    signs = (task.points([0], 2000)[0] @ task.teacher >= 0).double().mean()
    assert abs(float(signs) - 0.5) < 0.05


def test_the_students_angle_on_isotropic_inputs():
    """cos^2 of the angle between w_hat and the teacher ~ Beta(n/2, (d-n)/2)."""
    transfer = Isotropic(15).transfer(range(2000), 4)
    cosine = unsigned_angle(learned(transfer), transfer.teacher).cos().square()
    assert kstest(cosine.numpy(), beta(2, 5.5).cdf).pvalue > 1e-3


def test_real_inputs_come_without_repetition():
    draw = torch.Generator().manual_seed(0)
    pool, out = torch.randn(40, 5, generator=draw), torch.randn(30, 5, generator=draw)
    task = Empirical(pool, torch.ones(5), out)
    order = task.points(range(3), 40)
    assert torch.equal(order.sort(1).values[0], pool.double().sort(0).values)
    assert not torch.equal(order[0], order[1])
    assert float(task.risk(torch.ones(1, 5, dtype=torch.float64))) == 0
    assert float(task.risk(-torch.ones(1, 5, dtype=torch.float64))) == 1
    assert float(task.p(torch.tensor(0.0))) == 1
    with pytest.raises(TutelageError, match="40 inputs"):
        task.points([0], 41)


@pytest.mark.parametrize(
    "task", [Isotropic(5), Polynomial(5), LargeMargin(5), Empirical(*map(torch.ones, ((4, 5), 5, (3, 5))))]
)
def test_students_of_another_dimension_have_no_risk(task):
    with pytest.raises(TutelageError, match=r"the task has 5 inputs, so students w must have the shape \[S, 5\], got"):
        task.risk(torch.ones(2, 4))
    with pytest.raises(TutelageError, match="must be finite"):
        task.risk(torch.full((2, 5), math.nan))
    assert task.risk(torch.ones(2, 5)).shape == task.risk([[1.0, 2, 3, 4, 5]] * 2).shape == (2,)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Polynomial(10, kappa=0.0),
        lambda: Polynomial(1),
        lambda: LargeMargin(10, limit=math.pi / 2),
        lambda: Isotropic(10, norm=0.0),
        lambda: Empirical(torch.ones(3, 2), torch.ones(3), torch.ones(3, 2)),
        lambda: Empirical(torch.zeros(3, 2), torch.ones(2), torch.ones(3, 2)),
        lambda: Empirical(torch.ones(3, 2), torch.zeros(2), torch.ones(3, 2)),
    ],
)
def test_what_is_refused(make):
    with pytest.raises(TutelageError):
        make()
