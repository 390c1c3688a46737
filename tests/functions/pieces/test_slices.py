"""A slice is the network on the slice."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.functions.pieces.slices import slice_network
from tutelage.networks import outputs


@pytest.mark.parametrize("bias", [0.0, 0.3])
@pytest.mark.parametrize("axes", [1, 2, 5])
def test_a_slice_of_a_stack_is_the_stack_on_the_slice(random_net, bias, axes):
    network = random_net((7, 6, 5, 2), members=3, bias=bias)
    draw = torch.Generator().manual_seed(axes)
    origin = torch.randn(3, 7, generator=draw, dtype=torch.float64)
    directions = torch.randn(axes, 7, generator=draw, dtype=torch.float64)
    t = torch.randn(3, 11, axes, generator=draw, dtype=torch.float64)
    x = origin[:, None] + t @ directions
    cut = slice_network(network, origin, directions)
    assert torch.allclose(outputs(cut, t), outputs(network, x), atol=1e-12)


def test_patterns_of_a_slice_are_patterns_of_the_network(random_net):
    network = random_net((3, 6, 4, 1))
    plane = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, -0.5]]) / 2
    cut = enumerate_regions(slice_network(network, torch.zeros(3), plane), (-1, 1)).signs.tolist()
    assert {tuple(s) for s in cut} <= {tuple(s) for s in enumerate_regions(network, (-1, 1)).signs.tolist()}


@pytest.mark.parametrize(
    ("origin", "directions", "message"),
    [
        (torch.zeros(2), torch.ones(1, 3), r"shapes \[3\] and \[k, 3\]"),
        (torch.zeros(3), torch.ones(1, 2), r"shapes \[3\] and \[k, 3\]"),
        (torch.zeros(3), torch.ones(2, 3), "independent"),
        (torch.full((3,), torch.nan), torch.ones(1, 3), "finite"),
    ],
)
def test_what_is_no_slice_is_refused(random_net, origin, directions, message):
    with pytest.raises(TutelageError, match=message):
        slice_network(random_net((3, 4, 1)), origin, directions)
