"""For tests and doctests alike: what one of them registers is gone for the next."""

import importlib.util

import pytest

from tutelage.networks.activations import ACTIVATIONS
from tutelage.training.teachers import Teacher

_KERNELS = ["src/tutelage/exits/stacked/convolutions.py", "src/tutelage/exits/stacked/norms.py"]
collect_ignore = [] if importlib.util.find_spec("triton") else _KERNELS  # it comes with torch for CUDA alone


@pytest.fixture(autouse=True)
def what_a_test_registers_is_forgotten():
    before = [(registry, set(registry)) for registry in (ACTIVATIONS, Teacher.kinds)]
    yield
    for registry, known in before:
        for name in set(registry) - known:
            del registry[name]
