"""Phuong 2021, chapter 4 on distributions small enough to know everything about."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tutelage.autoencoders import best_elbo, infomax_of_table, normal_optimum
from tutelage.errors import TutelageError

_SEEDS = st.integers(0, 2**31 - 1)


def _tables(seed: int, z: int, x: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    joint = torch.rand(2, z, x, generator=generator, dtype=torch.float64) ** 3 + 1e-6
    r = torch.rand(2, z, x, generator=generator, dtype=torch.float64) + 1e-6
    return joint / joint.sum((1, 2), keepdim=True), r / r.sum(1, keepdim=True)


@settings(max_examples=40, deadline=None)
@given(_SEEDS, st.integers(2, 6), st.integers(2, 6))
def test_c4_1_infomax_and_its_gap(seed, z, x):
    joint, r = _tables(seed, z, x)
    found = infomax_of_table(joint, r)
    assert bool((found.information - found.bound >= -1e-12).all())
    of_x = joint.sum(1, keepdim=True)
    posterior = joint / of_x
    gap = (of_x * (posterior * (posterior / r).log())).sum((1, 2))
    torch.testing.assert_close(found.information - found.bound, gap, rtol=0, atol=1e-10)
    torch.testing.assert_close(found.gap, gap, rtol=0, atol=1e-10)
    direct = (joint * (joint / (of_x * joint.sum(2, keepdim=True))).log()).sum((1, 2))
    torch.testing.assert_close(found.information, direct, rtol=0, atol=1e-10)
    tight = infomax_of_table(joint, posterior)
    torch.testing.assert_close(tight.bound, tight.information, rtol=0, atol=1e-12)


def test_c4_1_of_normals_by_hand():
    rho, own = 0.8, 0.5  # r(z|x) = N(own x, 1 - own^2) for a normal pair with correlation rho
    information = -0.5 * math.log(1 - rho**2)
    spread = 1 - own**2
    error = 1 + own**2 - 2 * own * rho
    bound = 0.5 * math.log(2 * math.pi * math.e) - 0.5 * math.log(2 * math.pi * spread) - 0.5 * error / spread
    gap = 0.5 * ((1 - rho**2) / spread - 1 - math.log((1 - rho**2) / spread) + (own - rho) ** 2 / spread)
    assert information - bound == pytest.approx(gap, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(_SEEDS, st.integers(2, 6))
def test_c4_4_normal_codes_of_symbols_are_best_when_they_say_nothing(seed, symbols):
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(1, symbols, 1, generator=generator, dtype=torch.float64)
    log_std = -1.5 * torch.rand(1, symbols, 1, generator=generator, dtype=torch.float64)
    weight = torch.rand(symbols, generator=generator, dtype=torch.float64) + 0.05
    weight /= weight.sum()
    most = float((weight * weight.log()).sum())
    assert float(best_elbo(mean, log_std, weight)) < most
    assert float(best_elbo(0 * mean, 0 * log_std, weight)) == pytest.approx(most, abs=1e-10)


def test_c4_4_the_best_decoder_reaches_that_value():
    mean = torch.tensor([[[-1.0], [0.3], [0.9]]], dtype=torch.float64)
    log_std = torch.tensor([[[-0.5], [-0.2], [-0.9]]], dtype=torch.float64)
    weight = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
    z = torch.linspace(-8, 8, 4001, dtype=torch.float64)
    step = float(z[1] - z[0])
    code = torch.distributions.Normal(mean[0], log_std[0].exp()).log_prob(z).exp()  # [K, P]
    decoder = weight[:, None] * code / (weight[:, None] * code).sum(0)  # q(x|z)
    prior = torch.distributions.Normal(0.0, 1.0).log_prob(z)
    inner = torch.special.xlogy(code, decoder) - torch.special.xlogy(code, code) + code * prior
    value = float((weight * inner.sum(1)).sum() * step)
    assert float(best_elbo(mean, log_std, weight)) == pytest.approx(value, abs=1e-8)


def _tiny(logits: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """log p(x|z) of a softmax of a + b z, and log of the prior's mass on a grid: logits [2, K], z [P]."""
    mass = (-0.5 * z.square()).exp()
    return (logits[0] + logits[1] * z[:, None]).log_softmax(-1), (mass / mass.sum()).log()


def _best_score(logits: Tensor, z: Tensor) -> Tensor:
    """E_p log p(z|x), the infomax term with r at its best."""
    log_p, log_prior = _tiny(logits, z)
    log_joint = log_p + log_prior[:, None]
    return (log_joint.exp() * (log_joint - log_joint.logsumexp(0))).sum()


