"""Weights that folds leave open are filled without adding a fold."""

import numpy as np

from tutelage.functions.querying.known import Known
from tutelage.functions.querying.open_weights import filled, nothing_open
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
