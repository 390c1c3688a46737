"""Conditions are read, joined and refused as they should be."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions.identifying.conditions import (
    EXACT,
    Requirement,
    all_of,
    below,
    one_relu_network,
    tolerance,
    undecided,
)
from tutelage.functions.identifying.generality import generality
from tutelage.networks import Network, outputs


def test_one_failure_decides_and_one_doubt_leaves_open():
    yes, no, open_ = (Requirement("c", 1.0, "> 0", holds) for holds in (True, False, None))
    assert all_of([yes, yes]) is True
    assert all_of([yes, open_, no]) is False
    assert all_of([yes, open_]) is None
    assert str(no).startswith("no  c: 1 (needed > 0)")
    assert undecided("c", "why").holds is None


def test_the_cut_network_gives_the_pre_activations(random_net, pre_activations):
    network = random_net((3, 4, 2, 1))
    points = torch.rand(20, 3, dtype=torch.float64)
    assert torch.allclose(outputs(below(network, 2), points)[0], pre_activations(network, points)[:, 4:])


def test_the_tolerance_is_that_of_the_stored_precision(random_net):
    assert tolerance(random_net((2, 2, 1))) == EXACT
    assert tolerance(random_net((2, 2, 1), dtype=torch.float32)) > 1e-6


@pytest.mark.parametrize(("options", "message"), [({"members": 2}, "stack of 2"), ({"activation": "leaky"}, "leaky")])
def test_what_the_conditions_do_not_speak_of_is_refused(random_net, options, message):
    with pytest.raises(TutelageError, match=message):
        one_relu_network(random_net((2, 2, 1), **options))


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_units_may_change_sign_together_where_their_weights_cancel_leaky_ones_too(slope):
    """rho(u) = rho(-u) + (1 + c) u: with sum_i a_i w_i = 0 all signs change and the function does not.

    Section 2.5 of the thesis has no proof that the scales of leaky units are positive. Here they are negative; a
    product of the weights has not full rank, which G2 rules out for relu.
    """
    w, b = torch.tensor([[[1.0, -2.0], [0.5, -1.0]]]).double(), torch.tensor([[0.3, 0.2]]).double()
    a, top = torch.tensor([[[2.0], [1.0]]]).double(), torch.tensor([[0.7]]).double()
    assert (w @ a).abs().max() == 0
    kind = {"activation": "leaky", "slope": slope} if slope else {}
    network = Network((w, a), (b, top), **kind)
    turned = Network((-w, a), (-b, top + (1 + slope) * (b.unsqueeze(1) @ a)[:, 0]), **kind)
    x = torch.rand(1, 500, 2, dtype=torch.float64) * 4 - 2
    difference = outputs(network, x) - outputs(turned, x)
    assert difference.abs().max() < 1e-14
    if not slope:
        failed = [c.name for c in generality(network, (-2.0, 2.0)) if c.holds is False]
        assert any("G2" in name for name in failed)
