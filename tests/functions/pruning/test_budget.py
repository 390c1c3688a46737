"""Units are removed within a budget: the proven change is below it, and the network is smaller than without one."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions import difference_bound, prune
from tutelage.networks import Network, outputs


def network_with_weak_units(draw, widths, weak, dtype=torch.float64):
    """Every second unit of each hidden layer has weights that are so many times smaller."""
    weights, biases = [], []
    for a, b in pairwise(widths):
        w = torch.randn(1, a, b, generator=draw, dtype=torch.float64) / a**0.5
        bias = 0.3 * torch.randn(1, b, generator=draw, dtype=torch.float64)
        if b != widths[-1]:
            w[:, :, ::2] *= weak
        weights.append(w)
        biases.append(bias)
    return Network(tuple(weights), tuple(biases)).to(dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
@given(seed=st.integers(0, 10_000), depth=st.integers(2, 3), within=st.floats(0.01, 1.0))
def test_the_proven_change_stays_within_the_budget(dtype, seed, depth, within):
    draw = torch.Generator().manual_seed(seed)
    network = network_with_weak_units(draw, (4, *[6] * (depth - 1), 2), 1e-3, dtype)
    found = prune(network, box=(-1, 1), within=within)
    assert found.proof.bound.max() <= within
    points = 2 * torch.rand(1, 1000, 4, generator=draw, dtype=torch.float64) - 1
    before, after = (outputs(n.to(dtype=torch.float64), points) for n in (network, found.network))
    assert (before - after).abs().max() <= found.proof.bound.max() + 1e-12
    assert sum(found.network.widths) <= sum(prune(network, box=(-1, 1)).network.widths)


def test_weak_units_go_and_strong_ones_stay():
    draw = torch.Generator().manual_seed(0)
    network = network_with_weak_units(draw, (4, 8, 8, 3), 1e-5)
    lossless, found = prune(network, box=(-1, 1)), prune(network, box=(-1, 1), within=1e-2)
    assert sum(found.network.widths[1:-1]) <= 8 < sum(lossless.network.widths[1:-1])
    assert not found.proof.exact
    assert found.proof.domain == "the box"
    assert any("within the budget" in s.reason for s in found.steps)
    assert difference_bound(network, found.network, (-1, 1), epsilon=1e-2).verdict == "holds"


def test_a_budget_needs_a_box():
    network = network_with_weak_units(torch.Generator().manual_seed(1), (2, 3, 1), 1.0)
    with pytest.raises(TutelageError, match=r"within=0.1 needs a box"):
        prune(network, within=0.1)
    with pytest.raises(TutelageError, match="within must be a finite number of at least 0, got -1"):
        prune(network, box=(0, 1), within=-1)
    with pytest.raises(TutelageError, match=r"box='points' must be \(low, high\), or 'points' together with points"):
        prune(network, box="points")


def test_the_box_of_the_points_and_what_is_said_of_samples():
    draw = torch.Generator().manual_seed(2)
    network = network_with_weak_units(draw, (3, 8, 2), 1.0)
    points = 0.1 * torch.rand(50, 3, generator=draw, dtype=torch.float64)
    found = prune(network, points, box="points")
    same = prune(network, points, box=(points.amin(0), points.amax(0)))
    assert found.network.widths == same.network.widths
    assert found.proof.boxed
    assert str(found.samples) == "agrees on the top class on all 50 samples"
    assert found.samples.largest.max() <= found.proof.bound.max()
    assert prune(network, box=(0, 1)).samples is None
