"""The proof of Conjecture 5.5 for relu: its identities in 60 digits, its inequalities, and the bounds it gives."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.determinants import signs
from tutelage.alignment.relu_theorem import area, covariance_bounds, falling, shape

gaps = st.tuples(st.floats(0.01, 0.98), st.floats(0.02, 0.98), st.floats(0, 8))
"""Share of the half circle that both gaps take, the first one's share of that, and a power of ten below."""


def f(t):
    t = abs(t) % (2 * mp.pi)
    return _f(min(t, 2 * mp.pi - t))


def _f(t):
    return mp.sin(t) + (mp.pi - t) * mp.cos(t)


def G(t):
    return mp.sin(t) - t * mp.cos(t)


def k(t):
    return 1 - t * mp.cot(t)


def the_gaps(drawn):
    width = mp.pi * mp.mpf(drawn[0]) * mp.mpf(10) ** (-mp.mpf(drawn[2]))
    return width * drawn[1], width * (1 - mp.mpf(drawn[1]))


def weights(g, h):
    end = f(g + h)
    return mp.pi**2 - end**2, mp.pi * f(g) - end * f(h), mp.pi * f(h) - end * f(g)


def covariance(g, h, x):
    a, b, c = weights(g, h)
    return a * f(x) - b * f(x - g) - c * f(x + h)


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(60):
        yield


@given(gaps)
def test_the_weights_in_terms_of_k(drawn):
    """A, B and C as the proof writes them, and what A G(g) < C G(sigma) comes down to."""
    g, h = the_gaps(drawn)
    s = g + h
    a, b, c = weights(g, h)
    e = (2 * mp.pi - s) * mp.cos(s) + mp.sin(s)
    assert mp.almosteq(e, 2 * mp.pi * mp.cos(s) + G(s), abs_eps=1e-50)
    assert abs(a - (mp.pi**2 * mp.sin(s) ** 2 - G(s) * e)) < 1e-50
    assert abs(c - (mp.pi * (mp.pi - h) * mp.sin(s) * mp.sin(g) - G(g) * e)) < 1e-50
    assert abs(b - (mp.pi * (mp.pi - g) * mp.sin(s) * mp.sin(h) - G(h) * e)) < 1e-50
    spare = (mp.pi - h) * k(s) - mp.pi * k(g)
    assert abs(c * G(s) - a * G(g) - mp.pi * mp.sin(s) ** 2 * mp.sin(g) * spare) < 1e-50
    assert spare > 0


@given(gaps, st.floats(0.001, 0.999))
def test_on_the_half_circle_it_is_a_convex_function_times_a_sine(drawn, share):
    g, h = the_gaps(drawn)
    s = g + h
    a, _, c = weights(g, h)
    y = (mp.pi - s) * share
    bend = (a * G(g) - c * G(s)) / mp.pi
    slope = a * -(mp.pi - g) * mp.sin(g) + c * (mp.pi - s) * mp.sin(s)
    level = a * mp.sin(g) - c * mp.sin(s)
    said = mp.sin(y) * (slope - bend + bend * y * mp.cot(y) + level * y)
    assert abs(covariance(g, h, g + y) - said) < 1e-48
    assert bend < 0
    assert slope < 0
    chord = (mp.pi - s) * (k(s) - k(g)) + h * k(s)
    turned = (2 * mp.pi - s) * mp.cos(s) + mp.sin(s)
    rest = mp.pi * h * (2 * mp.pi - s) * mp.sin(s) - turned * chord
    assert abs(slope + mp.sin(s) * mp.sin(g) * rest) < 1e-50


