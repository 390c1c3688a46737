"""Lines with their bends."""

import numpy as np

from tutelage.functions.querying.lines import look_along, sample
from tutelage.functions.querying.oracle import Oracle


def test_lines_have_their_ends_and_all_bends_in_order():
    oracle = Oracle(lambda x: x.relu().sum(1, keepdim=True), 2, 1)
    lines = look_along(oracle, np.array([[-1.0, -2.0], [1.0, 1.0]]), np.array([[3.0, 3.0], [1.0, 3.0]]))
    assert lines.line.tolist() == [0, 0, 0, 0, 1, 1]
    assert lines.bend.tolist() == [False, True, True, False, False, False]
    assert np.allclose(lines.points[1:3], [[0.0, -1.0], [1.0, 0.0]])
    assert lines.pieces(1e-9).tolist() == [1, 2, 4]


def test_joined_lines_are_numbered_on():
    oracle = Oracle(lambda x: x.relu(), 1, 1)
    one = look_along(oracle, -np.ones((2, 1)), 2 * np.ones((2, 1)))
    both = one.joined(one)
    assert both.line.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert both.bend.sum() == 4


def test_a_larger_sample_begins_with_the_smaller_and_goes_on():
    low, high = -np.ones(2), np.array([1.0, 3.0])
    many = sample(low, high, 12, 5, "x")
    assert (many[:4] == sample(low, high, 4, 5, "x")).all()
    assert (many[4:] == sample(low, high, 8, 5, "x", start=4)).all()
    assert (many >= low).all()
    assert (many <= high).all()


def test_points_are_drawn_near_the_corners_too():
    x = sample(-np.ones(3), np.ones(3), 400, 0, "a")
    assert (np.abs(x) <= 1).all()
    corners = (np.abs(x) > 0.9).all(1)
    assert corners[1::4].mean() > 0.1
    assert corners[2::4].sum() == 0
