"""Constants of convexity: against the Hessian itself, and the distance of a sublevel set against an optimiser."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from tutelage.distillation.convexity import distance_to_sublevel, log_strong_convexity
from tutelage.distillation.tasks import Isotropic
from tutelage.errors import TutelageError


@pytest.mark.parametrize(("dimension", "count"), [(6, 3), (3, 6)])
def test_mu_is_below_the_curvature_at_the_end_and_tends_to_it(dimension, count):
    """At a level near 0 and a teacher near 0, mu is the least eigenvalue of the Hessian in the span, X X^T / (4 n)."""
    transfer = Isotropic(dimension, norm=1e-3).transfer(range(4), count)
    mu = log_strong_convexity(transfer, torch.full((4,), 1e-12, dtype=torch.float64)).exp()
    hessian = torch.linalg.eigvalsh(transfer.x.mT @ transfer.x / (4 * count))
    least = hessian[:, -min(dimension, count)]
    assert torch.allclose(mu, least, rtol=1e-3)
    assert (mu <= least).all()


@pytest.mark.parametrize(("dimension", "count"), [(6, 3), (3, 6)])
def test_the_distance_is_what_an_optimiser_finds(dimension, count):
    transfer = Isotropic(dimension).transfer(range(3), count)
    zero = torch.zeros(3, dimension, dtype=torch.float64)
    level = transfer.loss(zero) * torch.tensor([0.1, 0.5, 0.99], dtype=torch.float64)
    found = distance_to_sublevel(transfer, level)
    for s in range(3):
        one = transfer[[s]]
        room = {"type": "ineq", "fun": lambda w, one=one, s=s: float(level[s] - one.loss(torch.from_numpy(w)[None]))}
        start = transfer.teacher[s].numpy()
        best = minimize(
            lambda w: w @ w, start, constraints=[room], method="SLSQP", options={"ftol": 1e-14, "maxiter": 500}
        )
        assert float(found[s]) == pytest.approx(float(np.linalg.norm(best.x)), rel=1e-4)


def test_a_level_that_holds_zero_has_no_distance():
    transfer = Isotropic(4).transfer(range(1), 2)
    with pytest.raises(TutelageError, match="0 itself belongs"):
        distance_to_sublevel(transfer, torch.tensor([5.0], dtype=torch.float64))
