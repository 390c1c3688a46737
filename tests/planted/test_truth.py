"""The truth: planted units are found in their state, and closed forms agree with samples."""

import pytest
import torch

from tutelage.measures import correlations
from tutelage.networks import Network, forward
from tutelage.planted import rewriting
from tutelage.planted.truth import ABSENT, PRESENT, SPLIT, SUPERPOSITION, _by_interval, _exact, states, truth
from tutelage.training.inputs import Gaussian, GaussianCovariance, Uniform
from tutelage.training.teachers import Levels

SEEDS = range(2)
GAUSSIAN = Gaussian(std=1.5, train=1, evaluate=4_000)


@pytest.fixture(scope="module")
def teacher() -> Network:
    return Levels(inputs=8, hidden=5, outputs=3).make(SEEDS, None, torch.float64)


def points(teacher, distribution=GAUSSIAN):
    return distribution.draw(teacher, SEEDS).evaluate


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda t: t, PRESENT),
        (lambda t: rewriting.permuted(t, SEEDS), PRESENT),
        (lambda t: rewriting.scaled(t, SEEDS), PRESENT),
        (lambda t: rewriting.split(t, SEEDS), SPLIT),
        (lambda t: rewriting.with_duplicates(t, SEEDS), SPLIT),
        (lambda t: rewriting.superposed(t, SEEDS), SUPERPOSITION),
        (lambda t: t.map(lambda a: a.flip(1)), ABSENT),
    ],
)
def test_planted_units_have_their_state_by_activation_and_by_certificate(teacher, change, state):
    found = truth(teacher, change(teacher), points(teacher), 1, GAUSSIAN)
    assert found.exact
    assert (found.state == state).all()
    assert (found.certified == state).all()


def test_directions_are_the_units_or_the_combinations(teacher):
    students = rewriting.superposed(teacher, SEEDS)
    x = points(teacher)
    found = truth(teacher, students, x)
    read = forward(students, x).features[1] @ found.directions.mT
    rho = correlations(found.features, read).diagonal(dim1=1, dim2=2)
    assert torch.allclose(rho, torch.ones_like(rho), atol=1e-9)


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
@pytest.mark.parametrize(
    "distribution", [Gaussian(std=1.5, evaluate=100_000), GaussianCovariance(decay=1.0, evaluate=100_000)]
)
def test_exact_correlations_are_those_of_many_points(activation, distribution):
    first, second = (
        Levels(inputs=6, hidden=3, outputs=2, activation=activation).make(seeds, None, torch.float64)
        for seeds in (SEEDS, (7, 8))
    )
    rho, explained = _exact(first, second, distribution)
    x = points(first, distribution)
    sampled = truth(first, second, x)
    # four standard errors of Fisher's transformation; the factor 2 is for tails heavier than the normal ones
    room = 2 * 4 / 100_000**0.5
    assert torch.allclose(
        torch.atanh(rho.clamp(-0.999, 0.999)), torch.atanh(sampled.correlation.clamp(-0.999, 0.999)), atol=room
    )
    assert torch.allclose(explained, sampled.explained, atol=room)


def test_without_a_closed_form_intervals_decide_or_do_not(teacher):
    uniform = Uniform(evaluate=4_000)
    assert _exact(teacher, teacher, uniform) is None
    found = truth(teacher, teacher, points(teacher, uniform), 1, uniform)
    assert not found.exact
    assert (found.certified == PRESENT).all()
    near = torch.tensor([[[0.951, 0.0]]], dtype=torch.float64)
    assert _by_interval(near, near.amax(2), 100).item() == -1
    assert _by_interval(near, near.amax(2), 1_000_000).item() == PRESENT


def test_what_a_combination_could_do_before_training_does_not_count(teacher):
    students = rewriting.superposed(teacher, SEEDS)
    found = truth(teacher, students, points(teacher), 1, GAUSSIAN, start=students)
    assert (found.state == ABSENT).all()
    assert (found.certified == ABSENT).all()


def test_states_of_correlations():
    rho = torch.tensor([[[0.99, 0.1], [0.99, -0.97], [0.5, 0.5], [0.5, 0.5]]])
    assert states(rho, torch.tensor([[1.0, 1.0, 0.96, 0.6]])).tolist() == [[PRESENT, SPLIT, SUPERPOSITION, ABSENT]]


def test_constant_units_are_absent(teacher):
    still = teacher.map(torch.zeros_like)
    found = truth(teacher, still, points(teacher), 1, GAUSSIAN)
    assert (found.state == ABSENT).all()
    assert (found.certified == ABSENT).all()
