"""What rounding could decide is refused or counts as zero; budgets hold."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions.domain import box
from tutelage.functions.pieces.faces import facets, volumes
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.functions.pieces.subdivision import BeyondBudget, subdivide
from tutelage.networks import Network


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(9, 16), st.lists(st.integers(1, 4), min_size=2, max_size=4))
def test_nearly_degenerate_networks_are_handled_or_refused(whole_net, seed, power, widths):
    """Moved by 1e-9 to 1e-16 from networks whose boundaries coincide: the pieces still fit together, or are refused."""
    draw = torch.Generator().manual_seed(seed)
    exact = whole_net((*widths, 1), seed)
    network = exact.map(lambda a: a + 10.0**-power * torch.randn(a.shape, generator=draw, dtype=torch.float64))
    try:
        regions = enumerate_regions(network, (-2, 2))
    except TutelageError:
        return
    # boundaries 1e-9 from parallel meet in points that are known to 1e-7 along them
    assert volumes(regions).sum().item() == pytest.approx(4.0 ** widths[0], rel=1e-6)
    assert len(facets(regions)) >= len(regions) - 1


def test_most_networks_at_the_level_of_rounding_are_handled(whole_net):
    for seed in range(40):
        exact = whole_net((3, 4, 3, 1), seed)
        moved = exact.map(lambda a: a * (1 + 2**-52))
        assert len(enumerate_regions(moved, (-2, 2))) == len(enumerate_regions(exact, (-2, 2)))


def test_a_boundary_through_a_corner_and_along_a_side_of_the_box():
    """x = y passes through two corners; x = 1 is a side of the box and cuts nothing."""
    weights = (torch.tensor([[[1.0, 1.0], [-1.0, 0.0]]]), torch.ones(1, 2, 1))
    regions = enumerate_regions(Network(weights, (torch.tensor([[0.0, -1.0]]), torch.zeros(1, 1))), (-1, 1))
    assert sorted(regions.signs.tolist()) == [[-1, -1], [1, -1]]
    assert len(regions.vertices) == 4


def test_a_unit_that_vanishes_on_a_whole_piece_has_sign_zero_there():
    """Without biases the second layer is 0 wherever the first is off."""
    weights = (torch.tensor([[[1.0], [0.0]]]), torch.tensor([[[2.0]]]), torch.ones(1, 1, 1))
    regions = enumerate_regions(Network(weights), (-1, 1))
    assert sorted(regions.signs.tolist()) == [[-1, 0], [1, 1]]
    assert regions.per_layer == (2, 2)


def test_what_is_too_close_to_call_names_the_unit():
    weights = (torch.tensor([[[1.0, 1.0 + 1e-12], [1.0, 1.0]]], dtype=torch.float64), torch.ones(1, 2, 1).double())
    with pytest.raises(TutelageError, match="unit 1 of layer 1"):
        enumerate_regions(Network(weights), (-1, 1))


def test_units_that_coincide_in_float32_alone_can_be_merged(random_net):
    single = random_net((2, 5, 1), dtype=torch.float32)
    twice = torch.cat([single.weights[0], 3 * single.weights[0]], 2), torch.ones(1, 10, 1)
    biases = torch.cat([single.biases[0], 3 * single.biases[0]], 1), torch.zeros(1, 1)
    doubled = Network(twice, biases)
    alone = enumerate_regions(single, (-1, 1))
    assert len(enumerate_regions(doubled, (-1, 1), rounding=1e-6)) == len(alone)
    assert len(enumerate_regions(doubled, (-1, 1))) > len(alone)


@pytest.mark.parametrize("budget", [4, 50, 300])
def test_budgets_are_kept(random_net, budget):
    with pytest.raises(BeyondBudget, match="vertices"):
        subdivide(random_net((2, 20, 20, 1)), box(-1, 1, dimension=2), budget)


def test_a_budget_that_suffices_changes_nothing(random_net):
    network = random_net((2, 12, 6, 1))
    free = enumerate_regions(network, (-1, 1))
    assert len(enumerate_regions(network, (-1, 1), budget=len(free.vertices))) == len(free)
