"""Losses, gradients and order parameters of activations beyond relu and erf, against samples and derivatives."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.population import Units, gradient, loss, online_sgd, order_parameters
from tutelage.population._fourfold import fourfold
from tutelage.population.kernels import kernel, weighted_gradient
from tutelage.population.quadrature import expected

OTHERS = ["tanh", "sigmoid", "softplus", "gelu", "silu", "squared-relu", "hermite-2", "hermite-3"]


def units(n, d=5, seed=0, activation="tanh", scale=1.0):
    draw = torch.Generator().manual_seed(seed)
    w, c = (torch.randn(2, n, k, generator=draw, dtype=torch.float64) for k in (d, 2))
    return Units(scale * w / d**0.5, c, activation)


def values(activation, u):
    from tutelage.networks.activations import value_and_derivative

    return value_and_derivative(activation, u)[0]


@pytest.mark.parametrize("activation", OTHERS)
def test_the_loss_is_that_of_many_samples(activation):
    teacher, students = units(2, activation=activation), units(3, seed=1, activation=activation)
    x = torch.randn(400_000, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    exact = loss(teacher, students)
    for s in range(2):
        f, g = (values(activation, x @ u.w[s].T) @ u.c[s] for u in (teacher, students))
        each = (f - g).square().sum(1) / 2
        assert abs(each.mean() - exact[s]) < 5 * each.std() / len(x) ** 0.5


@pytest.mark.parametrize("activation", ["erf", "linear"])
def test_quadrature_agrees_with_closed_forms(activation):
    a, b = units(3, seed=3, activation=activation).w, units(2, seed=4, activation=activation).w
    lengths = [x.norm(dim=2) for x in (a, b)]
    cosine = a @ b.mT / (lengths[0].unsqueeze(2) * lengths[1].unsqueeze(1))
    torch.testing.assert_close(
        expected(*lengths, cosine, activation)[0], kernel(a, b, activation), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("activation", OTHERS)
def test_the_gradient_is_the_derivative_of_the_loss(activation):
    teacher, students = units(2, activation=activation), units(3, seed=1, activation=activation)
    slope = gradient(teacher, students)
    draw = torch.Generator().manual_seed(5)
    for name in ("w", "c"):
        here, direction = getattr(students, name), torch.randn(getattr(students, name).shape, generator=draw).double()
        step = 1e-5
        ends = [
            loss(teacher, students.moved(**{"w": students.w, "c": students.c} | {name: here + t * direction}))
            for t in (step, -step)
        ]
        along = (getattr(slope, name) * direction).sum((1, 2))
        torch.testing.assert_close((ends[0] - ends[1]) / (2 * step), along, rtol=1e-6, atol=1e-8)


def test_parallel_units_have_their_gradient():
    w = torch.tensor([[[0.6, 0.8]]], dtype=torch.float64)
    got = weighted_gradient(torch.ones(1, 1, 1, dtype=torch.float64), w, w, "tanh")
    step = 1e-5
    for i in range(2):
        moved = [w + s * step * torch.eye(2, dtype=torch.float64)[i] for s in (1, -1)]
        torch.testing.assert_close(
            (kernel(moved[0], w, "tanh") - kernel(moved[1], w, "tanh")).squeeze() / (2 * step), got[0, 0, i]
        )


def test_what_quadrature_cannot_do_is_an_error():
    long = units(2, activation="tanh", scale=200.0)
    with pytest.raises(TutelageError, match="no exact expectation for the activation 'tanh' with units of length"):
        loss(long, long.moved(long.w + 1))


def test_fourfold_integrals_of_polynomials_are_those_of_samples():
    draw = torch.Generator().manual_seed(0)
    root = torch.randn(1, 3, 3, generator=draw, dtype=torch.float64) / 2
    c = root @ root.mT
    exact = fourfold(c, 2, "hermite-2")
    u = torch.randn(2_000_000, 3, generator=draw, dtype=torch.float64) @ root[0].T
    for k, l, p, q in ((0, 0, 0, 0), (0, 1, 2, 2), (1, 0, 0, 2)):
        sample = 2 * u[:, k] * u[:, l] * (u[:, p] ** 2 - 1) * (u[:, q] ** 2 - 1) / 2
        assert abs(exact[0, k, l, p, q] - sample.mean()) < 5 * sample.std() / len(u) ** 0.5


def test_order_parameters_of_polynomials_are_the_limit_of_simulations():
    d, members = 1000, 8
    teacher = Units(torch.eye(1, d)[None], torch.ones(1, 1, 1), "hermite-2")
    start = torch.zeros(members, 2, d, dtype=torch.float64)
    start[:, 0, 0], start[:, 0, 1], start[:, 1, 2] = 0.5, 0.5, 0.7
    students = Units(start, 0.5 * torch.ones(members, 2, 1), "hermite-2")
    times = [0.0, 0.5, 1.0, 2.0]
    alike = Units(start[:1], students.c[:1], students.activation)  # all members start alike, and so have one limit
    limit = order_parameters(teacher, alike, 0.2, times, label_noise=0.1)
    simulated = online_sgd(teacher, students, 0.2, times, range(members), label_noise=0.1)
    for name in ("q", "r"):
        gap = getattr(simulated, name) - getattr(limit, name)
        error = gap.std(1) / members**0.5 + 2 / d
        assert bool((gap.mean(1).abs() < 4 * error).all())


@pytest.mark.parametrize("activation", OTHERS)
@pytest.mark.parametrize("start", [[1.0, 0.0], [0.0, 0.0], [1e-9, 0.0]], ids=["orthogonal", "zero", "tiny"])
def test_expectations_that_vanish_are_no_failure_of_the_rule(activation, start):
    teacher = Units(torch.tensor([[[0.0, 1.0]]]), torch.ones(1, 1, 1), activation)
    students = Units(torch.tensor([[start]]), torch.ones(1, 1, 1), activation)
    assert loss(teacher, students).isfinite().all()
    assert gradient(teacher, students).w.isfinite().all()


def test_there_is_no_hessian_by_quadrature():
    from tutelage.population import hessian

    with pytest.raises(TutelageError, match="no exact Hessian for the activation 'tanh': use one of relu"):
        hessian(units(2), units(2))
