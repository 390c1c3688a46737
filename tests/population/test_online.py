"""Online SGD on fresh samples: one step by hand, and independence of the members."""

import pytest
import torch

from tutelage import TutelageError, draws
from tutelage.population.expectations import Units
from tutelage.population.online import online_sgd


def pair(members: int = 2, d: int = 5) -> tuple[Units, Units]:
    g = torch.Generator().manual_seed(1)
    w, v = (torch.randn(members, n, d, dtype=torch.float64, generator=g) for n in (3, 2))
    a, b = (torch.randn(members, n, 2, dtype=torch.float64, generator=g) for n in (3, 2))
    return Units(v, b), Units(w, a)


def test_one_step_is_the_gradient_of_half_the_squared_error():
    teacher, students = pair()
    seeds, d = (4, 9), 5
    x = draws.normals(draws.keys(seeds, "online points"), d)
    w, c = (a.clone().requires_grad_() for a in (students.w, students.c))
    f = (torch.relu(w @ x[..., None]).mT @ c).squeeze(1)
    taught = (torch.relu(teacher.w @ x[..., None]).mT @ teacher.c).squeeze(1)
    ((f - taught) ** 2).sum().div(2).backward()
    moved, fans = w - 0.3 / d * w.grad, c - 0.2 / d * c.grad
    run = online_sgd(teacher, students, [0.3, 0.3], [1 / d], seeds, second_rate=0.2)
    assert torch.allclose(run.q[0], moved @ moved.mT)
    assert torch.allclose(run.r[0], moved @ teacher.w.mT)
    assert torch.allclose(run.c[0], fans)


def test_a_member_depends_on_its_seed_alone():
    teacher, students = pair()
    both = online_sgd(teacher, students, 0.1, [0.0, 2.0, 4.0], (4, 9), label_noise=0.5)
    alone = online_sgd(
        Units(teacher.w[1:], teacher.c[1:]), Units(students.w[1:], students.c[1:]), 0.1, [4.0], (9,), label_noise=0.5
    )
    assert torch.allclose(both.q[-1, 1], alone.q[0, 0], atol=1e-12)


def test_what_cannot_be_asked_is_refused():
    teacher, students = pair()
    with pytest.raises(TutelageError, match="1 seeds for 2 members"):
        online_sgd(teacher, students, 0.1, [1.0], (1,))
    with pytest.raises(TutelageError, match="at least a step"):
        online_sgd(teacher, students, 0.1, [1.0, 1.01], (1, 2))
    with pytest.raises(TutelageError, match="rate is a finite number"):
        online_sgd(teacher, students, -0.1, [1.0], (1, 2))
    with pytest.raises(TutelageError, match="diverged"):
        online_sgd(teacher, students, 1e6, [100.0], (1, 2))


def test_a_bare_seed_and_a_time_that_is_no_number_are_errors():
    teacher, students = pair()
    with pytest.raises(TutelageError, match="seeds must be a list of whole numbers"):
        online_sgd(teacher, students, 0.1, [1.0], seeds=0)
    with pytest.raises(TutelageError, match="times to record at must be finite, got nan"):
        online_sgd(teacher, students, 0.1, [float("nan")], seeds=[0, 1])
