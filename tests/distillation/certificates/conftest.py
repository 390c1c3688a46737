"""Transfer sets with fewer and with more inputs than dimensions, and students on their way."""

import pytest
import torch

from tutelage.certificates import certify
from tutelage.distillation.deep import balanced_start
from tutelage.distillation.flows import flow, induced_flow
from tutelage.distillation.tasks import Isotropic
from tutelage.networks import Network

TIMES = [0.0, 0.3, 1.0, 3.0, 10.0, 100.0, 1000.0]


@pytest.fixture(scope="session")
def few():
    """n < d."""
    return Isotropic(8, norm=0.5).transfer(range(3), 4)


@pytest.fixture(scope="session")
def many():
    """n >= d."""
    return Isotropic(3, norm=0.5).transfer(range(3), 9)


@pytest.fixture(scope="session")
def shallow(few):
    """One layer from 0, every layer recorded."""
    return flow(few, Network((torch.zeros(3, 8, 1, dtype=torch.float64),), activation="linear"), TIMES)


@pytest.fixture(scope="session")
def deep(few):
    """Three layers from a small balanced start, every layer recorded."""
    return flow(few, balanced_start(few, range(3), 3, scale=1e-3, width=3).network, TIMES)


@pytest.fixture(scope="session")
def deep_many(many):
    start = balanced_start(many, range(3), 2, scale=1e-3).w
    return induced_flow(many, start, 2, TIMES)


@pytest.fixture(scope="session")
def verdicts():
    def found(name, *about, task=None, **options):
        about = about if task is None else (*about, task)
        return [certificate.verdict for certificate in certify(name, *about, **options)]

    return found


@pytest.fixture(scope="session")
def moved():
    """A course whose records are changed."""
    from dataclasses import replace

    def change(course, function):
        return replace(course, w=function(course.w.clone()), weights=None)

    return change
