"""Which strategies run, and in which order: a search at length only where bounds leave a question open."""

import pytest
import torch

from tutelage.deadline import NEVER, Deadline
from tutelage.functions import box
from tutelage.functions.answers import Question
from tutelage.functions.bounds.choose import decide
from tutelage.functions.search.hunt import Hunt
from tutelage.networks import Network


def nearly_equal(inputs, by=0.1):
    """Two relu networks of one hidden layer; their outputs differ by `by` times the sum of the positive inputs."""
    eye = torch.eye(inputs, dtype=torch.float64)[None]
    ones = torch.ones(1, inputs, 1, dtype=torch.float64)
    return Network((eye, ones)), Network((eye, (1 + by) * ones))


def asked(inputs, limit, deadline=NEVER, follow=0.0):
    pair = nearly_equal(inputs)
    hunt = Hunt(*pair, box(-1, 1, inputs), Question(torch.tensor([limit], dtype=torch.float64), follow=follow))
    calls = []

    def search():
        calls.append(None)
        hunt.look(torch.ones(1, inputs, dtype=torch.float64))

    return decide(pair, hunt, deadline, threads=1, search=search), hunt, len(calls)


def test_what_boxes_prove_at_once_is_not_searched():
    (at_most, proved, _, _), hunt, calls = asked(2, 0.25)
    assert proved
    assert 0.2 <= at_most.item() <= 0.25
    assert (calls, hunt.refuted) == (0, False)


@pytest.mark.parametrize("inputs", [2, 30])
def test_what_is_not_true_is_refuted_by_one_search_at_most(inputs):
    (at_most, proved, _, _), hunt, calls = asked(inputs, 0.05 * inputs)
    assert not proved
    assert hunt.refuted
    assert calls <= 1
    assert at_most.item() >= 0.1 * inputs * (1 - 1e-12)


def test_a_limit_that_follows_the_largest_difference_is_searched_first():
    _, hunt, calls = asked(2, 0.0, follow=1.05)
    assert calls == 1
    assert hunt.largest.item() == pytest.approx(0.2)


def test_without_any_time_a_few_points_are_looked_at_all_the_same():
    (at_most, _, _, _), hunt, calls = asked(30, 3.5, Deadline(0.0))
    assert calls == 1
    assert hunt.largest.item() == pytest.approx(3.0)
    assert at_most.item() >= 3.0 * (1 - 1e-12)


def test_a_glance_sees_corners_and_given_points():
    pair = nearly_equal(2)
    hunt = Hunt(*pair, box(-1, 1, 2), Question(torch.tensor([0.19], dtype=torch.float64)))
    hunt.glance()
    assert hunt.refuted  # only near the corner where both inputs are 1
    far = Hunt(*pair, box(-1, 1, 2), Question(torch.tensor([0.5], dtype=torch.float64)))
    far.glance(data=torch.tensor([[0.5, 0.5], [5.0, 5.0]], dtype=torch.float64))
    assert far.largest.item() == pytest.approx(0.2)  # points outside of the box count for nothing
