"""Sums of erfs: near the activation, and in the equations against samples of one step and against online SGD."""

import numpy as np
import pytest
import torch

from tutelage import TutelageError
from tutelage.networks import activation
from tutelage.networks.activations import ACTIVATIONS, value_and_derivative
from tutelage.population import Units, erf_sum, loss, online_sgd, order_parameters
from tutelage.population.overlaps import overlaps


@pytest.fixture(scope="module")
def softsign():
    """An odd bounded function of a user whose tails are fat, and one whose tails are thin."""

    @activation
    def gentle(u):
        return (u.tanh() + (u / 2).tanh()) / 2

    @activation
    def fat(u):
        return u / (1 + u.abs())

    yield "gentle", "fat"
    ACTIVATIONS.pop("gentle")
    ACTIVATIONS.pop("fat")


def test_errors_are_those_of_random_points(softsign):
    for name in ("tanh", softsign[0]):
        parts = erf_sum(name)
        u = 10 * torch.randn(20_000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        value, slope = value_and_derivative(name, u.clone())
        scaled = u[:, None] * parts.widths
        mine = torch.special.erf(scaled / 2**0.5) @ parts.weights
        bend = (2 / np.pi) ** 0.5 * (-(scaled**2) / 2).exp() @ (parts.weights * parts.widths)
        # the grid of the errors is finer than the width of any erf, so between its points little is added
        assert (mine - value).abs().max() < 1.01 * parts.error + 1e-12
        assert (bend - slope).abs().max() < 1.01 * parts.slope_error + 1e-12


def test_the_loss_of_the_parts_is_that_by_quadrature():
    g = torch.Generator().manual_seed(1)
    teacher, students = (
        Units(torch.randn(3, n, 5, generator=g) / 5**0.5, torch.randn(3, n, 2, generator=g), "tanh") for n in (2, 3)
    )
    parts = erf_sum("tanh")
    exact, summed = loss(teacher, students), loss(parts.units(teacher), parts.units(students))
    # the outputs differ by at most the error times the sum of the sizes of all fan-outs
    room = parts.error * (teacher.c.abs().sum((1, 2)) + students.c.abs().sum((1, 2)))
    assert ((exact - summed).abs() < 2 * room * exact.sqrt() + room**2).all()


def test_every_term_against_samples_of_one_step(change):
    """Means over 200,000 samples of the terms as they are written, with noise in the labels."""
    rate, second, noise = 0.7, 0.4, 0.5
    g = torch.Generator().manual_seed(7)
    students, teacher = (
        Units(torch.randn(1, n, 6, generator=g), torch.randn(1, n, 2, generator=g), "tanh") for n in (3, 2)
    )
    x = torch.randn(200_000, 6, dtype=torch.float64, generator=g)
    lam, rho = x @ students.w[0].T, x @ teacher.w[0].T
    value = lam.tanh()
    error = value @ students.c[0] - rho.tanh() @ teacher.c[0]
    error = error - noise * torch.randn(*error.shape, dtype=torch.float64, generator=g)
    delta = (1 - value**2) * (error @ students.c[0].T)
    drift = delta[:, :, None] * lam[:, None, :]
    sampled = (
        -rate * (drift + drift.mT) + rate**2 * delta[:, :, None] * delta[:, None, :],
        -rate * rho[:, :, None] * delta[:, None, :],
        -second * value[:, :, None] * error[:, None, :],
    )
    rates = torch.tensor([rate], dtype=torch.float64), torch.tensor([second], dtype=torch.float64)
    for exact, samples in zip(change(overlaps(teacher, students), *rates, noise), sampled, strict=True):
        score = (samples.mean(0) - exact[0]) / (samples.std(0) / len(samples) ** 0.5)
        assert score.abs().max() < 4.5
        assert score.square().mean() < 4


def test_online_sgd_in_400_dimensions_agrees_in_the_mean():
    d, members = 400, 30
    w = torch.zeros(members, 2, d, dtype=torch.float64)
    w[..., :4] = torch.tensor([[0.6, 0.1, 0.5, 0.0], [0.1, 0.7, 0.0, 0.5]])
    teacher = Units(torch.eye(2, d)[None], torch.ones(1, 2, 1), "tanh")
    students = Units(w, torch.ones(members, 2, 1), "tanh")
    limit = order_parameters(teacher, Units(w[:1], torch.ones(1, 2, 1), "tanh"), 1.0, [0.0, 4.0], second_rate=0.5)
    run = online_sgd(teacher, students, 1.0, [0.0, 4.0], range(members), second_rate=0.5)
    for exact, simulated in ((limit.q, run.q), (limit.r, run.r), (limit.c, run.c)):
        mean, error = simulated[-1].mean(0), simulated[-1].std(0) / members**0.5
        # the mean in d dimensions differs from the limit by a term of order 1/d
        assert ((mean - exact[-1, 0]).abs() < 4 * error + 4 / d).all()


def test_what_is_no_sum_of_erfs(softsign):
    for name, sentence in [
        ("sigmoid", "which is not odd"),
        ("gelu", "which is not odd"),
        (softsign[1], "no sum of erfs is near the activation 'fat'"),
        ("hermite-3", "no sum of erfs is near"),
    ]:
        with pytest.raises(TutelageError, match=sentence):
            erf_sum(name)
