"""Ends of intervals hold every value in between, rounding included, and lines hold every activation."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tutelage as tt
from tutelage.functions.bounds.ranges import affine
from tutelage.functions.checks import slopes
from tutelage.functions.domain import Box, box_for
from tutelage.functions.relaxations import activated, lines
from tutelage.networks import Network
from tutelage.networks.activations import slope_of
from tutelage.networks.forward import activate


def network(activation, inputs=3):
    return Network(
        (torch.ones(1, inputs, 1, dtype=torch.float64),), activation=activation, slope=slope_of(activation, 0.2)
    )


@given(seed=st.integers(0, 10_000))
def test_affine_ends_are_attained_and_never_passed(seed):
    draw = torch.Generator().manual_seed(seed)
    low = torch.randn(2, 4, generator=draw, dtype=torch.float64)
    high = low + torch.rand(2, 4, generator=draw, dtype=torch.float64)
    w, b = (torch.randn(*shape, generator=draw, dtype=torch.float64) for shape in ((2, 4, 5), (2, 5)))
    ends = affine((low, high), w, b)
    corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 4)
    values = torch.bmm(low.unsqueeze(1) + corners * (high - low).unsqueeze(1), w) + b.unsqueeze(1)
    assert (ends[0] <= values.amin(1)).all()
    assert (ends[1] >= values.amax(1)).all()
    assert torch.allclose(ends[0], values.amin(1), atol=1e-13)
    assert torch.allclose(ends[1], values.amax(1), atol=1e-13)


def test_without_ends_the_signs_of_weights_tell():
    f = (torch.zeros(1, 2, dtype=torch.float64), torch.full((1, 2), torch.inf, dtype=torch.float64))
    w = torch.tensor([[[1.0, -1.0, 1.0, 0.0], [2.0, -2.0, -1.0, 0.0]]], dtype=torch.float64)
    low, high = affine(f, w, torch.tensor([[0.0, 0.0, 0.0, 1.0]], dtype=torch.float64))
    assert low[0, :3].tolist() == [0.0, -torch.inf, -torch.inf]
    assert high[0, :3].tolist() == [torch.inf, 0.0, torch.inf]
    assert torch.allclose(torch.stack([low[0, 3], high[0, 3]]), torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
@given(low=st.floats(-5, 5), width=st.floats(0, 5))
def test_lines_and_ends_hold_the_activation(activation, low, width):
    net = network(activation)
    u = (torch.tensor([low], dtype=torch.float64), torch.tensor([low + width], dtype=torch.float64))
    x = torch.linspace(low, low + width, 101, dtype=torch.float64)
    f = activate(net, x.clone())
    ends = activated(net, u)
    assert (ends[0] <= f + 1e-12).all()
    assert (ends[1] >= f - 1e-12).all()
    under, chord, offset = lines(net, u)
    assert (under * x <= f + 1e-14).all()
    assert (chord * x + offset >= f - 1e-14).all()
    edge = activate(net, torch.stack(u).clone())
    if width > 0.1:
        assert torch.allclose(chord * torch.stack(u) + offset, edge, atol=1e-12)


def test_infinite_ends_stay_numbers():
    u = (torch.tensor([-torch.inf]), torch.tensor([torch.inf]))
    for activation in ("relu", "leaky", "abs", "linear"):
        assert not any(end.isnan().any() for end in activated(network(activation), u))
    flat = Network((torch.ones(1, 1, 1),), activation="leaky", slope=0.0)
    assert not any(end.isnan().any() for end in activated(flat, u))
    assert slopes(flat) == (0.0, 1.0)


def test_a_box_is_read_from_numbers_and_arrays():
    net = network("relu")
    box = box_for(net, (torch.tensor([0.0, 1.0, 2.0]), 3))
    assert box.low.tolist() == [[0.0, 1.0, 2.0]]
    assert box.bounded
    assert not box_for(net, None).bounded
    assert box_for(net, box) is box
    x = box.sample(100)
    assert ((x >= box.low) & (x <= box.high)).all()
    assert torch.equal(x[:, :10], Box(box.low, box.high).sample(10))
    with pytest.raises(tt.TutelageError, match="a low above its high"):
        box_for(net, (1, 0))
