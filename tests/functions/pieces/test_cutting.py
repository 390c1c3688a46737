"""One cut of one cell, looked at in detail."""

import numpy as np
import pytest

from tutelage.functions.domain import box
from tutelage.functions.pieces._cutting import cut_layer
from tutelage.functions.pieces._skeleton import DONE, TOO_CLOSE, TOO_MANY
from tutelage.functions.pieces.subdivision import skeleton


def cut(values, units, keep_positive=False, dimension=2, budget=100, tolerance=1e-12):
    """A cube cut by units given by their values at its corners [V, n]."""
    cube = box(-1, 1, dimension=dimension)
    state = skeleton(cube, units, budget)._replace(values=values)
    return cut_layer(state, 0, cube.facets, np.full(units, tolerance), budget, keep_positive)


def corners_of(state, cell):
    first = state.corner_from[cell]
    return state.points[state.corners[first : first + state.corner_count[cell]]]


def test_a_square_cut_in_two():
    """x = 1/2: corners are low, right, upper left, upper right; the positive half keeps the cell's number."""
    state, pieces, ended, unit, _ = cut(np.array([[-1.5], [0.5], [-1.5], [0.5]]), 1)
    assert (ended, unit, pieces.tolist()) == (DONE, -1, [[True]])
    assert state.signs.tolist() == [[1], [-1]]
    assert sorted(corners_of(state, 0).tolist()) == [[0.5, -1.0], [0.5, 1.0], [1.0, -1.0], [1.0, 1.0]]
    assert sorted(corners_of(state, 1).tolist()) == [[-1.0, -1.0], [-1.0, 1.0], [0.5, -1.0], [0.5, 1.0]]
    assert (len(state.points), len(state.ends)) == (6, 7)
    assert (state.tight[4:] >> np.uint64(4) == 1).all()


def test_the_positive_half_alone():
    state, _, ended, _, _ = cut(np.array([[-1.5], [0.5], [-1.5], [0.5]]), 1, keep_positive=True)
    assert ended == DONE
    assert state.signs.tolist() == [[1]]
    assert corners_of(state, 0)[:, 0].min() == 0.5


def test_a_cut_through_two_corners_makes_no_vertices():
    state, _, ended, _, _ = cut(np.array([[0.0], [1.0], [-1.0], [0.0]]), 1)
    assert ended == DONE
    assert (len(state.points), len(state.ends), len(state.roots)) == (4, 5, 2)


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 0.0, 0.0, 1.0],  # affine functions do not vanish at three corners of a square alone
        [0.0, 1.0, 1.0, 0.0],
        [0.0, 1.0, 1.0, -1.0],
        [1e-11, 1.0, 1.0, 2.0],  # neither zero nor surely not
    ],
)
def test_signs_that_do_not_fit_together_are_found_out(values):
    *_, ended, unit, _ = cut(np.array(values)[:, None], 1)
    assert (ended, unit) == (TOO_CLOSE, 0)


def test_the_budget_is_kept():
    *_, ended, unit, _ = cut(np.array([[-1.5, 1.0], [0.5, 1.0], [-1.5, -1.0], [0.5, -1.0]]), 2, budget=7)
    assert (ended, unit) == (TOO_MANY, 1)
