"""A pruned network is the masked one, exactly."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.networks.channel_pruning import masked, pruned, strongest, unit_strengths
from tutelage.networks.layered import Architecture, Conv, Dense, Layered


def model_of(norm, pool, seed):
    plan = Architecture((2, 8, 8), (Conv(6), Conv(5, stride=2), Dense(7)), 3, norm=norm, pool=pool)
    model = Layered(plan, [seed, seed + 1]).double()
    with torch.no_grad():
        generator = torch.Generator().manual_seed(seed)
        for b in model.biases:
            b.copy_(torch.randn(b.shape, generator=generator))
    model(torch.randn(9, 2, 8, 8, dtype=torch.float64, generator=generator))
    return model.eval()


@given(
    norm=st.sampled_from(["off", "before", "after"]),
    pool=st.booleans(),
    seed=st.integers(0, 50),
    widths=st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 7)),
)
def test_the_pruned_network_is_the_masked_one(norm, pool, seed, widths):
    model = model_of(norm, pool, seed)
    x = torch.randn(5, 2, 8, 8, dtype=torch.float64)
    kept = strongest(unit_strengths(model, [x]), widths)
    small = pruned(model, kept)
    assert small.architecture.widths() == widths
    torch.testing.assert_close(small(x), masked(model, kept)(x), rtol=1e-12, atol=1e-12)


def test_strength_is_deviation_times_outgoing_length():
    model = model_of("off", True, 0)
    x = torch.randn(40, 2, 8, 8, dtype=torch.float64)
    strengths = unit_strengths(model, x.split(16))
    layers, _ = model.features(x)
    first = layers[0].permute(0, 2, 1, 3, 4).flatten(2).std(2, correction=0)
    torch.testing.assert_close(
        strengths[0].double(), first * model.weights[1].pow(2).sum((1, 3, 4)).sqrt(), rtol=1e-5, atol=1e-6
    )
    top = layers[2].std(1, correction=0) * model.weights[3].norm(dim=2)
    torch.testing.assert_close(strengths[2].double(), top, rtol=1e-5, atol=1e-6)


def test_the_strongest_are_kept_in_their_order():
    (kept,) = strongest([torch.tensor([[0.1, 3.0, 2.0, 5.0], [4.0, 0.0, 1.0, 0.5]])], [2])
    assert kept.tolist() == [[1, 3], [0, 2]]
    with pytest.raises(TutelageError, match="layer 1 has 3 units, and 4"):
        strongest([torch.ones(1, 3)], [4])
    with pytest.raises(TutelageError, match="at least one batch"):
        unit_strengths(model_of("off", True, 0), [])
