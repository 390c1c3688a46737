"""Features of known layers, their slopes in both directions, and what crossings change."""

from itertools import pairwise

import numpy as np
import pytest

from tutelage.functions.querying.known import (
    Known,
    features,
    kappas,
    open_directions,
    pushed,
    region,
    slopes,
    unit_slopes,
)


def layers(*widths):
    draw = np.random.default_rng(3)
    return tuple((draw.standard_normal((a, b)), 0.5 * draw.standard_normal(b)) for a, b in pairwise(widths))


KNOWN = [Known(layers(4, 5)), Known((), layers(4, 5)[0]), Known(layers(4, 5, 3)), Known(layers(4, 5), layers(5, 3)[0])]


@pytest.mark.parametrize("known", KNOWN)
def test_slopes_agree_with_differences(known):
    draw = np.random.default_rng(0)
    x, v = draw.standard_normal((20, 4)), draw.standard_normal((20, 1, 4))
    at = region(known, x)
    rates, moved = pushed(known, at, v)
    step = 1e-6 * v[:, 0]
    assert np.allclose(moved[:, 0], (features(known, x + step) - features(known, x - step)) / 2e-6, atol=1e-6)
    units = (region(known, x + step).units - region(known, x - step).units) / 2e-6
    assert np.allclose(rates[:, 0], units, atol=1e-6)
    theta = draw.standard_normal(known.count(4))
    assert np.allclose((slopes(known, theta, x) * v[:, 0]).sum(1), moved[:, 0] @ theta)
    for unit in range(int(known.first[-1])):
        assert np.allclose((unit_slopes(known, at, np.full(20, unit)) * v[:, 0]).sum(1), rates[:, 0, unit])


@pytest.mark.parametrize("known", KNOWN)
def test_a_crossing_changes_the_slopes_by_kappa_times_the_unit(known):
    draw = np.random.default_rng(1)
    theta, checked = draw.standard_normal(known.count(4)), 0
    for x, y in zip(draw.standard_normal((400, 4)), draw.standard_normal((400, 4)), strict=True):
        y = x + 0.2 * (y - x)
        both = region(known, np.stack([x, y]))
        crossed = np.flatnonzero(both.gates[0] != both.gates[1])
        if len(crossed) != 1:
            continue
        unit, at = crossed[0], region(known, x[None])
        change = slopes(known, theta, y[None]) - slopes(known, theta, x[None])
        rise = np.sign(both.units[1, unit] - both.units[0, unit])
        told = rise * (kappas(known, at, 4)[0, unit] @ theta) * unit_slopes(known, at, np.array([unit]))
        assert np.allclose(change, told)
        checked += 1
    assert checked > 20


def test_directions_left_open_are_single_features_where_that_suffices():
    known = Known(layers(4, 5))
    basis = np.eye(6)[[0, 2, 3, 5]]
    assert np.allclose(open_directions(known, basis), np.eye(6)[[1, 4]])
    unsigned = Known((), layers(4, 2)[0])
    w, b = unsigned.top
    way = np.r_[1.0, 0.0, w[:, 0], b[0]]
    rows = np.linalg.svd(way[None], full_matrices=True)[2][1:]
    assert np.allclose(open_directions(unsigned, rows), way / np.linalg.norm(way))
