"""Dearer bounds are tried where boxes seen before say that they save time."""

import numpy as np

from tutelage.functions.bounding.worth import Worth


def learnt(chance, dear):
    """Boxes of ratio 3 whose halves have ratio 1.5, and of ratio 1.5 whose halves are proved."""
    worth = Worth()
    worth.saw(np.full(100, 3.0), np.full(100, 1.5))
    worth.saw(np.full(100, 1.5), np.full(100, 0.5))
    for ratio in (1.5, 3.0):
        worth.tried(np.full(100, ratio), np.arange(100) < 100 * chance)
    worth.took(False, 1.0, 100)
    worth.took(True, dear, 100)
    return worth


def test_boxes_below_are_counted_from_halves_of_halves():
    below = learnt(1.0, 1.0).below()
    assert sorted(set(below.tolist())) == [0.0, 2.0, 6.0]


def test_a_bound_is_worth_its_time_where_it_saves_more():
    ratios = np.array([0.9, 1.5, 3.0, np.inf])
    assert learnt(1.0, 0.5).worth(ratios).tolist() == [False, True, True, False]
    assert learnt(1.0, 2.0).worth(ratios).tolist() == [False, False, True, False]
    assert learnt(0.3, 2.0).worth(ratios).tolist() == [False, False, False, False]


def test_a_class_that_was_never_tried_is_tried():
    assert Worth().worth(np.array([1.1, 5.0])).all()
