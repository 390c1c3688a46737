"""Products of erf units with biases against one more quadrature, long and parallel units included."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from tutelage.population import biased


def row(*values):
    return torch.tensor([list(values)], dtype=torch.float64)


@pytest.mark.parametrize("s", [0.7, 30.0, 3e4])
@pytest.mark.parametrize("r", [-1.0, -0.6, 0.999, 1.0])
def test_the_closed_forms_of_erf_are_their_integrals(s, r):
    """Over one dimension, with the mean of the other unit given the first; lengths of thousands included."""
    b, t, c = 0.4 * s, 1.1 * s, -0.3
    arrays = (row([s, 0.0]), row(b), row([t * r, t * math.sqrt(1 - r * r)]), row(c))
    z, weight = np.polynomial.legendre.leggauss(400)
    steps = [place + wide * k for place, wide in ((-b / s, 30 / s), (-c / t * r, 30 / t)) for k in (-1, 0, 1)]
    edges = np.sort([-10, *steps, 10]).clip(-10, 10)  # units of a length of thousands are steps
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    z, weight = (middle[:, None] + half[:, None] * z).ravel(), (half[:, None] * weight).ravel()
    weight = weight * stats.norm.pdf(z)
    given = 2 * stats.norm.cdf((c + t * r * z) / math.sqrt(1 + t * t * (1 - r * r))) - 1
    u = s * z + b
    value, bend = 2 * stats.norm.cdf(u) - 1, 2 * stats.norm.pdf(u)
    assert biased.product(*arrays, "erf").item() == pytest.approx(weight @ (value * given), abs=1e-9)
    along, outward, level = biased.slopes(*arrays, "erf")
    assert level.item() == pytest.approx(weight @ (bend * given), abs=1e-9)
    towards = s * outward.item() + t * r * along.item()
    assert towards == pytest.approx(weight @ (bend * given * z), abs=1e-8)
