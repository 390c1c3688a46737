"""Wedge moments and twofold precision against high precision."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.local import _wedges


def exact_moment(delta, phi, turn):
    """(along u, along e, along f) with u, e, f as the vectors (1,0,0), (0,1,0), (0,cos,sin), by E[g|g| ...] in full."""
    with mp.workdps(60):
        delta, phi, turn = mp.mpf(delta), mp.mpf(phi), mp.mpf(turn)
        c = mp.cos(turn)
        inner = mp.cos(delta) * mp.cos(phi) + mp.sin(delta) * mp.sin(phi) * c
        after = mp.acos(inner)
        y = phi - after
        n = mp.cos(delta) * mp.sin(phi) - mp.cos(phi) * mp.sin(delta) * c
        b = mp.sin(after) - n
        return (
            float(y),
            float(y * mp.cos(delta) - mp.sin(delta) * c + mp.cos(phi) * b),
            float(y * mp.sin(delta)),
            float(mp.sin(phi) * b),
        )


@given(st.floats(-9, 0), st.floats(1e-3, 3.0), st.floats(0.05, 3.0))
def test_wedge_keeps_its_digits(exponent, phi, turn):
    delta = 10.0**exponent
    found = _wedges.wedge(np.sin(delta), np.cos(delta), np.sin(phi), np.cos(phi), np.cos(turn))
    true = exact_moment(delta, phi, turn)
    assert found == pytest.approx(true, rel=1e-11, abs=1e-14 * delta**2)


@given(st.floats(-9, 0.5))
def test_less_sine(exponent):
    y = 10.0**exponent
    with mp.workdps(40):
        assert _wedges.less_sine(y) == pytest.approx(float(mp.mpf(y) - mp.sin(mp.mpf(y))), rel=1e-14)
    assert _wedges.less_sine(-y) == -_wedges.less_sine(y)


@given(st.lists(st.floats(-3, 3).filter(lambda a: abs(a) > 1e-3), min_size=1, max_size=6))
def test_effective_neurons_to_twice_the_digits(coordinates):
    w = np.array([coordinates])
    total, rest = np.zeros((1, w.shape[1])), np.zeros((1, w.shape[1]))
    _wedges.add_effective(w, 0, 1.0, total, rest, 0)
    with mp.workdps(50):
        length = mp.sqrt(mp.fsum(mp.mpf(a) ** 2 for a in coordinates))
        for a, coordinate in enumerate(coordinates):
            true = length * mp.mpf(coordinate)
            assert abs(mp.mpf(total[0, a]) + mp.mpf(rest[0, a]) - true) < 1e-29 * abs(length) ** 2


def test_the_overlap_of_two_spikes_is_below_its_bound():
    """E[rho_j rho_k] <= (4 / pi) delta_j delta_k min(delta_j, delta_k) for units (Zhou et al. 2021, Lemma C.5)."""
    draw = np.random.default_rng(0)
    for _ in range(300):
        a, b = draw.uniform(0.01, 1.2, 2)
        c = np.cos(draw.uniform(0, np.pi))
        y, _, _, _ = _wedges.wedge(np.sin(a), np.cos(a), np.sin(b), np.cos(b), c)
        value = 2 / np.pi * _wedges.overlap(a, b, y, np.cos(a) * np.cos(b) + np.sin(a) * np.sin(b) * c)
        assert -1e-15 <= value <= 4 / np.pi * a * b * min(a, b)


def test_a_spike_with_itself():
    """E[rho^2] = 4 (delta - sin cos) / pi: the squared difference of signs is 4, and the proof of Lemma 12 drops it."""
    x = np.random.default_rng(0).normal(size=(400_000, 2))
    delta = 0.7
    inner, taught = x @ [np.cos(delta), np.sin(delta)], x[:, 0]
    squares = (inner * (np.sign(inner) - np.sign(taught))) ** 2
    value = 2 / np.pi * _wedges.less_sine(2 * delta)
    assert value == pytest.approx(4 * (delta - np.sin(delta) * np.cos(delta)) / np.pi)
    error = squares.std() / len(x) ** 0.5
    assert abs(squares.mean() - value) < 4 * error
    assert abs(squares.mean() - value / 4) > 50 * error
