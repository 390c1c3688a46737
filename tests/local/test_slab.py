"""The slab test function against quadrature, and its lower bound against the loss."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import erf

from tutelage.local import slab
from tutelage.local.exact import loss
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def integrals(phi, tau):
    """A and B as the one-dimensional integrals of the paper's eqs. 9 and 10."""
    s, c, cot = math.sin(phi), math.cos(phi), 1 / math.tan(phi)

    def both(t):
        inner = c / math.sqrt(2 * math.pi) * t * math.exp(-t * t / 2) * erf(t * cot / math.sqrt(2))
        return inner + s / math.pi * math.exp(-t * t / (2 * s * s))

    ends = sorted({0.0, tau, *(e for e in (s, 3 * s, 8 * s) if e < tau)})  # both are even, with a peak of width s
    pieces = list(pairwise(ends))
    first = sum(quad(lambda t: t * both(t), a, b, epsabs=1e-15)[0] for a, b in pieces)
    return 2 * first, 2 * sum(quad(both, a, b, epsabs=1e-15)[0] for a, b in pieces)


@pytest.mark.parametrize("phi", [0.05, 0.3, 1.0, 1.57, 2.5])
@pytest.mark.parametrize("tau", [0.02, 0.3, 2.0])
def test_closed_forms_against_quadrature(phi, tau):
    first, second = integrals(phi, tau)
    assert slab.with_absolute(np.array(phi), tau) == pytest.approx(first, abs=1e-13)
    assert slab.with_one(np.array(phi), tau) == pytest.approx(second, abs=1e-13)


@pytest.mark.parametrize("tau", [1e-3, 0.1, 0.49, 0.51, 2.0])
def test_norm_and_centre_against_quadrature(tau):
    density = lambda t: math.sqrt(2 / math.pi) * math.exp(-t * t / 2)  # noqa: E731
    mass = quad(density, 0, tau, epsabs=0, epsrel=1e-12)[0]
    centre = quad(lambda t: t * density(t), 0, tau, epsabs=0, epsrel=1e-12)[0] / mass
    assert slab.centre(tau) == pytest.approx(centre, rel=1e-10)
    norm = quad(lambda t: (t - centre) ** 2 * density(t), 0, tau, epsabs=0, epsrel=1e-12)[0]
    assert slab.squared_norm(tau) == pytest.approx(norm, rel=1e-9)


def test_limits():
    assert slab.squared_norm(1e-3) == pytest.approx(math.sqrt(2 / math.pi) * 1e-9 / 12, rel=1e-5)
    assert np.allclose(slab.with_test(np.array([0.0, math.pi]), 0.3), slab.squared_norm(0.3))
    assert slab.with_test(np.array(1e-6), 0.3) == pytest.approx(slab.squared_norm(0.3), rel=1e-4)
    phi = np.array([0.3, 1.2])
    k = 2 / math.pi * (np.sin(phi) + (math.pi / 2 - phi) * np.cos(phi))
    assert slab.with_absolute(phi, 30.0) == pytest.approx(k)
    assert np.allclose(slab.with_one(phi, 30.0), math.sqrt(2 / math.pi))


@given(st.floats(0.05, 1.5), st.floats(0.05, 3.0))
def test_slope_against_differences_and_its_sign(phi, tau):
    h = 1e-4
    ends = slab.with_test(np.array([phi - h, phi + h]), tau)
    found = slab.slope(np.array(phi), tau)
    assert (ends[1] - ends[0]) / (2 * h) == pytest.approx(found, abs=1e-6)
    assert found <= 1e-15


@given(st.floats(0.02, 0.5), st.floats(2.0, 20.0))
def test_two_sided_bounds(tau, more):
    phi = min(tau * more, math.pi / 2)
    s, c = math.sin(phi), math.cos(phi)
    first, second = slab.with_absolute(np.array(phi), tau), slab.with_one(np.array(phi), tau)
    tail = c * c / (math.pi * s)
    low = tail * (tau**4 / 4 - tau**6 / 8) + s * tau**2 / math.pi - tau**4 / (4 * math.pi * s)
    high = tail * tau**4 + s * tau**2 / math.pi - tau**4 / (8 * math.pi * s)
    assert low - 1e-15 <= first <= high + 1e-15
    low = tail * (tau**3 / 3 - tau**5 / 8) + 2 * s * tau / math.pi - tau**3 / (3 * math.pi * s)
    assert low - 1e-15 <= second <= tail * tau**3 + 2 * s * tau / math.pi + 1e-15


def test_the_helper_is_negative_to_arccot_3_and_not_to_a_quarter_of_pi():
    """The paper's technical Lemma C.3 closes with phi <= pi/4, where the function is positive."""
    for tau in (0.01, 0.1, 0.24):
        assert np.all(slab.helper(tau, np.linspace(1e-3, math.atan(1 / 3), 200)) <= 0)
    assert slab.helper(0.1, np.array(0.6)) > 1e-6


@pytest.mark.parametrize(("m", "spread"), [(3, 1e-6), (3, 0.05), (9, 0.4), (20, 1.5)])
def test_the_bound_is_below_the_loss(m, spread):
    seeds = range(20)
    teachers = separated_teachers(3, 4, seeds, lengths=(0.5, 2.0))
    setting = LocalSetting(teachers, local_students(teachers, m, seeds, spread=spread))
    found, value = slab.lower_bound(setting), loss(setting)
    assert bool((found.each <= value.unsqueeze(1)).all())
    assert torch.equal(found.value, found.each.amax(1))
    assert bool((found.each.argmax(1) == found.teacher).all())


@pytest.mark.parametrize("delta", [0.1, 0.05])
def test_an_opposite_pair_is_seen(delta):
    length = 1 / math.sqrt(2 * math.cos(delta))
    pair = [[length * math.cos(delta), s * length * math.sin(delta)] for s in (1, -1)]
    setting = LocalSetting(torch.eye(2), torch.tensor([*pair, [0.0, 1.0]], dtype=torch.float64))
    share = (slab.lower_bound(setting).value / loss(setting)).item()
    assert share == pytest.approx(0.196, abs=0.003)


def test_with_the_loss_taken_for_the_squared_norm_it_would_be_no_bound():
    """The paper has L where ||R||^2 = 2 L is meant, so twice the bound."""
    teachers = separated_teachers(3, 4, range(40))
    setting = LocalSetting(teachers, local_students(teachers, 30, range(40), spread=1.0))
    bound, value = slab.lower_bound(setting).value, loss(setting)
    assert bool((bound <= value).all())
    assert bool((2 * bound > value).any())


def test_the_product_is_negative_where_a_teacher_is_missed():
    """The proof of Lemma 8 has it positive; the teacher enters the residual with a minus."""
    tau = 1.0
    met = 0.25 * slab.with_test(np.array(0.0), tau) - slab.with_test(np.array(0.0), tau)
    x = np.random.default_rng(0).normal(size=400_000)
    h = (np.abs(x) - slab.centre(tau)) * (np.abs(x) <= tau)
    sample = h * (0.25 * np.abs(x) - np.abs(x))
    assert abs(sample.mean() - met) < 4 * sample.std() / len(x) ** 0.5
    assert met < 0
