"""Rounding of the weights does no more to the outputs than is said, at a point and anywhere on a box."""

import torch

from tutelage.geometry.comparing.equivalence import same_function
from tutelage.geometry.comparing.tolerance import rounding_at, rounding_tolerance
from tutelage.geometry.pruning.intervals import box_for
from tutelage.networks import Network, outputs


def test_rounding_at_a_point_is_no_more_than_anywhere(random_net):
    a = random_net((3, 5, 4, 2), 1)
    most = rounding_tolerance(a, box_for(a, (-1, 1)))
    x = 2 * torch.rand(50, 3, dtype=torch.float64) - 1
    at = [rounding_at(a, p) for p in x]
    assert 0 < max(at) <= most
    noise = torch.Generator().manual_seed(0)
    eps = torch.finfo(torch.float64).eps
    for p, explained_there in zip(x, at, strict=True):
        other = a.map(lambda w: w * (1 + 4 * eps * (2 * torch.rand(w.shape, generator=noise, dtype=w.dtype) - 1)))
        assert (outputs(a, p[None]) - outputs(other, p[None])).abs().max() <= explained_there


def test_at_a_kink_rounding_explains_either_side():
    w = torch.ones(1, 1, 1, dtype=torch.float64)
    a, b = (
        Network((w, w), (torch.full((1, 1), c, dtype=torch.float64), 0 * w[0])) for c in (-0.3, -0.3 * (1 + 2**-52))
    )
    assert same_function(a, b).same
    assert rounding_at(a, torch.tensor([0.3], dtype=torch.float64)) > 1e-16
