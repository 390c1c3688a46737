"""Every condition of the theorem, violated by itself, is named with a witness."""

from dataclasses import replace

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions.domain import box
from tutelage.functions.identifying.conditions import below
from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.identifiability import SPAN, _cells, folds_name, identifiability, layer_folds
from tutelage.functions.identifying.transparency import transparency
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import outputs


def test_the_order_of_units_and_their_scale_do_not_matter():
    network = construct((3, 3, 2, 1), (-1, 1), seed=2)
    w, b, v = network.weights[0], network.biases[0], network.weights[1]
    order, scale = torch.tensor([2, 0, 1]), torch.tensor([0.5, 3.0, 10.0], dtype=torch.float64)
    other = replace(network, weights=(w[:, :, order] * scale, v[:, order] / scale[:, None], network.weights[2]),
                    biases=(b[:, order] * scale, *network.biases[1:]))  # fmt: skip
    first, second = (identifiability(n, (-1, 1)) for n in (network, other))
    assert first.holds
    assert second.holds
    assert [f.levels for f in first.layers] == [f.levels for f in second.layers]
    assert [f.edges for f in first.layers] == [f.edges for f in second.layers]


@pytest.mark.parametrize(
    ("widths", "unmet"),
    [((2, 3, 1), "layers that are wider"), ((3, 2, 2), "outputs"), ((3, 1, 1), "the smallest width")],
)
def test_widths_outside_the_theorem_are_named(random_net, widths, unmet):
    found = identifiability(random_net(widths), (-1, 1))
    assert found.holds is False
    assert any(name.startswith(unmet) for name in found.unmet)
    assert found[unmet].holds is False


def test_a_layer_that_closes_is_named_with_a_point():
    network = construct((2, 2, 2, 1), (-1, 1), seed=1)
    network.biases[1][0] -= 1.2 * outputs(below(network, 2), torch.zeros(1, 2, dtype=torch.float64))[0, 0].max() + 1
    found = identifiability(network, (-1, 1))
    assert "transparent" in found.unmet
    assert found["transparent"].data["layer"] == 2
    assert identifiability(network, (-1, 1), stop=True)["folds of layer 1"].holds is None


def test_folds_that_nothing_bends_at_are_named():
    """General and transparent, but all units of layer 1 are active throughout: any mixture of them would do."""
    network = construct((2, 2, 2, 1), (-1, 1), seed=0)
    shift = torch.full((1, 2), 100.0, dtype=torch.float64)
    w2, b2 = network.weights[1], network.biases[1]
    moved = replace(network, biases=(network.biases[0] + shift, b2 - (shift @ w2[0]), network.biases[2]))
    found = identifiability(moved, (-1, 1))
    assert found["transparent"].holds
    assert [found[name].holds for name in ("G1", "G2", "G3")] == [True, True, True]
    assert found.unmet == (folds_name(1),)
    assert found[folds_name(1)].data["missing"] == [0, 1]
    mix = torch.eye(2, dtype=torch.float64) + 0.1
    other = replace(moved, weights=(moved.weights[0] @ mix, torch.linalg.inv(mix) @ w2, moved.weights[2]),
                    biases=(moved.biases[0] @ mix, *moved.biases[1:]))  # fmt: skip
    points = 2 * torch.rand(100, 2, dtype=torch.float64) - 1
    assert torch.allclose(outputs(moved, points), outputs(other, points), atol=1e-9)


def test_a_copied_unit_is_named():
    network = construct((3, 3, 1), (-1, 1), seed=0)
    network.weights[0][0, :, 2], network.biases[0][0, 2] = network.weights[0][0, :, 1], network.biases[0][0, 1]
    found = identifiability(network, (-1, 1))
    assert {"no two affine pieces are multiples of one another (G3)", folds_name(1)} <= set(found.unmet)


def test_a_last_layer_whose_inputs_are_flat_is_named(random_net):
    """Two units that are never active together: the output's weights are still seen, their space is not filled."""
    network = random_net((2, 2, 1), seed=0)
    network.weights[0][0] = torch.tensor([[1.0, -1.0], [0.1, 0.2]])
    network.biases[0][0] = torch.tensor([-0.5, -0.5])
    found = identifiability(network, (-1, 1))
    assert found[SPAN].holds is False


def test_truncated_networks_inherit_transparency():
    """Phuong 2021, Lemma A.14."""
    network = construct((3, 3, 2, 1), (-1, 1), seed=3)
    domain = box(-1, 1, dimension=3)
    cells, _ = _cells(network, domain, 2, 10_000)
    for rest, cell in cells:
        assert transparency(rest, cell).holds
        inner = enumerate_regions(rest, cell).interior
        assert torch.allclose(outputs(rest, inner), outputs(network, inner))


def test_each_cell_of_a_shrinking_network_adds_to_what_is_found():
    network = construct((3, 3, 2, 1), (-1, 1), seed=3)
    folds = layer_folds(network, box(-1, 1, dimension=3), 2)
    assert folds.found == (0, 1)
    assert folds.pieces == sum(folds.levels)


def test_too_many_regions_leave_the_question_open(random_net):
    found = identifiability(construct((3, 3, 3, 1), (-1, 1)), (-1, 1), budget=8)
    assert found.holds is None
    with pytest.raises(KeyError):
        found["nothing"]
    with pytest.raises(TutelageError, match="stack of 2"):
        identifiability(random_net((2, 2, 1), members=2), (-1, 1))
