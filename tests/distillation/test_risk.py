"""The one-dimensional integral against quadrature, Monte Carlo and the isotropic oracle."""

import math

import pytest
import torch
from scipy.integrate import quad
from scipy.stats import beta as beta_law

from tutelage.distillation.risk import disagreement, risk_at_angle
from tutelage.distillation.tasks import Isotropic, LargeMargin, Polynomial
from tutelage.errors import TutelageError


@pytest.mark.parametrize("dimension", [2, 3, 4, 10, 1000, 100_000])
def test_isotropic_inputs_are_misjudged_in_proportion_to_the_angle(dimension):
    alpha = torch.tensor([0.0, 1e-3, 0.5, 1.5, math.pi / 2, 2.5, math.pi], dtype=torch.float64)
    found = risk_at_angle(Isotropic(dimension).p, alpha, dimension)
    assert (found - alpha / math.pi).abs().max() < 1e-9


@pytest.mark.parametrize("kappa", [0.05, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("dimension", [3, 5, 1000])
def test_it_is_the_integral_over_the_angle(kappa, dimension):
    """R = E_a P[t < -cot(a) cot(alpha)] with (1 + t)/2 ~ Beta((d-2)/2, (d-2)/2), over a = (pi/2)(1 - U^(1/kappa))."""
    half = (dimension - 2) / 2
    for alpha in (0.05, 0.6, 1.4):

        def wrong(u, alpha=alpha):
            a = math.pi / 2 * (1 - u ** (1 / kappa))
            t = -math.cos(a) / max(math.sin(a), 1e-300) / math.tan(alpha)
            return beta_law.cdf((1 + t) / 2, half, half) if t > -1 else 0.0

        last = (2 * alpha / math.pi) ** kappa
        truth = sum(quad(wrong, a * last, b * last, limit=200)[0] for a, b in ((0, 0.01), (0.01, 0.2), (0.2, 1)))
        found = float(risk_at_angle(Polynomial(dimension, kappa=kappa).p, torch.tensor(alpha), dimension))
        assert found == pytest.approx(truth, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(
    "task", [Polynomial(6, kappa=0.5), Polynomial(2, kappa=1.0), LargeMargin(6, limit=1.1), LargeMargin(40, limit=1.4)]
)
def test_it_is_what_sampling_finds(task):
    draw = torch.Generator().manual_seed(0)
    aside = torch.randn(5, task.dimension, generator=draw, dtype=torch.float64)
    w = task.teacher + torch.tensor([0.05, 0.3, 1.0, 3.0, 10.0], dtype=torch.float64)[:, None] * aside
    share, error = disagreement(w, task.teacher, task.points(range(5), 20_000, "test"))
    assert ((share - task.risk(w)).abs() < 4.5 * error).all()


def test_a_margin_leaves_nothing_to_misjudge_for_small_angles():
    task = LargeMargin(10, limit=1.0)
    alpha = torch.tensor([0.1, math.pi / 2 - 1.0 - 1e-6, math.pi / 2 - 1.0 + 0.2], dtype=torch.float64)
    found = risk_at_angle(task.p, alpha, 10, task.widest)
    assert found[:2].tolist() == [0.0, 0.0]
    assert found[2] > 0


def test_risks_grow_with_the_angle_and_turn_over():
    alpha = torch.linspace(0, math.pi, 41, dtype=torch.float64)
    found = Polynomial(30, kappa=0.7)
    risk = risk_at_angle(found.p, alpha, 30)
    assert (risk[1:] >= risk[:-1]).all()
    assert torch.allclose(risk + risk.flip(0), torch.ones(41, dtype=torch.float64))


def test_disagreement_has_an_error_even_when_there_is_none():
    points = torch.randn(50, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    w = torch.ones(1, 3, dtype=torch.float64)
    share, error = disagreement(w, w[0], points)
    assert (float(share), float(error)) == (0.0, 1 / 50)
    with pytest.raises(TutelageError, match="two dimensions"):
        risk_at_angle(Isotropic(2).p, torch.tensor(0.1), 1)


@pytest.mark.parametrize("alpha", [-0.3, 4.0, math.nan])
def test_an_angle_beyond_a_half_turn_is_an_error(alpha):
    with pytest.raises(TutelageError, match="angles between 0 and pi"):
        risk_at_angle(Polynomial(4).p, alpha, 4)


def test_students_teacher_and_points_have_one_dimension():
    with pytest.raises(TutelageError, match=r"must share d, got shapes \[\[2, 4\], \[1, 5\], \[3, 5\]\]"):
        disagreement(torch.ones(2, 4), torch.ones(5), torch.ones(3, 5))
    assert disagreement(torch.ones(5), torch.ones(5), torch.ones(3, 5))[0].tolist() == [0.0]
