"""Flow with biases and with any covariance: against small steps, samples, and the flow without."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.networks import Network, outputs
from tutelage.population import Units, flow, gradient


def pair(random_network, members=2, activation="leaky", widths=(3, 4, 2)):
    teacher = random_network((3, 2, 2), members=1, seed=3, activation=activation)
    return teacher, random_network(widths, members=members, seed=4, activation=activation)


def stepped(teacher, students, rate, steps, both):
    """Explicit steps of the gradient."""
    for _ in range(steps):
        moves = list(gradient(teacher, students).parameters)
        moves = [g if both or place in (0, 2) else 0 * g for place, g in enumerate(moves)]
        each = iter(a - rate * g for a, g in zip(students.parameters, moves, strict=True))
        students = students.map(lambda _, each=each: next(each))
    return students


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("activation", ["relu", "leaky", "abs"])
def test_the_flow_with_biases_is_the_limit_of_small_steps(random_network, both, activation):
    """A tenth of the step has a tenth of the gap."""
    teacher, students = pair(random_network, activation=activation)
    end = flow(teacher, students, [0.0, 0.5], both_layers=both).network(-1)
    gaps = []
    for steps in (50, 500):
        by_steps = stepped(teacher, students, 0.5 / steps, steps, both)
        gaps.append(max(float((a - b).abs().max()) for a, b in zip(end.parameters, by_steps.parameters, strict=True)))
    assert 6 < gaps[0] / gaps[1] < 15
    assert gaps[1] < 2e-3


def test_losses_fall_and_are_those_of_samples(random_network):
    teacher, students = pair(random_network)
    variances = torch.tensor([2.0, 1.0, 0.3], dtype=torch.float64)
    path = flow(teacher, students, [0.0, 1.0, 20.0], both_layers=True, covariance=variances)
    losses = path.losses()
    assert (losses.diff(dim=0) < 0).all()
    g = torch.Generator().manual_seed(0)
    x = (torch.randn(400_000, 3, dtype=torch.float64, generator=g) * variances.sqrt()).expand(2, -1, -1)
    for place in range(3):
        error = outputs(path.network(place), x) - outputs(teacher.expand(2), x)
        each = error.square().sum(2) / 2
        assert ((each.mean(1) - losses[place]).abs() < 4.5 * each.std(1) / x.shape[1] ** 0.5 + 1e-9).all()


@pytest.mark.parametrize("kind", ["relu", "erf", "gelu"])
@pytest.mark.parametrize("both", [False, True])
def test_a_covariance_without_biases_is_the_flow_of_small_steps_on_samples_of_it(kind, both):
    """The slope at time 0 against the mean gradient over 400,000 samples; and the two ways to give a variance."""
    g = torch.Generator().manual_seed(1)
    w, v = (torch.randn(1, n, 3, dtype=torch.float64, generator=g) / 2 for n in (3, 2))
    a, b = (torch.randn(1, n, 2, dtype=torch.float64, generator=g) for n in (3, 2))
    teacher, students = Units(v, b, kind), Units(w, a, kind)
    sigma = torch.tensor([[1.5, 0.4, 0.0], [0.4, 1.0, -0.2], [0.0, -0.2, 0.5]], dtype=torch.float64)
    step = 1e-5
    path = flow(teacher, students, [0.0, step], both_layers=both, covariance=sigma, relative=1e-12, absolute=1e-14)
    x = torch.randn(400_000, 3, dtype=torch.float64, generator=g) @ torch.linalg.cholesky(sigma).mT
    leaf_w, leaf_c = w[0].clone().requires_grad_(), a[0].clone().requires_grad_()
    from tutelage.networks.activations import find

    act = find(kind).function
    parts = []
    for some in x.split(20_000):
        error = act(some @ leaf_w.T, 0.01) @ leaf_c - act(some @ v[0].T, 0.01) @ b[0]
        parts.append(torch.autograd.grad(error.square().sum(1).mean() / 2, (leaf_w, leaf_c)))
    for place, moved in ((0, path.w), (1, path.c)):
        each = torch.stack([part[place] for part in parts])
        found = -(moved[1, 0] - moved[0, 0]) / step
        if place == 0 or both:
            assert ((found - each.mean(0)).abs() < 5 * each.std(0) / len(parts) ** 0.5 + 1e-4).all()
        else:
            assert (found == 0).all()


def test_a_variance_is_a_matrix_and_one_is_nothing(random_network):
    teacher, students = pair(random_network)
    by_number, by_matrix = (
        flow(teacher, students, [1.0], both_layers=True, covariance=sigma).network(0)
        for sigma in (1.7, 1.7 * torch.eye(3, dtype=torch.float64))
    )
    plain, ones = (flow(teacher, students, [1.0], covariance=sigma).network(0) for sigma in (None, torch.ones(3)))
    for pairs in ((by_number, by_matrix), (plain, ones)):
        for a, b in zip(*(n.parameters for n in pairs), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-7)


def test_biases_of_zero_are_learned_and_what_does_not_fit_is_an_error(random_network):
    teacher, students = pair(random_network)
    zeros = Network(students.weights, tuple(0 * b for b in students.biases), students.activation, students.slope)
    path = flow(teacher, zeros, [0.0, 1.0])
    assert path.biases[0][1].abs().min() > 0
    assert (path.biases[1] == 0).all()
    with pytest.raises(TutelageError, match="needs networks with biases for teacher and students"):
        flow(teacher, Units(students.weights[0].mT, students.weights[1], "leaky", 0.1), [1.0])
    with pytest.raises(TutelageError, match="eigenvalues above 0"):
        flow(teacher, students, [1.0], covariance=-1.0)
