"""Inequalities with constants written out, on random students; and printed ones that do not hold."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from tutelage.local import bounds
from tutelage.local.exact import jacobian, loss
from tutelage.local.grouping import groups
from tutelage.local.residuals import least_eigenvalue
from tutelage.local.setting import LocalSetting, effective
from tutelage.local.starts import local_students, opposite_pair, separated_teachers, split_students


def settings(seed, members=12):
    """Random teachers, students between near and anywhere, more or less mass than wanted."""
    draw = torch.Generator().manual_seed(seed)
    r = 1 + seed % 4
    seeds = range(seed, seed + members)
    teachers = separated_teachers(r, 4, seeds, separation=0.4, lengths=(0.5, 2.0))
    spread = 10 ** (-3 + 4 * torch.rand(1, generator=draw).item())
    scale = 0.7 + 0.6 * torch.rand(members, 1, 1, generator=draw, dtype=torch.float64)
    return LocalSetting(teachers, scale * local_students(teachers, r + seed % 7, seeds, spread=spread))


@given(st.integers(0, 10**6))
def test_explicit_inequalities_hold(seed):
    setting = settings(seed)
    for bound in (bounds.mass_gap, bounds.gradient_size, bounds.average_error, bounds.spikes):
        sides = bound(setting)
        assert bool((sides.value <= sides.bound * (1 + 1e-9) + 1e-12).all()), bound.__name__
    descent = bounds.descent_loss(setting)
    met = descent.value.isfinite()
    assert bool((descent.value <= descent.bound + 1e-12)[met].all())
    assert bool((bounds.separation_bound(setting) <= least_eigenvalue(setting)).all())


@given(st.integers(0, 10**6), st.floats(-4, 0.5))
def test_smoothness_with_the_empirical_constant(seed, exponent):
    setting = settings(seed)
    draw = torch.Generator().manual_seed(seed)
    step = torch.randn(setting.students.shape, generator=draw, dtype=torch.float64) * 10**exponent
    sides = bounds.smoothness(setting, step)
    assert bool((sides.value <= 3 * sides.bound + 1e-12).all())


def test_ratios_at_an_opposite_pair():
    """PL fails along Claim 2's path, Theorem 3's inequality does not."""
    deltas = [0.3, 0.1, 0.03, 0.01]
    polyak = [bounds.polyak(opposite_pair(delta)).item() for delta in deltas]
    lojasiewicz = [bounds.lojasiewicz(opposite_pair(delta)).item() for delta in deltas]
    assert polyak == pytest.approx([0.75, 0.197, 0.0575, 0.0191], rel=0.02)
    assert lojasiewicz == pytest.approx([11, 30, 100, 300], rel=0.06)


def test_ratios_of_one_student_and_of_a_perfect_one():
    teacher = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    for delta in (0.1, 1e-3, 1e-6):
        student = torch.tensor([[math.cos(delta), math.sin(delta)]], dtype=torch.float64)
        assert bounds.polyak(LocalSetting(teacher, student)).item() == pytest.approx(2, rel=2 * delta + 1e-6)
    assert bounds.polyak(LocalSetting(teacher, teacher)).item() == math.inf
    assert bounds.lojasiewicz(LocalSetting(teacher, teacher)).item() == math.inf


def test_the_jacobian_is_lipschitz_in_spectral_norm_and_not_as_printed_in_frobenius():
    """Lemma D.1 with 2; the paper prints 1 + sqrt 3 in Frobenius norm; at 0 the ratio is sqrt(d + 3)."""
    draw = torch.Generator().manual_seed(0)
    first, second = (torch.randn(5000, 1, 6, generator=draw, dtype=torch.float64) for _ in range(2))
    change = torch.linalg.matrix_norm(jacobian(first) - jacobian(second), ord=2)
    assert (change / (first - second).norm(dim=-1)).max() <= 2 + 1e-9
    zero = torch.zeros(1, 1, 6, dtype=torch.float64)
    change = (jacobian(first[:1]) - jacobian(zero)).flatten(1).norm() / first[:1].norm()
    assert change.item() == pytest.approx(3.0)
    assert change > 1 + math.sqrt(3)
    rest = effective(first + second) - effective(first) - (jacobian(first) @ second.unsqueeze(3)).squeeze(3)
    assert bool((rest.norm(dim=2) <= second.square().sum(2) * (1 + 1e-9)).all())


@pytest.mark.parametrize("d", [2, 3, 7])
def test_cover_probability_and_the_printed_limit(d):
    """The paper's denominator ends at another limit than pi."""
    angle = 0.6
    part = quad(lambda t: math.sin(t) ** (d - 2), 0, angle)[0]
    whole = quad(lambda t: math.sin(t) ** (d - 2), 0, math.pi)[0]
    assert bounds.cover_probability(angle, d) == pytest.approx(2 * part / whole)
    x = np.random.default_rng(1).normal(size=(200_000, d))
    near = np.abs(x[:, 0]) >= math.cos(angle) * np.linalg.norm(x, axis=1)
    assert near.mean() == pytest.approx(bounds.cover_probability(angle, d), abs=5e-3)


def test_masses_are_squares_of_lengths_and_not_lengths_as_proofs_write():
    """Proofs of C.2, C.4.3 and C.4.4 have |w_j| for |w_j|^2; perfect students tell the two apart."""
    teachers = separated_teachers(2, 3, range(4), lengths=(0.5, 2.0))
    perfect = LocalSetting(teachers, split_students(teachers, [[0.3, 0.7], [0.2, 0.3, 0.5]]))
    assert bool((loss(perfect) < 1e-28).all())
    assert torch.allclose(perfect.mass, perfect.total)
    assert bool(((perfect.students.norm(dim=2).sum(1) - perfect.total).abs() > 0.1).all())
    weights = groups(perfect).mass()
    assert torch.allclose(weights, perfect.lengths)
