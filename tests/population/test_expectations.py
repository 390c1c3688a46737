"""The population loss against sampled losses, its gradient and Hessian against automatic differentiation."""

import math

import numpy as np
import pytest
import torch

from tutelage import TutelageError
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of
from tutelage.population.expectations import Units, first_layer_gradient, gradient, hessian, loss, units_of
from tutelage.population.kernels import KINDS, kernel, weighted_gradient


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def pair(kind="relu", members=3, m=2, n=4, d=3, c=2):
    teacher = Units(randn(members, m, d, seed=1), randn(members, m, c, seed=2), kind, slope_of(kind, 0.1))
    return teacher, Units(randn(members, n, d, seed=3), randn(members, n, c, seed=4), kind, slope_of(kind, 0.1))


@pytest.mark.parametrize("kind", ["relu", "leaky", "abs", "linear"])
def test_the_loss_is_that_of_samples(kind):
    """Within four standard errors, through the networks themselves."""
    networks = [Network((u.w.mT, u.c), activation=kind, slope=slope_of(kind, 0.1)) for u in pair(kind)]
    exact = loss(*(units_of(network) for network in networks))
    x = randn(200_000, 3, seed=9)
    errors = (outputs(networks[0], x) - outputs(networks[1], x)).square().sum(2) / 2
    assert ((errors.mean(1) - exact).abs() < 4 * errors.std(1) / 200_000**0.5).all()


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_the_loss(kind):
    teacher, students = pair(kind)
    dw, dc = gradient(teacher, students)
    along_w, along_c, h = randn(*students.w.shape, seed=6), randn(*students.c.shape, seed=7), 1e-5
    there, back = (loss(teacher, students.moved(students.w + t * along_w, students.c + t * along_c)) for t in (h, -h))
    wanted = (dw * along_w).sum((1, 2)) + (dc * along_c).sum((1, 2))
    assert torch.allclose((there - back) / (2 * h), wanted, atol=1e-8)
    assert torch.equal(first_layer_gradient(teacher, students), dw)


@pytest.mark.parametrize("kind", KINDS)
def test_the_hessian_is_the_derivative_of_the_gradient(kind):
    teacher, students = pair(kind)
    found, h = hessian(teacher, students), 1e-6
    assert torch.allclose(found, found.mT, atol=1e-12)
    direction = randn(*students.w.shape, seed=5)
    there, back = (gradient(teacher, students.moved(students.w + t * direction))[0] for t in (h, -h))
    wanted = ((there - back) / (2 * h)).flatten(1)
    assert torch.allclose((found @ direction.flatten(1).unsqueeze(2)).squeeze(2), wanted, atol=1e-7)


def test_the_constant_of_the_gradient_is_one_over_two_pi():
    """Zhu et al. 2021, eq. 1 prints 1 / (4 pi): with it the gradient would be half of what finite differences say."""
    teacher = Units(torch.tensor([[[1.0, 0.0]]]), torch.ones(1, 1, 1))
    students = Units(torch.tensor([[[0.3, 0.5]]]), torch.ones(1, 1, 1))
    w, u = students.w[0, 0], teacher.w[0, 0]
    angle = math.acos(w @ u / (w.norm() * u.norm()))
    bracket = math.pi * w - ((math.pi - angle) * u + u.norm() * math.sin(angle) * w / w.norm())
    h = 1e-6
    steps = h * torch.eye(2, dtype=torch.float64)[:, None]
    both = Units(students.w.expand(2, -1, -1), students.c.expand(2, -1, -1))
    there, back = (loss(teacher, both.moved(both.w + sign * steps)) for sign in (1, -1))
    differences = (there - back) / (2 * h)
    assert np.allclose(bracket / (2 * math.pi), differences, atol=1e-9)
    assert not np.allclose(bracket / (4 * math.pi), differences, atol=1e-2)
    assert torch.allclose(gradient(teacher, students)[0][0, 0], bracket / (2 * math.pi), atol=1e-12)


