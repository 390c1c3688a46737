"""Small problems that many tests share, and one profile for Hypothesis."""

import itertools

import pytest
import torch
from hypothesis import settings

import tutelage as tt
from tutelage.networks import Network

settings.register_profile("tutelage", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("tutelage")
torch.set_num_threads(1)  # the tests run in two processes on two cores


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request) -> torch.dtype:
    return request.param


def make_network(widths, members=2, seed=0, bias=True, activation="relu", slope=0.1, dtype=torch.float64) -> Network:
    """Weights of variance 1/fan_in, so that every layer is of order one."""
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64).to(dtype)

    pairs = list(itertools.pairwise(widths))
    weights = tuple(normal(members, i, o) / i**0.5 for i, o in pairs)
    biases = tuple(normal(members, o) for _, o in pairs) if bias else None
    return Network(weights, biases, activation, slope)


@pytest.fixture(scope="session")
def random_network():
    return make_network


class Problem:
    """Teachers, students and inputs of a few members, small enough for any test."""

    def __init__(
        self,
        seeds=range(3),
        widths=(6, 4, 3),
        width_factor=2,
        dtype=torch.float64,
        train=64,
        scale=0.3,
        teacher_bias=-0.1,
        **student,
    ):
        self.seeds = tuple(seeds)
        self.recipe = tt.teachers.Levels(
            inputs=widths[0], hidden=widths[1:-1], outputs=widths[-1], polarity=0.5, bias=teacher_bias
        )
        self.distribution = tt.inputs.Gaussian(std=1.5, train=train, evaluate=50)
        self.teacher = self.recipe.build(self.seeds, self.distribution, dtype)
        self.inputs = self.distribution.draw(self.teacher, self.seeds)
        self.students = tt.students.SmallNormal(width_factor=width_factor, scale=scale, **student).build(
            self.teacher, self.seeds
        )


@pytest.fixture
def problem():
    return Problem