def test_c4_5_and_c4_6_gradient_with_the_estimator_at_its_best():
    z = torch.linspace(-6, 6, 401, dtype=torch.float64)
    logits = torch.tensor([[0.2, -0.4, 0.5], [1.5, -0.3, -1.0]], dtype=torch.float64, requires_grad=True)
    log_p, log_prior = _tiny(logits, z)
    log_joint = log_p + log_prior[:, None]
    log_r = log_joint - log_joint.logsumexp(0)
    weight = log_joint.exp().detach()
    [score] = torch.autograd.grad((weight * log_p * log_r.detach()).sum(), logits, retain_graph=True)
    [dropped] = torch.autograd.grad((weight * log_r).sum(), logits)
    assert float(dropped.abs().max()) < 1e-8  # C4.6: E grad log p(z|x) = 0
    numbers = torch.zeros_like(score)
    for place in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        moved = [logits.detach().clone() for _ in range(2)]
        moved[0][tuple(place)] += 1e-5
        moved[1][tuple(place)] -= 1e-5
        numbers[tuple(place)] = (_best_score(moved[0], z) - _best_score(moved[1], z)) / 2e-5
    assert float((numbers - score).norm() / numbers.norm()) < 1e-5


def test_normals_cannot_certify_a_partition_into_ten():
    """The best normal r has the moments of each interval, whatever the code is told to say."""
    edges = torch.linspace(0, 1, 11, dtype=torch.float64)[1:-1]
    cut = [-math.inf, *torch.special.ndtri(edges).tolist(), math.inf]
    height = [0.0, *((-0.5 * c * c - 0.5 * math.log(2 * math.pi)) for c in cut[1:-1]), 0.0]
    density = [0.0, *(math.exp(h) for h in height[1:-1]), 0.0]
    bound = 0.5 * math.log(2 * math.pi * math.e)
    for a, b, at_a, at_b in zip(cut, cut[1:], density, density[1:], strict=False):
        mean = 10 * (at_a - at_b)
        square = 1 + 10 * ((a * at_a if at_a else 0) - (b * at_b if at_b else 0))
        bound -= 0.1 * 0.5 * math.log(2 * math.pi * math.e * (square - mean**2))
    assert bound == pytest.approx(2.104, abs=1e-3)
    assert bound < math.log(10) - 0.19


@settings(max_examples=20, deadline=None)
@given(st.floats(0, 5))
def test_c4_9_closed_forms(target):
    best = normal_optimum(target)
    assert best.rho**2 + best.deviation**2 == pytest.approx(1, abs=1e-12)
    assert -math.log(best.deviation) == pytest.approx(target, abs=1e-12)


def test_what_is_no_law_is_refused():
    joint, r = _tables(0, 3, 3)
    with pytest.raises(TutelageError, match="no distribution"):
        infomax_of_table(2 * joint, r)
    with pytest.raises(TutelageError, match="members, z, x"):
        infomax_of_table(joint, r[:, :2])
    holed = r.clone()
    holed[:, 0] = 0
    with pytest.raises(TutelageError, match="minus infinity"):
        infomax_of_table(joint, holed / holed.sum(1, keepdim=True))
    with pytest.raises(TutelageError, match="at least 0"):
        normal_optimum(-1.0)
    flat = torch.zeros(1, 2, 1)
    with pytest.raises(TutelageError, match="sum to 1"):
        best_elbo(flat, flat, torch.ones(2))
    with pytest.raises(TutelageError, match="more points"):
        best_elbo(flat, flat - 12, torch.ones(2) / 2)


def test_tables_and_codes_that_are_no_numbers_are_errors():
    joint = torch.tensor([[[0.4, 0.1], [0.1, 0.4]]], dtype=torch.float64)
    r = joint / joint.sum(1, keepdim=True)
    assert infomax_of_table(joint.numpy(), r.numpy()).information.equal(infomax_of_table(joint, r).information)
    with pytest.raises(TutelageError, match="no distribution"):
        infomax_of_table(joint * math.nan, r)
    mean, third = torch.zeros(1, 3, 1), torch.full((3,), 1 / 3)
    with pytest.raises(TutelageError, match="the grid does not hold the codes"):
        best_elbo(mean * math.nan, mean, third)
    with pytest.raises(TutelageError, match="sum to 1"):
        best_elbo(mean, mean, third * math.nan)
    with pytest.raises(TutelageError, match=r"probabilities \[K\], got \[1, 3, 1\], \[1, 3, 1\] and \[2\]"):
        best_elbo(mean, mean, torch.tensor([0.5, 0.5]))


def test_no_information_has_no_sign():
    assert math.copysign(1, normal_optimum(0).rho) == 1