def test_a_student_that_is_the_teacher_has_no_loss_and_no_gradient():
    teacher, _ = pair()
    assert loss(teacher, teacher).abs().max() < 1e-13
    assert all(part.abs().max() < 1e-13 for part in gradient(teacher, teacher))


def test_one_teacher_serves_all_members():
    teacher, students = pair()
    one = Units(teacher.w[:1], teacher.c[:1])
    same = Units(teacher.w[:1].expand(3, -1, -1), teacher.c[:1].expand(3, -1, -1))
    assert torch.equal(loss(one, students), loss(same, students))
    assert torch.equal(gradient(one, students)[0], gradient(same, students)[0])
    assert torch.equal(hessian(one, students), hessian(same, students))


def test_what_has_no_closed_form_here_is_refused():
    teacher, students = pair()
    with pytest.raises(TutelageError, match="biases"):
        units_of(Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)), (torch.ones(1, 3), torch.zeros(1, 1))))
    with pytest.raises(TutelageError, match="two layers"):
        units_of(Network((torch.ones(1, 2, 3), torch.ones(1, 3, 3), torch.ones(1, 3, 1))))
    with pytest.raises(TutelageError, match="unknown activation 'swish'"):
        Units(teacher.w, teacher.c, "swish")
    with pytest.raises(TutelageError, match="3 inputs"):
        loss(teacher, Units(randn(3, 2, 4), randn(3, 2, 2)))
    with pytest.raises(TutelageError, match="different activations"):
        loss(teacher, Units(students.w, students.c, "abs"))
    with pytest.raises(TutelageError, match="one per member"):
        loss(Units(teacher.w[:2], teacher.c[:2]), students)
    with pytest.raises(TutelageError, match="not finite"):
        Units(teacher.w / 0, teacher.c)


@pytest.mark.parametrize("kind", ["relu", "leaky", "abs", "linear"])
@pytest.mark.parametrize("shared", [True, False])
def test_the_compiled_loop_is_the_formula(kind, shared):
    """Also for zero vectors, nearly parallel or opposite pairs, and many members on several threads."""
    teacher, students = pair(kind, members=400, n=7, m=3, d=5)
    if shared:
        teacher = Units(teacher.w[:1], teacher.c[:1], kind, slope_of(kind, 0.1))
    w = students.w.clone()
    w[0, 0] = 0
    w[1, 1] = 2 * w[1, 0] + 1e-9
    w[2, 1] = -w[2, 0] + 1e-7
    w[3, 2] = 3 * teacher.w[0, 0]
    students = students.moved(w)
    c_both = torch.cat([students.c, -teacher.c.expand(400, -1, -1)], dim=1)
    w_both = torch.cat([students.w, teacher.w.expand(400, -1, -1)], dim=1)
    dw, dc = gradient(teacher, students)
    wanted = weighted_gradient(students.c @ c_both.mT, students.w, w_both, kind, slope_of(kind, 0.1))
    assert torch.allclose(dw, wanted, rtol=1e-12, atol=1e-12)
    assert torch.allclose(dc, kernel(students.w, w_both, kind, slope_of(kind, 0.1)) @ c_both, rtol=1e-12, atol=1e-12)


def test_units_from_arrays_and_lists():
    w, c = np.eye(2, 3)[None], np.ones((1, 2, 1))
    for given in (Units(w, c), Units(w.tolist(), c.tolist())):
        assert given.w.dtype == torch.float64
        assert loss(given, Units(torch.eye(2, 3)[None], torch.ones(1, 2, 1))).tolist() == [0.0]
    with pytest.raises(TutelageError, match="directions w must be a tensor or an array of numbers, got NoneType"):
        Units(None, c)
    with pytest.raises(TutelageError, match="slope must be a finite number, got nan"):
        Units(w, c, "leaky", math.nan)


def test_a_torch_module_is_no_network():
    with pytest.raises(TutelageError, match=r"expected a network, got Linear: turn a torch module into one"):
        units_of(torch.nn.Linear(2, 3))
