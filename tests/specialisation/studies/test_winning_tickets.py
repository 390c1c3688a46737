"""Winning tickets: which units are taken, what is put in their place, and who parted from whom."""

import numpy as np
import pytest
import torch

from tutelage.networks import Network, outputs
from tutelage.specialisation.studies import winning_tickets as study
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels


@pytest.fixture
def students() -> Network:
    teacher = Levels(inputs=3, hidden=2, outputs=2).build(range(2))
    return SmallNormal(width_factor=3, scale=1.0).build(teacher, range(2))


def test_winners_are_different_units_of_largest_total_correlation():
    rho = torch.tensor([[[0.9, 0.8, 0.0], [0.95, 0.1, 0.2]]])
    assert study.winners(rho).tolist() == [[1, 0]]  # 0.8 + 0.95 and not 0.9 + 0.2


def test_drawn_units_are_different_and_depend_on_the_seed_alone():
    first = study.drawn_units(torch.zeros(3, 4, 10), [5, 6, 7])
    assert all(len(set(row)) == 4 for row in first.tolist())
    assert study.drawn_units(torch.ones(1, 4, 10), [6]).tolist() == first[1:2].tolist()


def test_all_units_in_another_order_are_the_same_function(students):
    x = torch.randn(2, 7, 3)
    order = torch.tensor([[5, 4, 3, 2, 1, 0]] * 2)
    torch.testing.assert_close(outputs(study.chosen_units(students, order), x), outputs(students, x))


def test_only_the_units_that_are_named_are_replaced(students):
    others = students.map(lambda a: a + 1)
    which = torch.tensor([[True, False, False, False, False, True]] * 2)
    mixed = study.replaced_units(students, others, which)
    for ours, theirs, old in zip(
        (mixed.weights[0].mT, mixed.weights[1]), (others.weights[0].mT, others.weights[1]),
        (students.weights[0].mT, students.weights[1]), strict=True,
    ):  # fmt: skip
        assert ours[which].equal(theirs[which])
        assert ours[~which].equal(old[~which])


def test_twins_part_where_they_follow_different_units_or_one_follows_none():
    first = np.array([[0, 1, -1, 2], [-1, -1, -1, -1]])
    second = np.array([[0, 2, -1, -1], [-1, -1, -1, -1]])
    parted = study.parted(first, second)
    assert parted[0] == pytest.approx(2 / 3)
    assert np.isnan(parted[1])
