"""For tests and doctests alike: what one of them registers is gone for the next."""

import pytest

from tutelage.networks.activations import ACTIVATIONS


@pytest.fixture(autouse=True)
def registered_activations_are_forgotten():
    before = set(ACTIVATIONS)
    yield
    for name in set(ACTIVATIONS) - before:
        del ACTIVATIONS[name]
