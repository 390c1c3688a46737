"""Theorem 7, equation 68 and the departure time, each against the dynamics they are about."""

import math

import numpy as np
import pytest
import torch

from tutelage import TutelageError
from tutelage.population.kernels import weighted_gradient
from tutelage.population.simplified import (
    common_residue,
    departure_time,
    lotka_volterra,
    residues,
    simplified_flow,
    spherical,
)


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_residues_lie_along_the_exact_gradient():
    """Theorem 6: for Gaussian inputs the part of dk/dw along w* is psi up to 1/2, with psi(theta) = 1 - theta/pi."""
    w, teacher = randn(1, 1, 4, seed=1), randn(1, 1, 4, seed=2)
    exact = weighted_gradient(torch.ones(1, 1, 1).double(), w, teacher)
    one, none = torch.ones(1, 1, 1).double(), torch.zeros(1, 1, 1).double()
    simple = residues(w, teacher, one, none) / 2
    across = teacher - (teacher * w).sum() / (w * w).sum() * w
    assert (exact * across).sum().item() == pytest.approx((simple * across).sum().item(), rel=1e-12)


def test_ratios_of_lengths_follow_theorem_7():
    w, teacher = randn(2, 3, 4, seed=1), randn(2, 2, 4, seed=2)
    alpha, beta = randn(2, 2, 3, seed=3), randn(2, 3, 3, seed=4)

    def residue(v):
        return residues(v, teacher, alpha, beta, decay=0.1)

    h = 1e-5
    path = simplified_flow(residue, w, [0.0, h])
    logs = path.norm(dim=3).log()
    measured = ((logs[1] - logs[0]) / h).diff(dim=1)
    unit = w / w.norm(dim=2, keepdim=True)
    wanted = (unit * residue(w)).sum(2).diff(dim=1)
    assert torch.allclose(measured, wanted, atol=1e-4)


def test_the_common_residue_gives_negative_feedback():
    """dh/dt = |r|^2 - h^2 - S h (Tian 2019, eq. 68), by differences; and ratios of lengths freeze."""
    target, weights = randn(3, seed=5), torch.tensor([0.5, 1.0, 2.0]).double()
    residue, w = common_residue(target, weights), 0.1 * randn(1, 3, 3, seed=6)

    def h(v):
        r = residue(v)
        return (v / v.norm(dim=2, keepdim=True) * r).sum(2)

    step = 1e-5
    path = simplified_flow(residue, w, [0.0, step])
    measured = (h(path[1]) - h(path[0])) / step
    r = residue(w)[0, 0]
    s = (weights * w.norm(dim=2)).sum()
    wanted = r.norm() ** 2 - h(w) ** 2 - s * h(w)
    assert torch.allclose(measured, wanted, atol=1e-3)
    lengths = simplified_flow(residue, w, [50.0, 100.0]).norm(dim=3)
    assert torch.allclose(lengths[0] / lengths[0, :, :1], lengths[1] / lengths[1, :, :1], rtol=1e-6)


def test_a_bonus_makes_a_winner_until_the_loser_turns_round():
    """The logarithm of the ratio of lengths grows at the rate of the bonus; then the loser points the other way."""
    target, weights = torch.tensor([1.0, 0.0]).double(), torch.ones(2).double()
    residue = common_residue(target, weights, torch.tensor([0.05, 0.0]).double())
    path = simplified_flow(residue, 0.1 + 0.05 * randn(1, 2, 2, seed=7).abs(), [30.0, 50.0, 70.0, 300.0])
    ratio = (path[..., 0, :].norm(dim=2) / path[..., 1, :].norm(dim=2)).log()[:, 0]
    assert (ratio.diff()[:2] / 20).tolist() == pytest.approx([0.05, 0.05], rel=0.1)
    assert path[2, 0, 1, 0] > 0 > path[3, 0, 1, 0]


@pytest.mark.parametrize("gap", [0.5, 0.05, 0.005])
def test_the_departure_time_is_that_of_the_flow(gap):
    """One student of length 1 kept there: in the simplified dynamics its length does not enter the angle."""
    teacher, one = torch.tensor([[[1.0, 0.0]]]).double(), torch.ones(1, 1, 1).double()
    start = torch.tensor([[[math.cos(math.pi - gap), math.sin(math.pi - gap)]]], dtype=torch.float64)
    when = departure_time(gap, 1.0)

    def residue(w):
        r = residues(w, teacher, one, 0 * one)
        unit = w / w.norm(dim=2, keepdim=True)
        return r - (r * unit).sum(2, keepdim=True) * unit

    end = simplified_flow(residue, start, [when])[0, 0, 0]
    assert math.acos(end[0] / end.norm()) == pytest.approx(1.0, abs=1e-5)


def test_departures_take_as_long_as_one_over_the_gap():
    times = np.array([departure_time(gap, 1.0) for gap in (1e-2, 1e-4, 1e-6)])
    assert np.allclose(np.diff(np.log10(times)), 2, atol=0.02)


def test_species_share_a_resource():
    """Two equal competitors keep their ratio and fill the capacity; a fitter one takes all."""
    start, equal = torch.tensor([[0.1, 0.3]]).double(), torch.ones(2).double()
    crowd = torch.ones(2, 2).double()
    end = lotka_volterra(start, equal, crowd, [100.0])[0, 0]
    assert end.sum().item() == pytest.approx(1.0)
    assert (end[1] / end[0]).item() == pytest.approx(3.0)
    fitter = lotka_volterra(start, torch.tensor([1.1, 1.0]).double(), crowd, [400.0])[0, 0]
    assert fitter[1].item() < 1e-6


def test_wrong_requests_are_refused():
    with pytest.raises(TutelageError, match="departure"):
        departure_time(0.0, 1.0)
    with pytest.raises(TutelageError, match="above 0"):
        common_residue(torch.ones(2), torch.zeros(2))
    with pytest.raises(TutelageError, match="species"):
        lotka_volterra(-torch.ones(1, 1).double(), torch.ones(1).double(), torch.ones(1, 1).double(), [1.0])
    assert spherical(torch.tensor(math.pi)).item() == pytest.approx(0, abs=1e-7)
