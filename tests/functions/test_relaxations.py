"""Ends of intervals hold every value in between, rounding included, and lines hold every activation."""

import random
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tutelage as tt
from tutelage.functions.bounds.ranges import affine
from tutelage.functions.checks import slopes
from tutelage.functions.domain import Domain, box_for
from tutelage.functions.relaxations import (
    activated,
    difference_image,
    difference_line,
    exact_line,
    image,
    line,
    lines,
    mean_slope,
)
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
    chord, offset, under, _ = lines(*u, slopes(net)[0])
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
    assert torch.equal(x[:, :10], Domain(box.low, box.high).sample(10))
    with pytest.raises(tt.TutelageError, match="a low above its high"):
        box_for(net, (1, 0))


def slope_below(seed):
    return (0.0, 0.2, -1.0, 1.0, -0.5)[seed % 5]


def exact_activation(u, left):
    return u if u >= 0 else left * u


def whole(low, high, seed):
    """Fractions of an interval, its ends and its kink."""
    draw = random.Random(seed)
    inner = [low + (high - low) * Fraction(draw.randrange(1001), 1000) for _ in range(20)]
    return [low, high, *inner] + ([Fraction(0)] if low <= 0 <= high else [])


@given(seed=st.integers(0, 10_000), low=st.floats(-1e3, 1e3), width=st.floats(0, 1e3))
def test_every_form_holds_the_definition_in_fractions(seed, low, width):
    left, high = slope_below(seed), low + width
    of, ends = Fraction(left), (Fraction(low), Fraction(high))
    points = whole(*ends, seed)
    values = [exact_activation(u, of) for u in points]
    slope, offset = exact_line(*ends, of)
    assert all(slope * u <= v <= slope * u + offset for u, v in zip(points, values, strict=True))
    written = [tuple(Fraction(float(v)) for v in line(low, high, left))]
    for make in (np.array, lambda numbers: torch.tensor(numbers, dtype=torch.float64)):
        array = make([low]), make([high])
        least, most = (Fraction(end.item()) for end in image(*array, left))
        assert all(least <= v <= most for v in values)
        above, room, below, bends = (part.item() for part in lines(*array, left))
        assert bends == (low < 0 < high and left != 1.0)
        assert all(Fraction(below) * u <= v for u, v in zip(points, values, strict=True))
        written.append((Fraction(above), Fraction(room)))
    for s, o in written:
        assert all(s * u <= v <= s * u + o for u, v in zip(points, values, strict=True))
        assert float(o) <= float(offset) * (1 + 1e-9) + 1e-9  # and no wider than the definition


@given(seed=st.integers(0, 10_000), f=st.tuples(*[st.floats(-50, 50)] * 2), d=st.tuples(*[st.floats(-5, 5)] * 2))
def test_what_becomes_of_a_difference_holds_in_fractions(seed, f, d):
    left_f, left_g = slope_below(seed), slope_below(seed // 5)
    (low_f, high_f), (low_d, high_d) = sorted(f), sorted(d)
    arrays = [np.array([end]) for end in (low_f, high_f, low_d, high_d)]
    low, high = (Fraction(end.item()) for end in difference_image(arrays[:2], arrays[2:], left_f, left_g))
    middle, noise = (Fraction(v) for v in mean_slope(max(high_d, -low_d), left_f))
    above, below = ([Fraction(v.item()) for v in difference_line(*arrays[2:], left_f, side)] for side in (True, False))
    for u in whole(Fraction(low_f), Fraction(high_f), seed):
        for e in whole(Fraction(low_d), Fraction(high_d), seed + 1):
            gap = exact_activation(u, Fraction(left_f)) - exact_activation(u - e, Fraction(left_g))
            assert low <= gap <= high
            if left_f == left_g:
                assert middle * e - noise <= gap <= middle * e + noise
                assert below[0] * e + below[1] <= gap <= above[0] * e + above[1]
