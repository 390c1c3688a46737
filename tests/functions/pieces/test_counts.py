"""Counts known in closed form, estimates of the right order, and refusals that say what to do."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions.domain import box, polytope
from tutelage.functions.pieces.counts import at_most, chords, estimate, zaslavsky
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import Network


@given(st.integers(0, 12), st.integers(1, 12))
def test_zaslavskys_number_obeys_deletion_and_restriction(hyperplanes, dimension):
    """One more hyperplane adds as many regions as the others cut it into."""
    more = zaslavsky(hyperplanes + 1, dimension)
    inside = zaslavsky(hyperplanes, dimension - 1) if dimension > 1 else 1
    assert more == zaslavsky(hyperplanes, dimension) + inside


@given(st.integers(0, 10**6), st.integers(1, 3), st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_no_network_has_more_regions_than_the_bound(random_net, seed, dimension, hidden):
    network = random_net((dimension, *hidden, 1), seed)
    assert len(enumerate_regions(network, (-3, 3))) <= at_most(network)


@pytest.mark.parametrize("widths", [(2, 32, 32, 1), (2, 10, 10, 10, 10, 1), (3, 20, 20, 1), (4, 12, 12, 1), (6, 14, 1)])
def test_the_estimate_is_of_the_right_order(random_net, widths):
    network = random_net(widths)
    count = len(enumerate_regions(network, (-1, 1)))
    assert count / 10 < estimate(network, (-1, 1)).regions < 10 * count


def test_an_estimate_is_a_function_of_its_seed(random_net):
    network = random_net((3, 9, 9, 1))
    assert estimate(network, (-1, 1), seed=5) == estimate(network, (-1, 1), seed=5)


def test_a_saw_has_more_regions_than_units():
    """Two abs units a layer fold an interval; the teeth double with every layer, and chords see them."""
    fold = Network(
        (torch.ones(1, 1, 1), *[2 * torch.ones(1, 1, 1)] * 4, torch.ones(1, 1, 1)),
        (torch.zeros(1, 1), *[-torch.ones(1, 1)] * 4, torch.zeros(1, 1)),
        "abs",
    )
    count = len(enumerate_regions(fold, (-1, 1)))
    assert count == 2**5
    assert estimate(fold, (-1, 1)).regions >= count / 2


@pytest.mark.parametrize(
    "domain",
    [
        box(-2, 3, dimension=4),
        polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 2.0]]), torch.tensor([0.0, 0.0, 1.0])),
    ],
    ids=["box", "triangle"],
)
def test_chords_end_on_the_boundary(domain):
    for ends in chords(domain, seed=1):
        slack = domain.offsets - ends @ domain.normals.T
        assert slack.min() > -1e-12
        assert (slack.amin(1) < 1e-12).all()


def test_far_too_many_regions_are_refused_before_any_is_found(random_net):
    with pytest.raises(
        TutelageError, match=r"about 10\^\d+ regions .* none was looked for; take a smaller domain, a slice"
    ):
        enumerate_regions(random_net((10, 60, 60, 1)), (-1, 1))
    with pytest.raises(TutelageError, match=r"about 10\^[3-9]\d\d regions"):
        enumerate_regions(random_net((784, 1500, 10), bias=0.01), (-1, 1))


def test_a_budget_used_up_on_the_way_is_refused_with_the_estimate(random_net):
    with pytest.raises(TutelageError, match=r"about .* regions are to be expected .* budget is 300 regions.* layer 2"):
        enumerate_regions(random_net((2, 20, 20, 1)), (-1, 1), budget=300)


def test_a_small_domain_of_a_large_network_is_not_refused(random_net):
    """Widths alone would allow billions of regions here, but few boundaries are near."""
    network = random_net((6, 40, 40, 1))
    assert len(enumerate_regions(network, (0.5, 0.5001))) < 1000
