"""Students with other weights are proved to be the same function, but for near duplicates."""

from itertools import pairwise

import pytest
import torch

from tutelage import TutelageError, same_function
from tutelage.networks import Network, outputs
from tutelage.planted import rewriting
from tutelage.planted.cases import CASES, SAME, applies, in_case


def network(activation="relu", hidden=(5, 4)):
    draw = torch.Generator().manual_seed(0)
    widths = (3, *hidden, 2)
    weights = [torch.randn(2, a, b, generator=draw, dtype=torch.float64) for a, b in pairwise(widths)]
    biases = [torch.randn(2, b, generator=draw, dtype=torch.float64) for b in widths[1:]]
    return Network(tuple(weights), tuple(biases), activation)


@pytest.mark.parametrize("case", SAME)
@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "tanh", "erf"])
def test_outputs_stay(case, activation):
    if not applies(case, activation):
        pytest.skip("there is no such case for this activation")
    before, points = network(activation), torch.randn(50, 3, dtype=torch.float64)
    after = in_case(case, before, before, (3, 4))
    assert torch.allclose(outputs(before, points), outputs(after, points), atol=1e-10)
    assert not all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(before.weights, after.weights, strict=True))


@pytest.mark.parametrize("case", SAME)
def test_they_are_proved_the_same(case):
    before = network(hidden=(5,))
    after = in_case(case, before, before, (3, 4))
    assert same_function(before[1], after[1]).same is True


def test_duplicates_are_near_but_not_the_same():
    before = network(hidden=(5,))
    after = in_case("duplicates", before, before, (3, 4))
    assert after.widths == (3, 10, 2)
    assert same_function(before[0], after[0]).same is False
    points = torch.randn(500, 3, dtype=torch.float64)
    gap = (outputs(before, points) - outputs(after, points)).square().mean().sqrt()
    assert gap < 0.1 * outputs(before, points).std()


def test_members_are_rewritten_by_their_own_seed():
    before = network()
    for case in CASES[2:]:
        both, second = in_case(case, before, before, (3, 4)), in_case(case, before[1], before[1], (4,))
        # decoys and dead units are as large as the other weights of their member
        assert all(torch.allclose(a[1], b[0]) for a, b in zip(both.weights, second.weights, strict=True))


def test_changes_that_an_activation_does_not_allow():
    for change in (rewriting.scaled, rewriting.superposed, rewriting.with_dead_units):
        with pytest.raises(TutelageError, match="activation 'gelu'"):
            change(network("gelu"), (0, 1))


def test_dead_units_are_dead_and_decoys_are_not():
    from tutelage.networks import forward

    before, points = network(hidden=(5,)), torch.randn(500, 3, dtype=torch.float64)
    dead = forward(rewriting.with_dead_units(before, (0, 1)), points).features[1]
    decoys = forward(rewriting.with_decoys(before, (0, 1)), points).features[1]
    assert (dead[..., 5:] == 0).all()
    assert (decoys[..., 5:].std(1) > 0).all()
