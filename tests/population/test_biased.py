"""Products with biases against quadrature and sampling, in the limits, and without biases against the other formula."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from tutelage import TutelageError
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of
from tutelage.population import biased, kernels
from tutelage.population import expectations as population
from tutelage.population.biased import hessian


def units(*rows):
    return torch.tensor([list(rows)], dtype=torch.float64)


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_quadrature(s, b, t, c, r, slope=0.0):
    """Over U, with V given U a normal variable whose rectified means are known by one more quadrature."""

    def sigma(u):
        return u if u > 0 else slope * u

    def inner(x):
        mean, deviation = c + t * r * x, t * math.sqrt(1 - r * r)
        z = mean / deviation
        above = mean * stats.norm.cdf(z) + deviation * stats.norm.pdf(z)
        below = mean * stats.norm.cdf(-z) - deviation * stats.norm.pdf(z)
        return sigma(s * x + b) * (above + slope * below) * stats.norm.pdf(x)

    kink = min(max(-b / s, -9.0), 9.0)
    return integrate.quad(inner, -10, kink, epsabs=1e-12)[0] + integrate.quad(inner, kink, 10, epsabs=1e-12)[0]


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
@pytest.mark.parametrize("r", [-0.999, -0.6, 0.0, 0.3, 0.95])
@pytest.mark.parametrize(("b", "c"), [(0.0, 0.0), (0.0, 0.7), (-0.4, 0.0), (0.5, 1.1), (-1.2, 0.3), (-2.0, -1.5)])
def test_the_product_is_its_integral(activation, r, b, c):
    s, t = 1.3, 0.8
    w, v = units([s, 0.0]), units([t * r, t * math.sqrt(1 - r * r)])
    found = biased.product(w, units(b), v, units(c), activation, 0.2).item()
    slope = {"relu": 0.0, "leaky": 0.2, "abs": -1.0, "linear": 1.0}[activation]
    assert found == pytest.approx(by_quadrature(s, b, t, c, r, slope), abs=1e-9)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("b", "c"), [(0.4, -0.3), (0.0, 0.0), (-1.0, 2.0)])
def test_parallel_units_are_the_limit(sign, b, c):
    """At an angle of exactly 0 or pi, and a millionth beside it."""
    w = units([1.0, 0.0])
    exact = biased.product(w, units(b), units([sign * 2.0, 0.0]), units(c)).item()
    beside = biased.product(w, units(b), units([sign * 2.0, 2e-6]), units(c)).item()
    assert exact == pytest.approx(beside, abs=1e-5)


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear", "erf", "gelu"])
def test_without_biases_it_is_the_kernel_of_angles(activation):
    x, y = randn(3, 4, 5, seed=1), randn(3, 2, 5, seed=2)
    found = biased.product(x, torch.zeros(3, 4), y, torch.zeros(3, 2), activation, 0.3)
    assert torch.allclose(found, kernels.kernel(x, y, activation, 0.3), atol=1e-12)


def test_a_unit_without_weights_is_a_constant():
    w, v = units([0.0, 0.0]), units([1.0, 1.0])
    mean = biased.product(w, units(2.0), v, units(0.5)).item()
    assert mean == pytest.approx(
        2
        * integrate.quad(
            lambda z: max(0, math.sqrt(2) * z + 0.5) * stats.norm.pdf(z), -9, 9, points=[-0.5 / math.sqrt(2)]
        )[0]
    )
    assert biased.product(w, units(-2.0), v, units(0.5)).item() == 0
    assert biased.product(w, units(2.0), w, units(3.0)).item() == 6


@pytest.mark.parametrize("activation", ["relu", "leaky", "erf", "gelu", "sigmoid", "hermite-2"])
def test_losses_of_networks_with_biases_are_those_of_samples(activation):
    def network(n, seed):
        weights = randn(3, 4, n, seed=seed), randn(3, n, 2, seed=seed + 1)
        return Network(
            weights, (randn(3, n, seed=seed + 2), randn(3, 2, seed=seed + 3)), activation, slope_of(activation, 0.1)
        )

    teacher, students = network(2, 10), network(5, 20)
    exact = biased.loss(teacher, students)
    x = randn(200_000, 4, seed=30)
    errors = (outputs(teacher, x) - outputs(students, x)).square().sum(2) / 2
    assert ((errors.mean(1) - exact).abs() < 4 * errors.std(1) / 200_000**0.5).all()
    assert biased.loss(teacher, teacher).abs().max() < 1e-9


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear", "erf", "gelu", "tanh", "softplus"])
@pytest.mark.parametrize("biased_units", [True, False])
def test_gradients_are_finite_differences_of_the_loss(activation, biased_units):
    """Every array moved in a random direction; one student is a teacher unit turned over, one has no weights."""
    size = 0.5 if activation in ("gelu", "tanh", "softplus") else 1.0  # quadrature is exact for short units alone

    def network(n, seed):
        weights = [size * randn(2, 3, n, seed=seed), randn(2, n, 2, seed=seed + 1)]
        biases = (randn(2, n, seed=seed + 2), randn(2, 2, seed=seed + 3)) if biased_units else None
        return Network(tuple(weights), biases, activation, slope_of(activation, 0.3))

    teacher, students = network(2, 10), network(5, 20)
    students.weights[0][:, :, 0] = -2 * teacher.weights[0][:, :, 0]
    if biased_units:
        students.weights[0][0, :, 1] = 0
    found, h = biased.gradient(teacher, students), 1e-5
    for array, slope in zip(students.parameters, found.parameters, strict=True):
        direction = randn(*array.shape, seed=7)
        if array is students.weights[0] and biased_units:
            direction[0, :, 1] = 0  # the loss has a kink there
        array += h * direction
        there = biased.loss(teacher, students)
        array -= 2 * h * direction
        back = biased.loss(teacher, students)
        array += h * direction
        wanted = ((there - back) / (2 * h)).tolist()
        assert (slope * direction).flatten(1).sum(1).tolist() == pytest.approx(wanted, abs=2e-6)


def test_without_biases_gradients_agree():
    teacher, students = (Network((randn(2, 3, n, seed=n), randn(2, n, 1, seed=n + 1))) for n in (2, 4))
    dw, dc = population.gradient(population.units_of(teacher), population.units_of(students))
    found = biased.gradient(teacher, students)
    assert torch.allclose(found.weights[0], dw.mT, atol=1e-10)
    assert torch.allclose(found.weights[1], dc, atol=1e-10)


def test_without_biases_losses_agree():
    teacher, students = (Network((randn(2, 3, n, seed=n), randn(2, n, 1, seed=n + 1))) for n in (2, 4))
    wanted = population.loss(population.units_of(teacher), population.units_of(students))
    assert torch.allclose(biased.loss(teacher, students), wanted, atol=1e-12)


def test_what_has_no_closed_form_is_refused():
    with pytest.raises(TutelageError, match=r"'hard-swish'.*not smooth enough there for quadrature"):
        biased.product(units([1.0]), units(0.3), units([1.0]), units(0.0), "hard-swish")
    erf = Network((randn(1, 2, 3), randn(1, 3, 1)), (randn(1, 3), randn(1, 1)), "erf")
    with pytest.raises(TutelageError, match="no exact Hessian with biases for 'erf': choose relu"):
        hessian(erf, erf)
    net = Network((randn(1, 2, 3), randn(1, 3, 1)))
    with pytest.raises(TutelageError, match="two layers"):
        biased.loss(net, Network((randn(1, 2, 3), randn(1, 3, 3), randn(1, 3, 1))))
    with pytest.raises(TutelageError, match="different numbers"):
        biased.loss(net, Network((randn(1, 3, 3), randn(1, 3, 1))))
    assert np.isfinite(biased.loss(net, net).item())


KINDS = ["relu", "leaky", "abs", "linear"]


def network(n, seed, activation="relu", members=2, d=3, with_biases=True):
    weights = randn(members, d, n, seed=seed), randn(members, n, 2, seed=seed + 1)
    biases = (randn(members, n, seed=seed + 2), randn(members, 2, seed=seed + 3)) if with_biases else None
    return Network(weights, biases, activation, slope_of(activation, 0.3))


def first_layer(network):
    """Weights and biases of the first layer as the Hessian has them: [S, n (d + 1)]."""
    rows = network.weights[0].mT
    if network.biases is not None:
        rows = torch.cat([rows, network.biases[0][..., None]], 2)
    return rows.flatten(1)


def by_differences(teacher, students, h=1e-5):
    """Columns of the Hessian from the gradient, by central differences of the fourth order: [S, N, N]."""
    columns = []
    for place in range(first_layer(students).shape[1]):
        unit, k = divmod(place, students.inputs + (students.biases is not None))
        array = students.weights[0][:, k, unit] if k < students.inputs else students.biases[0][:, unit]
        slopes = {}
        for steps in (-2, -1, 1, 2):
            array += steps * h
            slopes[steps] = first_layer(biased.gradient(teacher, students))
            array -= steps * h
        columns.append((8 * (slopes[1] - slopes[-1]) - (slopes[2] - slopes[-2])) / (12 * h))
    return torch.stack(columns, 2)


@pytest.mark.parametrize("activation", KINDS)
@pytest.mark.parametrize("with_biases", [True, False])
def test_it_is_finite_differences_of_the_gradient(activation, with_biases):
    teacher, students = network(2, 10, activation), network(4, 20, activation, with_biases=with_biases)
    found, wanted = hessian(teacher, students), by_differences(teacher, students)
    assert (found - wanted).abs().max() < 1e-7 * wanted.abs().max()


@pytest.mark.parametrize("activation", KINDS)
def test_units_that_are_parallel_opposite_or_without_weights(activation):
    """Boundaries of parallel units do not coincide here, so the loss is smooth along all that is moved."""
    teacher, students = network(2, 10, activation), network(5, 20, activation)
    students.weights[0][:, :, 0] = -2 * teacher.weights[0][:, :, 0]
    students.weights[0][:, :, 1] = 0.5 * students.weights[0][:, :, 2]
    students.weights[0][:, :, 3] = -1.5 * students.weights[0][:, :, 2]
    students.weights[0][:, :, 4] = 0
    found, wanted = hessian(teacher, students), by_differences(teacher, students, 1e-4)
    assert (found - wanted).abs().max() < 1e-5 * wanted.abs().max()


@pytest.mark.parametrize("activation", KINDS)
def test_at_zero_biases_it_is_the_hessian_without(activation):
    teacher, students = network(2, 10, activation, with_biases=False), network(4, 20, activation, with_biases=False)
    wanted = population.hessian(population.units_of(teacher), population.units_of(students))
    zeros = Network(students.weights, (0 * randn(2, 4), 0 * randn(2, 2)), activation, slope_of(activation, 0.3))
    with_biases = hessian(teacher, zeros).view(2, 4, 4, 4, 4)[:, :, :3, :, :3].reshape(2, 12, 12)
    assert torch.allclose(hessian(teacher, students), wanted, atol=1e-11)
    assert torch.allclose(with_biases, wanted, atol=1e-11)


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.floats(0, 3))
@settings(max_examples=25, deadline=None)
def test_it_is_symmetric_and_at_the_teacher_itself_a_non_negative_form(seed, activation, scale):
    net = network(4, seed, activation)
    net.biases[0].mul_(scale)
    found = hessian(net, net)
    assert torch.equal(found, found.mT)
    assert torch.linalg.eigvalsh(found).min() > -1e-9 * found.abs().max()


def test_where_the_kink_is_a_wide_bump_it_is_what_samples_say():
    """The part without a kink, sampled: at the student that is the teacher nothing else is left."""
    net = network(3, 5, "leaky", members=1)
    x = randn(100_000, 3, seed=6)
    gate = torch.where(x @ net.weights[0][0] + net.biases[0][0] > 0, 1.0, 0.3)
    rows = gate[:, :, None] * torch.cat([x, torch.ones(len(x), 1)], 1)[:, None, :]
    rows = (
        (rows[:, :, None, :] * net.weights[1][0][None, :, :, None]).permute(0, 2, 1, 3).flatten(2)
    )  # [N, C, n (d + 1)]
    each = torch.einsum("nci,ncj->nij", rows, rows)
    gap = (each.mean(0) - hessian(net, net)[0]).abs()
    assert (gap < 5 * each.std(0) / len(x) ** 0.5).all()


def test_near_the_minimum_the_loss_is_its_quadratic_form():
    net = network(3, 8)
    form, step = hessian(net, net), 1e-3 * randn(2, 12, seed=9)
    rows = (first_layer(net) + step).view(2, 3, 4)
    moved = Network((rows[:, :, :3].mT.contiguous(), net.weights[1]), (rows[:, :, 3].clone(), net.biases[1]))
    wanted = torch.einsum("si,sij,sj->s", step, form, step) / 2
    assert torch.allclose(biased.loss(net, moved), wanted, rtol=0.02)


def test_a_unit_on_its_kink_is_refused_and_a_linear_one_has_none():
    net = network(3, 8)
    net.weights[0][1, :, 2] = 0
    net.biases[0][1, 2] = 0
    with pytest.raises(TutelageError, match="unit 2 of member 1"):
        hessian(net, net)
    line = Network(net.weights, net.biases, "linear")
    assert hessian(line, line).isfinite().all()
    with pytest.raises(TutelageError, match="two layers"):
        hessian(net, Network((*net.weights, randn(2, 2, 1)), None))
