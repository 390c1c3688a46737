"""A network of three layers as a black box, with bends along random lines."""

import numpy as np
import pytest

from tutelage.functions.querying.confirming import UnitSearchSetting
from tutelage.functions.querying.lines import look_along, sample
from tutelage.functions.querying.oracle import Oracle


@pytest.fixture
def scene():
    draw = np.random.default_rng(5)
    layers = [
        (draw.standard_normal((a, b)) / a**0.5, 0.3 * draw.standard_normal(b)) for a, b in ((6, 5), (5, 5), (5, 1))
    ]

    def f(x):
        z = x.numpy()
        for w, b in layers[:-1]:
            z = np.maximum(z @ w + b, 0)
        return z @ layers[-1][0] + layers[-1][1]

    low, high = -4 * np.ones(6), 4 * np.ones(6)
    oracle, start = Oracle(f, 6, 1), sample(low, high, 150, 0, "a")
    folds = look_along(oracle, start, sample(low, high, 150, 0, "b") - start)
    return oracle, layers, folds, UnitSearchSetting(low, high, 10.0, 1e-7)
