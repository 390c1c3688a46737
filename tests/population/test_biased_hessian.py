"""The Hessian with biases against finite differences of the gradient, sampling, and the Hessian without biases."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import slope_of
from tutelage.population import biased
from tutelage.population import expectations as population
from tutelage.population.biased_hessian import hessian

KINDS = ["relu", "leaky", "abs", "linear"]


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


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
