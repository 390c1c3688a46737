"""The tolerance covers rounding of the weights, is the same in every domain and small beside the function itself."""

from dataclasses import replace

import pytest
import torch

from tutelage.functions.comparing.equivalence import same_function
from tutelage.functions.comparing.tolerance import rounding_at, tolerance_for, variation
from tutelage.networks import Network, outputs


def one(*numbers, dtype=torch.float64):
    return torch.tensor([numbers], dtype=dtype)


def test_rounding_at_a_point_covers_rounded_weights(random_net):
    a = random_net((3, 5, 4, 2), 1)
    x = 2 * torch.rand(50, 3, dtype=torch.float64) - 1
    noise = torch.Generator().manual_seed(0)
    eps = torch.finfo(torch.float64).eps
    for p in x:
        other = a.map(lambda w: w * (1 + 4 * eps * (2 * torch.rand(w.shape, generator=noise, dtype=w.dtype) - 1)))
        moved = (outputs(a, p[None]) - outputs(other, p[None]))[0, 0].abs()
        assert (moved <= rounding_at(a, p)).all()


def test_at_a_kink_rounding_explains_either_side():
    w = torch.ones(1, 1, 1, dtype=torch.float64)
    a, b = (
        Network((w, w), (torch.full((1, 1), c, dtype=torch.float64), 0 * w[0])) for c in (-0.3, -0.3 * (1 + 2**-52))
    )
    assert same_function(a, b).same
    assert rounding_at(a, torch.tensor([0.3], dtype=torch.float64)).item() > 1e-16


def test_a_shared_bias_and_a_unit_far_away_are_no_variation():
    """x + relu(1e9 (x - 1000)) - 1e9 varies by 2 on the unit cube, whatever it does beyond 1000."""
    net = Network((one([1.0, -1.0, 1e9]), one([1.0], [-1.0], [1.0])), (one(0.0, 0.0, -1e12), one(-1e9)))
    spread, size = variation(net)
    assert 1.5 < spread.item() < 2.0
    assert 0.9e5 < size.item() < 1.1e9


def test_what_float64_cannot_tell_is_no_variation():
    """1e30 relu(x) - 1e30 relu(x) + x, in an order that float64 rounds: noise of 1e14."""
    net = Network((one([1.0, 1.0, 1.0]), one([1e30], [1.0], [-1e30])), (one(0.0, 5.0, 0.0), one(0.0)))
    assert variation(net)[0].item() < 10


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_it_lies_between_floor_and_ceiling_and_is_a_share_of_the_variation(random_net, dtype):
    a, b = (random_net((2, 4, 2), seed, dtype=dtype) for seed in (1, 2))
    found = tolerance_for(a, b)
    vary = sum(variation(n)[0] for n in (a, b))
    assert (found.ceiling <= 1.1e-3 * vary).all()
    if dtype != torch.float32:  # half precision is exact in float64
        assert (found.ceiling <= 1e-8 * vary).all()
    for x in 5 * torch.randn(20, 2, dtype=torch.float64):
        at = found.at(x, False)
        assert ((found.floor <= at) & (at <= found.ceiling)).all()
        assert torch.allclose(found.at(x, True), at * max(1.0, x.abs().max().item()))
    assert tolerance_for(a, b, 0.5).at(x, True).tolist() == [0.5, 0.5]


def test_outputs_have_tolerances_of_their_own():
    """The second output is a millionth of the first: a change of it by a tenth is found."""
    a = Network((one([1.0, -1.0]), one([1e6, 1.0], [1e6, 1.0])))
    b = replace(a, weights=(a.weights[0], one([1e6, 1.1], [1e6, 1.0])))
    found = same_function(a.to(dtype=torch.float32), b.to(dtype=torch.float32))
    assert found.verdict == "different"
    assert found.difference == pytest.approx(0.1, rel=1e-3)
