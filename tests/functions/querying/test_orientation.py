"""Signs from readers."""

import numpy as np
import pytest

from tutelage.functions.querying.known import Known
from tutelage.functions.querying.orientation import (
    OpenWeights,
    agreement,
    by_equations,
    by_readers,
    filled,
    nothing_open,
)
from tutelage.functions.querying.unit_search import FoundUnits


def test_an_open_weight_keeps_the_sign_the_unit_has_where_it_begins_to_matter():
    draw = np.random.default_rng(0)
    z = np.maximum(draw.standard_normal((500, 3)), 0)
    phi = np.concatenate([z, np.ones((500, 1))], axis=1)
    known = Known(((np.eye(3), np.zeros(3)),))
    theta = np.array([[-1.0, 0.5, 0.0, 0.4], [1.0, -0.5, 0.3, 0.2]])
    moving = z[:, 2] > 0
    phi = phi[~moving | (phi @ theta[0] > 0.2)]  # on what is left of the third feature's side, the unit is active
    moving = phi[:, 2] > 0
    phi[moving, 0] += 2 * phi[moving, 2]  # and would not be with weight 0
    full, ways = filled(known, FoundUnits(theta, (np.eye(4)[[0, 1, 3]], np.eye(4))), phi)
    assert ways.unit.tolist() == [0]
    assert np.allclose(ways.direction, np.eye(4)[[2]])
    assert ways.side.tolist() == [1.0]
    assert (phi[moving] @ theta[0] < 0).any()
    assert (phi[moving] @ full[0] >= 0).all()
    assert (full[1] == theta[1]).all()


def test_nothing_open_is_empty():
    assert len(nothing_open(4)) == 0
    assert nothing_open(4).direction.shape == (0, 4)


@pytest.mark.parametrize(("inputs", "units", "readers"), [(6, 4, 1), (4, 10, 5), (6, 14, 1)])
def test_readers_tell_the_signs(inputs, units, readers):
    """Also where fourteen signs stand in six equations: they are tried out."""
    draw = np.random.default_rng(2)
    w, alpha = draw.standard_normal((inputs, units)), draw.standard_normal((readers, units))
    signs = np.sign(draw.standard_normal(units))
    found, rest = by_readers(w, alpha, (alpha * signs) @ w.T, 1e-8)
    assert (found == signs).all()
    assert np.abs(rest).max() < 1e-12


def test_what_signs_cannot_explain_is_handed_back():
    draw = np.random.default_rng(3)
    w, alpha, beta = draw.standard_normal((3, 2)), draw.standard_normal((2, 2)), draw.standard_normal((2, 3))
    signs, rest = by_readers(w, alpha, beta, 1e-8)
    assert np.allclose((alpha * signs) @ w.T + rest, beta)
    assert np.linalg.norm(rest) > 0.1


@pytest.mark.parametrize("units", [6, 14])
def test_signs_leave_as_few_units_always_active_as_possible(units):
    draw = np.random.default_rng(5)
    w, alpha = draw.standard_normal((9, units)), draw.standard_normal((8, units))
    signs = np.sign(draw.standard_normal(units))
    always = draw.standard_normal((8, 1)) @ draw.standard_normal((1, 9))
    found, rest = by_readers(w, alpha, (alpha * signs) @ w.T + always, 1e-8)
    assert (found == signs).all()
    assert np.allclose(rest, always)


def readers_of(w, b, signs, a, c):
    """Coefficients over |u|, z and 1 of readers a [K, n] with biases c [K]."""
    return np.concatenate([a / 2, (a * signs) @ w.T / 2, ((a * signs) @ b / 2 + c)[:, None]], axis=1)


def test_readers_known_in_part_tell_the_signs():
    draw = np.random.default_rng(6)
    w, b, signs = draw.standard_normal((4, 5)), draw.standard_normal(5), np.array([1.0, -1, -1, 1, 1])
    theta = readers_of(w, b, signs, draw.standard_normal((3, 5)), draw.standard_normal(3))
    bases = [np.eye(10)]
    for unit in (1, 3):  # on the reader's fold this unit has one sign: |u| and u cannot be told apart
        way = np.r_[np.eye(5)[unit], -w[:, unit], -b[unit]]
        bases.append(np.linalg.svd(way[None], full_matrices=True)[2][1:])
    known = np.stack([r.T @ (r @ t) for r, t in zip(bases, theta, strict=True)])
    told = by_equations((w, b), nothing_open(5), known, tuple(bases), 1e-9)
    assert told is not None
    assert (told[0] == signs).all()
    assert by_equations((w, b), nothing_open(5), known + 0.1, tuple(bases), 1e-9) is None


def test_a_weight_that_a_fold_leaves_open_is_told_by_the_readers():
    draw = np.random.default_rng(7)
    w, b, signs = draw.standard_normal((6, 3)), draw.standard_normal(3), np.array([1.0, -1, 1])
    a, c = draw.standard_normal((4, 3)), draw.standard_normal(4)
    true, taken, side = w[2, 0], 7.0, 1.0
    theta = readers_of(w, b, signs, a, c)
    theta[:, 3 + 2] += a[:, 0] / 2 * side * (true - taken)  # |u| with the true weight, written over |u| with the other
    guess = w.copy()
    guess[2, 0] = taken
    ways = OpenWeights(np.array([0]), np.eye(7)[[2]], np.array([side]), np.array([taken]))
    told = by_equations((guess, b), ways, theta, (np.eye(10),) * 4, 1e-9)
    assert told is not None
    assert (told[0] == signs).all()
    assert (told[1][0] * side + taken) / 2 == pytest.approx(true)


def test_readers_that_agree_settle_the_signs_and_false_ones_are_left_out():
    draw = np.random.default_rng(8)
    w, b, signs = draw.standard_normal((6, 4)), draw.standard_normal(4), np.array([1.0, -1, -1, 1])
    theta = readers_of(w, b, signs, draw.standard_normal((3, 4)), draw.standard_normal(3))
    theta[1] = draw.standard_normal(11)  # the fold of a deeper unit
    told = agreement((w, b), nothing_open(7), theta, (np.eye(11),) * 3, 1e-9)
    assert told is not None
    assert (told.signs == signs).all()
    assert told.readers.tolist() == [True, False, True]
    assert agreement((w, b), nothing_open(7), theta[1:2], (np.eye(11),), 1e-9) is None


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_unit_of_one_sign_on_all_folds_is_active_there_if_readers_depend_on_it(side):
    draw = np.random.default_rng(9)
    w, b = draw.standard_normal((6, 4)), draw.standard_normal(4)
    way = np.r_[np.eye(4)[2], -side * w[:, 2], -side * b[2]]  # |u| - side u vanishes where the unit has this side
    basis = np.linalg.svd(way[None], full_matrices=True)[2][1:]
    for sign in (1.0, -1.0):
        signs = np.array([1.0, -1, sign, 1])
        theta = readers_of(w, b, signs, draw.standard_normal((2, 4)), draw.standard_normal(2))
        known = np.stack([basis.T @ (basis @ one) for one in theta])
        told = agreement((w, b), nothing_open(7), known, (basis, basis), 1e-9)
        assert told is not None
        assert (told.signs == signs).all()
