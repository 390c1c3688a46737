"""Every unit has an account, and a unit that was not found a reason."""

import numpy as np
import pytest
import torch

from tutelage.deadline import Deadline
from tutelage.functions.querying import account
from tutelage.functions.querying.account import (
    ADDED,
    ALWAYS,
    DEAD,
    DETERMINED,
    HIDDEN,
    IN_PART,
    UNCHECKED,
    UNSEEN,
    MissingUnits,
    accounts,
    missing_units,
)
from tutelage.networks import Network

LOW, HIGH = -2 * np.ones(2), 2 * np.ones(2)


def net(*layers):
    weights = tuple(torch.tensor([w], dtype=torch.float64) for w, _ in layers)
    return Network(weights, tuple(torch.tensor([b], dtype=torch.float64) for _, b in layers))


def test_units_found_in_part_and_added_units_are_told_from_the_others():
    layers = (
        (np.array([[1.0, 0.5, 1.0], [0.3, -1.0, 1.0]]), np.array([0.1, 0.2, -9.0])),
        (np.array([[1.0], [1.0], [1.0]]), np.zeros(1)),
    )
    told = accounts(layers, (0,), LOW, HIGH, 0)
    assert [one.status for one in told] == [DETERMINED, DETERMINED, IN_PART]
    assert [one.open_weights for one in told] == [0, 0, 3]  # never active: neither weights nor bias show
    assert [(one.layer, one.unit) for one in told] == [(1, 0), (1, 1), (1, 2)]
    assert accounts(layers, (1,), LOW, HIGH, 0)[2].status == ADDED


def test_weights_that_are_too_many_to_look_at_are_not_called_determined(monkeypatch):
    monkeypatch.setattr(account, "_MOST", 3)
    layers = ((np.eye(2), np.zeros(2)), (np.ones((2, 1)), np.zeros(1)))
    assert [(one.status, one.open_weights) for one in accounts(layers, (0,), LOW, HIGH, 0)] == [(UNCHECKED, None)] * 2


@pytest.mark.parametrize(
    ("bias", "reads", "reason"), [(9.0, 1.0, ALWAYS), (-9.0, 1.0, DEAD), (0.0, 1.0, UNSEEN), (0.0, 0.0, HIDDEN)]
)
def test_the_reason_is_named(bias, reads, reason):
    truth = net(([[1.0, 0.5], [0.3, -1.0]], [0.1, bias]), ([[1.0], [reads]], [0.0]))
    found = net(([[2.0], [0.6]], [0.2]), ([[0.5]], [0.0]))
    missing = missing_units(truth, found, (-2.0, 2.0))
    (one,) = missing.units
    assert missing.cut_short is None
    assert (one.layer, one.unit, one.status) == (1, 1, reason)
    assert missing_units(truth, truth, (-2.0, 2.0)).units == (() if reason != DEAD else (one,))


def test_layers_that_are_not_there_are_missing():
    truth = net(([[1.0], [0.3]], [0.1]), ([[1.0]], [-0.2]), ([[1.0]], [0.0]))
    found = net(([[1.0], [0.3]], [0.1]), ([[1.0]], [0.0]))
    assert [(one.layer, one.status) for one in missing_units(truth, found, (-2.0, 2.0)).units] == [(2, UNSEEN)]


class Looks(Deadline):
    """A deadline that passes after so many looks at the clock."""

    def __init__(self, looks):
        super().__init__(None)
        self.looks = looks

    @property
    def passed(self):
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize(("looks", "points", "words"), [(0, 0, "were not looked for"), (7, 400, "at 400 of 8,000")])
def test_after_the_deadline_the_points_so_far_have_to_do(looks, points, words):
    truth = net(([[1.0, 0.5], [0.3, -1.0]], [0.1, 0.0]), ([[1.0], [1.0]], [0.0]))
    found = net(([[2.0], [0.6]], [0.2]), ([[0.5]], [0.0]))  # three looks for 200 points
    missing = missing_units(truth, found, (-2.0, 2.0), deadline=Looks(looks))
    assert missing.points == points
    assert [(one.unit, one.status) for one in missing.units] == ([(1, UNSEEN)] if points else [])
    assert words in missing.cut_short


def test_a_network_without_hidden_layers_has_no_missing_units():
    linear = net(([[1.0], [0.3]], [0.1]))
    assert missing_units(linear, linear, (-2.0, 2.0), deadline=Looks(0)) == MissingUnits((), 8_000)
