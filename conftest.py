"""For tests and doctests alike: what one of them registers is gone for the next."""

import importlib.util

import pytest

from tutelage.networks.activations import ACTIVATIONS

_KERNELS = ["src/tutelage/exits/stacked/convolutions.py", "src/tutelage/exits/stacked/norms.py"]
collect_ignore = [] if importlib.util.find_spec("triton") else _KERNELS  # it comes with torch for CUDA alone


@pytest.fixture(autouse=True)
def registered_activations_are_forgotten():
    before = set(ACTIVATIONS)
    yield
    for name in set(ACTIVATIONS) - before:
        del ACTIVATIONS[name]
