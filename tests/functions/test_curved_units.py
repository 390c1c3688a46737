"""Lines around smooth units and the range of their derivatives, against mpmath with 40 digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.functions.relaxations import CURVED
from tutelage.networks.activations import ACTIVATIONS, find
from tutelage.networks.gelus import GELUS

mp = mpmath.mp.clone()
mp.dps = 40


def exact(name, u):
    u = mp.mpf(u)
    match name:
        case "tanh":
            return mp.tanh(u)
        case "sigmoid":
            return 1 / (1 + mp.exp(-u))
        case "softplus":
            return mp.log1p(mp.exp(u))
        case "gelu":
            return u * mp.ncdf(u)
        case "silu":
            return u / (1 + mp.exp(-u))
        case "hard-swish":
            return u * min(max(u + 3, 0), 6) / 6
    inner, _ = gelu_argument(name, u)
    return u * (mp.ncdf(inner * mp.sqrt(2)) if len(GELUS[name]) == 1 else 1 / (1 + mp.exp(-2 * inner)))


def gelu_argument(name, u):
    """kappa u or alpha u + beta u^3 of a stored GELU, and its derivative."""
    rows = [mp.mpf(c.numerator) / c.denominator for c in GELUS[name]]
    cube = rows[1] if len(rows) > 1 else 0
    return rows[0] * u + cube * u**3, rows[0] + 3 * cube * u**2


def derivative(name, u):
    u = mp.mpf(u)
    s = 1 / (1 + mp.exp(-u))
    match name:
        case "tanh":
            return mp.sech(u) ** 2
        case "sigmoid":
            return s * (1 - s)
        case "softplus":
            return s
        case "gelu":
            return mp.ncdf(u) + u * mp.npdf(u)
        case "silu":
            return s * (1 + u * (1 - s))
        case "hard-swish":
            return (2 * u + 3) / 6 if abs(u) < 3 else mp.mpf(u > 0)
    inner, slope = gelu_argument(name, u)
    if len(GELUS[name]) == 1:
        return mp.ncdf(inner * mp.sqrt(2)) + u * slope * mp.sqrt(2) * mp.npdf(inner * mp.sqrt(2))
    below, above = 1 / (1 + mp.exp(-2 * inner)), 1 / (1 + mp.exp(2 * inner))
    return below + 2 * u * slope * below * above


ends = st.floats(-40, 40) | st.floats(-4, 4)
widths = st.floats(0, 30) | st.floats(0, 1e-3) | st.just(0.0)


@pytest.mark.parametrize("name", CURVED)
@given(low=ends, width=widths, inside=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_lines_hold_the_unit_and_slopes_its_derivative(name, low, width, inside):
    high = low + width
    unit = CURVED[name]
    s, m, h = (mp.mpf(float(v[0])) for v in unit.line(np.array([low]), np.array([high])))
    flat, steep = (mp.mpf(float(v[0])) for v in unit.slopes(np.array([low]), np.array([high])))
    kinks = [b for b in unit.breaks if low <= b <= high]
    for u in [low, high, *kinks, *(min(high, low + t * width) for t in inside)]:
        assert abs(exact(name, u) - s * mp.mpf(u) - m) <= h
        assert flat <= derivative(name, u) <= steep


@pytest.mark.parametrize("name", CURVED)
def test_constants_are_those_of_the_unit(name):
    """The second derivative nowhere exceeds the curvature, and both it and the ends of the derivative are attained."""
    unit, points = CURVED[name], np.linspace(-12, 12, 4801)
    step = mp.mpf("1e-8")
    slopes = [derivative(name, u) for u in points]
    assert unit.least <= min(slopes) <= unit.least + 2e-3  # the points are 0.005 apart
    assert unit.most - 2e-3 <= max(slopes) <= unit.most
    bends = [
        abs(derivative(name, mp.mpf(u) + step) - derivative(name, mp.mpf(u) - step)) / (2 * step)
        for u in points
        if all(abs(u - b) > 1e-3 for b in unit.breaks)
    ]
    assert unit.curvature * (1 - 1e-3) <= max(bends) <= unit.curvature * (1 + 1e-9)


@pytest.mark.parametrize("name", CURVED)
def test_lines_are_tight(name):
    """On a short interval the noise is that of a parabola, c w^2 / 16, and little more; the table has all names."""
    low, high = np.array([0.3]), np.array([0.5])
    _, _, h = CURVED[name].line(low, high)
    bend = abs(derivative(name, 0.41) - derivative(name, 0.39)) / mp.mpf("0.02")
    assert h[0] <= 1.1 * float(bend) * 0.04 / 16 + 1e-4
    assert find(name).gate is None
    assert (name in ACTIVATIONS) == (name not in GELUS)