@given(gaps, st.floats(0.001, 0.999))
def test_around_the_opposite_point_it_is_two_terms(drawn, share):
    g, h = the_gaps(drawn)
    s, z = g + h, h * share
    a, b, c = weights(g, h)
    assert abs(covariance(g, h, mp.pi - z) - (a * G(z) - b * G(z + g) - c * G(h - z))) < 1e-50
    turned = mp.sin(h) * mp.sin(z + g) - mp.sin(g) * mp.sin(h - z)
    assert abs(mp.sin(s) * mp.sin(z) - turned) < 1e-50
    first = mp.pi * mp.sin(s) * G(z) - (mp.pi - g) * mp.sin(h) * G(z + g) - (mp.pi - h) * mp.sin(g) * G(h - z)
    second = G(s) * G(z) - G(h) * G(z + g) - G(g) * G(h - z)
    e = 2 * mp.pi * mp.cos(s) + G(s)
    assert abs(covariance(g, h, mp.pi - z) - (mp.pi * mp.sin(s) * first - e * second)) < 1e-48
    assert first < 0
    assert second <= -G(g) * G(h - z), "G is log-concave"


@given(st.floats(1e-3, 3.14))
def test_what_is_used_of_k(t):
    t = mp.mpf(t)
    slope = mp.diff(k, t)
    assert abs(slope - (t**2 - k(t) + k(t) ** 2) / t) < 1e-12 * (1 + abs(slope)), "k solves a Riccati equation"
    assert abs((mp.sin(t) + t * mp.cos(t)) * G(t) - (t * mp.sin(t)) ** 2 - (mp.sin(t) ** 2 - t**2)) < 1e-50
    assert float(shape(np.array(float(t)))) == pytest.approx(float(k(t)), rel=1e-13)
    assert float(area(np.array(float(t)))) == pytest.approx(float(G(t)), rel=1e-12)


@given(st.floats(1e-4, 3.14))
def test_the_inequality_in_one_variable(s):
    """pi (2 pi - s) > beta ((pi - s) k' + k): what N'(g) < 0 comes down to where beta is positive."""
    s = mp.mpf(s)
    beta, slope = (2 * mp.pi - s) * mp.cot(s) + 1, (s**2 - k(s) + k(s) ** 2) / s
    assert mp.pi * (2 * mp.pi - s) > beta * ((mp.pi - s) * slope + k(s))


@given(gaps, st.floats(0.001, 0.999))
def test_bounds_lie_between_the_covariance_and_zero(drawn, share):
    """Of three students as float64 has them, with the covariance in 60 digits."""
    g, h = the_gaps((drawn[0], drawn[1], min(drawn[2], 5)))
    angles = np.array([float(g), float(g) + share * (2 * math.pi - float(g + h)), 2 * math.pi - float(h)])
    assume(np.diff(angles).min() > 1e-7)
    first, middle, last = (mp.mpf(float(a)) for a in angles)
    wanted = float(covariance(first, 2 * mp.pi - last, middle))
    (found,) = covariance_bounds(angles)[0]
    assert wanted * (1 + 1e-4) <= found < 0, "rounding of small gaps allowed for"


@given(st.integers(3, 9), st.integers(0, 10**6), st.floats(0, 3))
def test_some_determinant_is_negative(m, seed, power):
    """Also with students on a short arc, where the teacher's neighbours are more than half a circle apart."""
    random = np.random.default_rng(seed)
    angles = random.uniform(0, 2 * math.pi) + random.uniform(0, 2 * math.pi * 10**-power, (1, m))
    angles = np.sort(np.mod(angles, 2 * math.pi))
    assume(min(np.diff(angles).min(), angles.min()) > 1e-4)
    assert (covariance_bounds(angles) < 0).all()
    assert signs(angles).nonpositive.all()


def test_three_students_have_the_sign_of_the_middle_one():
    """N / A is the covariance given the neighbours, and so has the sign of det M_2 / det M."""
    random = np.random.default_rng(0)
    angles = np.sort(random.uniform(0.1, 6.2, (200, 3)))
    angles = angles[np.diff(angles).min(1) > 0.05]
    found = signs(angles, complete=True)
    assert (found.each[:, 1] == -1).all()
    assert (covariance_bounds(angles) < 0).all()
    assert (falling(angles[:, 0] / 4, angles[:, 1] / 4) > 0).all()


@pytest.mark.parametrize("angles", [[1.0, 2.0], [0.0, 1.0, 2.0], [1.0, 1.0, 4.0]])
def test_sets_the_theorem_is_not_about_are_refused(angles):
    with pytest.raises(TutelageError, match="three or more students"):
        covariance_bounds(np.array(angles))
