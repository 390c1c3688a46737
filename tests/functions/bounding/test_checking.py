"""Checks of exports: the worst input is the one that the verdict rests on."""

import torch

from tutelage.functions import box, check_export, polytope
from tutelage.networks import Network


def late(bias):
    """relu(x + bias) of one input."""
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    return Network((one, one), (torch.full((1, 1), bias, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)))


def test_the_worst_input_is_the_row_that_differs():
    data = torch.tensor([[0.0], [5.5], [7.5], [0.5]])
    found = check_export(late(-5.0), late(-6.0), (-1, 1), data)
    assert found.verdict == "fails"
    assert (found.worst_row, found.worst_input.tolist(), found.outside) == (2, [7.5], True)
    assert found.parting_layer == 1


def test_the_worst_input_is_the_witness_where_the_search_finds_more():
    found = check_export(late(0.0), late(-0.5), (-1, 1), torch.tensor([[0.1], [-3.0]]))
    assert found.verdict == "fails"
    assert (found.worst_row, found.outside) == (None, False)
    assert found.worst_input.equal(found.closeness.witness)
    assert check_export(late(0.0), late(-0.5), (-1, 1)).worst_row is None


def test_domains_hold_their_boundary():
    assert box(-1, 1, dimension=2).holds(torch.tensor([1.0, -1.0]))
    assert not box(-1, 1, dimension=2).holds(torch.tensor([1.0, -1.0001]))
    triangle = polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 1.0]))
    assert triangle.holds(torch.tensor([0.3, 0.7]))
    assert not triangle.holds(torch.tensor([0.3, 0.701]))
