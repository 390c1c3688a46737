"""Courses of the flow that satisfy the statements of Phuong 2021, chapter 3, and ways to spoil them."""

import math
from dataclasses import replace

import pytest
import torch

from tutelage.certificates import certify
from tutelage.margins.certificates.scene import MarginScene
from tutelage.margins.datasets import LabelledPoints, clashing, cones, half_spaces
from tutelage.margins.flow import balanced_start, flow

TIMES = [-math.inf, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 10.0, 30.0, 100.0, 300.0, 500.0, 300 * math.log(10)]


def spanning(members=2):
    """Data in three dimensions whose support samples span the space in both classes: three around either axis."""
    turns = torch.arange(3, dtype=torch.float64) * 2 * math.pi / 3
    ring = torch.stack([0.6 * turns.cos(), 0.6 * turns.sin(), torch.ones(3, dtype=torch.float64)], 1)
    draw = torch.Generator().manual_seed(3)
    tilt = 1 + 0.1 * torch.rand(members, 6, 1, generator=draw, dtype=torch.float64)
    near = torch.cat([ring, -1.5 * ring @ torch.diag(torch.tensor([1.0, 0.8, 1.0]).double())])
    far = 3 * (near.roll(1, 0) + near)[[1, 2, 4, 5]]
    x = torch.cat([near * tilt, far.expand(members, -1, -1)], 1)
    return LabelledPoints(x, torch.tensor([1, 1, 1, -1, -1, -1, 1, 1, -1, -1]))


@pytest.fixture(scope="package")
def good():
    """On orthogonally separable data to t = 1e300."""
    return flow(cones(range(3)), balanced_start(range(3), 20, 3), TIMES)


@pytest.fixture(scope="package")
def spanned():
    """The same with support samples that span the space."""
    return flow(spanning(), balanced_start(range(2), 20, 3), TIMES)


@pytest.fixture(scope="package")
def merely_linear():
    return flow(half_spaces(range(3)), balanced_start(range(3), 20, 3), TIMES)


@pytest.fixture(scope="package")
def impossible():
    return flow(clashing(range(2)), balanced_start(range(2), 8, 3), [-math.inf, 0.0, 2.0])


@pytest.fixture(scope="package")
def lazy():
    """From a large start, which the theory leaves out."""
    return flow(cones(range(3)), balanced_start(range(3), 20, 3, scale=30.0), TIMES)


@pytest.fixture
def spoilt():
    """A course with some of its records changed."""
    return lambda course, **changes: replace(course, **changes)


@pytest.fixture
def verdicts():
    """The verdict of every member."""
    return lambda name, course, **options: [c.verdict for c in certify(name, MarginScene(course), **options)]
