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
from tutelage.networks import outputs


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
