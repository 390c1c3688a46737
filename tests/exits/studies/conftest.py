"""Known accuracies, for claims to be read off."""

import numpy as np
import pytest

from tutelage.exits.studies._protocol import SETTINGS, MethodAccuracies, NetworkAccuracy


def made(single, held=None, trace=None):
    """A trained network by its accuracies; those of its ensembles are a tenth lower."""
    single = np.array(single)
    return NetworkAccuracy(single, single - 0.1, single if held is None else np.array(held), trace)


@pytest.fixture
def known():
    """(labelled, methods and how much better exit 1 of each is) -> accuracies of two repeats with two exits.

    Exit 2 is better by a quarter of that.
    """

    def build(labelled, methods, trace=None):
        runs = {}
        for place, count in enumerate(labelled):
            for method, gain in methods.items():
                more = gain / (place + 1)
                runs[count, method.name] = [made([p + more, 0.6 + more / 4], trace=trace) for p in (0.5, 0.4)]
        about = SETTINGS["smoke"]
        return MethodAccuracies("blobs", about["held"], about["total"], about["drops"], 1, runs)

    return build
