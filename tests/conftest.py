"""Small problems that many tests share, and one profile for Hypothesis."""

import pytest
import torch
from hypothesis import settings

import tutelage as tt

settings.register_profile("tutelage", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("tutelage")
torch.set_num_threads(1)  # the tests run in two processes on two cores


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request) -> torch.dtype:
    return request.param


class Problem:
    """Teachers, students and inputs of a few members, small enough for any test."""

    def __init__(
        self,
        seeds=range(3),
        widths=(6, 4, 3),
        multiple=2,
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
        self.law = tt.inputs.Gaussian(std=1.5, train=train, evaluate=50)
        self.teacher = self.recipe.build(self.seeds, self.law, dtype)
        self.inputs = self.law.draw(self.teacher, self.seeds)
        self.students = tt.networks.SmallNormal(multiple=multiple, scale=scale, **student).build(
            self.teacher, self.seeds
        )


@pytest.fixture
def problem():
    return Problem
