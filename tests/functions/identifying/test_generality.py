"""Random networks are general, and every way of not being so is named with its units."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions.identifying.generality import AXES, _nearest, full_rank, generality, no_multiples
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import Network


def holds(conditions):
    return [condition.holds for condition in conditions]


@settings(max_examples=25)
@given(st.sampled_from([(2, 3, 1), (3, 2, 2, 1), (2, 3, 2, 2, 1), (2, 4, 1), (3, 3, 2)]), st.integers(0, 10**6))
def test_random_networks_are_general(random_net, widths, seed):
    """Phuong 2021, Lemmas A.10 to A.12; the regions that occur are some of the formal patterns, so both modes agree."""
    network = random_net(widths, seed)
    formal, realised = (generality(network, (-1, 1), mode) for mode in ("formal", "realised"))
    assert holds(formal) == holds(realised) == [True, True, True]
    assert formal[1].value <= realised[1].value * (1 + 1e-9)
    assert formal[2].value <= realised[2].value * (1 + 1e-9)


def test_a_turned_sum_lacks_rank(random_net):
    """Fan-outs under which the sum of three units' weights vanishes let them be turned round (Phuong 2021, section
    2.5).
    """
    network = random_net((2, 4, 1), seed=3)
    network.weights[1][0, :3, 0] = torch.linalg.svd(network.weights[0][0, :, :3])[2][-1]
    _, second, _ = generality(network, (-1, 1))
    assert second.holds is False
    assert second.data == {"k": 1, "l": 2, "pattern": [[1, 1, 1, 0], [1]]}


def test_weights_of_low_rank_are_named_with_their_layer(random_net):
    network = random_net((3, 3, 3, 1), seed=1)
    network.weights[1][0, :, 2] = network.weights[1][0, :, 0] - 2 * network.weights[1][0, :, 1]
    _, second, _ = generality(network, (-1, 1))
    assert second.holds is False
    assert second.value < 1e-12


@pytest.mark.parametrize("factor", [2.0, -0.5])
def test_a_copy_and_a_mirror_are_multiples(random_net, factor):
    network = random_net((2, 4, 1), seed=2)
    network.weights[0][0, :, 3] = factor * network.weights[0][0, :, 1]
    network.biases[0][0, 3] = factor * network.biases[0][0, 1]
    third = generality(network, (-1, 1))[2]
    assert third.holds is False
    assert sorted(third.data["units"]) == [(1, 1), (1, 3)]


def test_a_unit_without_weights_vanishes(random_net):
    network = random_net((2, 3, 1), seed=2)
    network.weights[0][0, :, 1], network.biases[0][0, 1] = 0, 0
    first, second, third = generality(network, (-1, 1))
    assert holds([first, second, third]) == [False, False, False]
    assert third.data["units"] == [(1, 1)]
    assert "unit 1 of layer 1" in first.witness


def test_networks_without_biases_are_not_general(random_net):
    """Where one unit alone is active, all units above are multiples of it."""
    assert generality(random_net((2, 3, 2, 1), bias=0), (-1, 1))[2].holds is False


def test_multiples_that_do_not_occur_count_in_the_formal_mode_alone():
    """Both units are active on the whole box, so that the pattern in which one is alone does not occur."""
    w = torch.tensor([[[1.0, 0.2], [0.3, 1.0]]], dtype=torch.float64)
    network = Network((w, torch.tensor([[[1.0], [0.7]]], dtype=torch.float64)), (torch.full((1, 2), 3.0).double(),
                      torch.zeros(1, 1).double()))  # fmt: skip
    assert generality(network, (-1, 1), "formal")[2].holds is False
    assert generality(network, (-1, 1), "realised")[2].holds is True


def test_beyond_the_budget_nothing_is_proved_but_much_is_still_refuted(random_net):
    network = random_net((3, 5, 5, 1))
    second, third = full_rank(network, 1e-10, 64), no_multiples(network, 1e-10, 64)
    assert second.holds is None
    assert third.holds is None
    assert "sample" in second.witness
    network.weights[0][0, :, 3], network.biases[0][0, 3] = network.weights[0][0, :, 1], network.biases[0][0, 1]
    assert no_multiples(network, 1e-10, 64).holds is False
    many = generality(random_net((4, 12, 12, 1)), (-1, 1), budget=50)[0]
    assert many.holds is None


@settings(max_examples=20)
@given(st.integers(2, 30), st.integers(2, 14), st.integers(0, 10**6), st.sampled_from([0.0, 1e-12, 1e-3]))
def test_the_nearest_pair_is_that_of_all_pairs(count, dimension, seed, apart):
    """Two vectors are planted close together, or opposite; in many dimensions the value is a lower bound."""
    draw = torch.Generator().manual_seed(seed)
    unit = torch.nn.functional.normalize(torch.randn(count, dimension, generator=draw, dtype=torch.float64))
    unit[-1] = -torch.nn.functional.normalize(unit[0] + apart * unit[-1], dim=0)
    far = torch.minimum(*(torch.cdist(unit, s * unit, compute_mode="donot_use_mm_for_euclid_dist") for s in (1, -1)))
    far.fill_diagonal_(torch.inf)
    value, i, j = _nearest(unit, 1e-10)
    if dimension <= AXES or apart < 1e-10:
        assert value == pytest.approx(far.min().item(), rel=1e-9, abs=1e-15)
        assert far[i, j].item() == pytest.approx(value, rel=1e-9, abs=1e-15)
    assert value <= far.min().item() * (1 + 1e-9) + 1e-15


def test_wide_networks_are_sampled_within_memory(random_net):
    first, second, third = generality(random_net((100, 60, 30, 1)), (-1, 1), patterns=1 << 10)
    assert holds([first, second, third]) == [None, None, None]
    assert "too many" in first.witness or "corners" in first.witness


def test_what_float32_cannot_tell_is_left_open(random_net):
    network = random_net((2, 2, 1), seed=5, dtype=torch.float32)
    network.weights[0][0, :, 1] = network.weights[0][0, :, 0] * torch.tensor([1.0, 1 + 1e-6])
    assert generality(network, (-1, 1))[1].holds is None


def test_the_rank_agrees_with_numerical_ranks(random_net):
    network = random_net((3, 2, 2, 1), seed=4)
    regions = enumerate_regions(network, (-1, 1))
    for condition in (full_rank(network, 1e-10, 1024), full_rank(network, 1e-10, 1024, regions)):
        pattern = [torch.tensor(part).double() for part in condition.data["pattern"]]
        product = network.weights[condition.data["k"] - 1][0] * pattern[0]
        for w, part in zip(network.weights[condition.data["k"] :], pattern[1:], strict=False):
            product = (product @ w[0]) * part
        expected = min(len(product), *(int(part.sum()) for part in pattern))
        assert torch.linalg.matrix_rank(product) == expected


def test_an_unknown_mode_is_refused(random_net):
    with pytest.raises(TutelageError, match="unknown mode"):
        generality(random_net((2, 2, 1)), (-1, 1), "loose")
