"""Folds of the next layer are confirmed; those of deeper layers are not."""

import numpy as np

from tutelage.functions.querying.confirming import confirmed
from tutelage.functions.querying.known import Known
from tutelage.functions.querying.oracle import QueryDraws


def test_a_fold_is_confirmed_all_over_the_box_and_a_deeper_one_is_not(scene):
    oracle, layers, lines, setting = scene
    rows = np.concatenate([layers[0][0], layers[0][1][None]]).T
    value = lines.points @ layers[0][0] + layers[0][1]
    own = lines.points[np.abs(value[:, 0]) < 1e-9]
    assert confirmed(oracle, Known(), rows[0], np.eye(7), own, setting, QueryDraws(0))
    gates = value[:1] > 0  # the form of a deeper unit in one region, taken for a unit of the first layer
    deeper = (rows.T * gates) @ layers[1][0][:, 0] + np.r_[np.zeros(6), layers[1][1][0]]
    assert not confirmed(oracle, Known(), deeper, np.eye(7), own, setting, QueryDraws(0))
