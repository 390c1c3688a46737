"""Ends of intervals hold every value in between, rounding included, and lines hold every activation."""

import random
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.functions.exact_forms import exact_line

import tutelage as tt
from tutelage.functions.bounds.ranges import affine
from tutelage.functions.checks import slopes
from tutelage.functions.domain import Domain, box_for
from tutelage.functions.relaxations import (
    activated,
    apart,
    difference_image,
    difference_line,
    image,
    line,
    lines,
    mean_slope,
)
from tutelage.functions.rounding import EPS, TINY, UNDERFLOW
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


SLOPES = (0.0, 0.1, -0.3, -1.0, 1.0)
EPSILON, LEAST, SMALLEST = Fraction(EPS), Fraction(UNDERFLOW), Fraction(TINY)
NUMBERS = (-1e300, -3.0, -1.0, -0.3, -1e-16, -1e-305, -5e-324, 0.0, 5e-324, 1e-305, 1e-16, 0.3, 1.0, 3.0, 1e300)
INTERVALS = [(low, high) for low in NUMBERS for high in NUMBERS if low <= high]


def arrays(*numbers):
    return [np.array([number]) for number in numbers]


@pytest.mark.parametrize("left", SLOPES)
def test_an_image_has_two_roundings_of_room_below_zero_and_none_above(small, left):
    """Never on the wrong side of 0 for it, and none where the slope is a sign: those products are exact."""

    def room(value):
        return 0 if value >= 0 or left in (0.0, 1.0, -1.0) else 2 * EPSILON * abs(Fraction(left) * value) + SMALLEST

    for low, high in INTERVALS:
        found = [Fraction(end.item()) for end in image(*arrays(low, high), left)]
        ends = Fraction(low), Fraction(high)
        exact, most = small.image(*ends, Fraction(left)), max(map(room, ends))
        assert found[0] <= exact[0] <= exact[1] <= found[1]
        for inner, outer in zip(exact, found, strict=True):
            assert abs(inner - outer) <= most * Fraction(13, 10)
        if low == high < 0 and most:  # a sum is rounded once more
            clipped = found[1] if left > 0 else found[0]
            assert abs(exact[0] - found[0 if left > 0 else 1]) >= most * Fraction(7, 10) - 2 * EPSILON * SMALLEST
            assert clipped <= 0 if left > 0 else clipped >= 0


def test_images_of_ends_without_a_limit():
    for left, expected in (
        (0.1, (-np.inf, np.inf)),
        (-0.3, (0.0, np.inf)),
        (-1.0, (0.0, np.inf)),
        (0.0, (0.0, np.inf)),
    ):
        assert image(*arrays(-np.inf, np.inf), left) == expected
    assert image(*arrays(-np.inf, -np.inf), -0.3) == (np.inf, np.inf)


@pytest.mark.parametrize("left", SLOPES)
def test_lines_are_those_of_the_definition_with_eight_roundings_of_room(left):
    """With the slope that was found, an offset lies 8 epsilons above the larger of the two ends, and not 16."""
    for low, high in INTERVALS:
        if high - low == np.inf:
            continue
        above, offset, below, bends = (part.item() for part in lines(*arrays(low, high), left))
        assert bends == (low < 0 < high and left != 1.0)
        if not bends:
            expected = 1.0 if low >= 0 or left == 1.0 else left
            assert (above, offset, below) == (expected, 0.0, expected)
            assert line(low, high, left) == (expected, 0.0)
            continue
        assert below == (1.0 if high > -low else left)
        assert left <= above <= 1
        for slope, found in ((above, offset), line(low, high, left)):
            s, left_of = Fraction(slope), Fraction(left)
            exact = max((left_of - s) * Fraction(low), (1 - s) * Fraction(high))
            assert (1 + 5 * EPSILON) * exact - SMALLEST <= Fraction(found) - LEAST * (1 - EPSILON)
            assert Fraction(found) <= (1 + 11 * EPSILON) * exact + LEAST * (1 + EPSILON) + SMALLEST
            if high - low > 1e-290:  # shorter ones leave few bits of a slope, and any will do
                chord = (Fraction(high) - left_of * Fraction(low)) / (Fraction(high) - Fraction(low))
                assert slope == pytest.approx(float(chord))


def test_lines_where_a_length_overflows_still_hold():
    for left in SLOPES[:4]:
        above, offset, below, _ = (part.item() for part in lines(*arrays(-1.5e308, 1.5e308), left))
        for u in map(Fraction, (-1.5e308, 0.0, 1.5e308)):
            value = exact_activation(u, Fraction(left))
            assert Fraction(below) * u <= value
            assert offset == np.inf or value <= Fraction(above) * u + Fraction(offset)


@pytest.mark.parametrize("left", SLOPES)
def test_differences_are_their_definition_in_fractions(small, left):
    """For units of one kind and of two, at 0 and on both sides of it, and no wider than rounding makes them."""
    ends = [(a, b) for a, b in INTERVALS if abs(a) in (0.0, 0.3, 3.0) and abs(b) in (0.0, 0.3, 3.0)]
    for f in ends:
        for d in [*ends, (0.5, 0.7), (-0.7, -0.5), (1e-305, 1e-305)]:
            for left_g in {left, 0.1}:
                found = [Fraction(v.item()) for v in difference_image(arrays(*f), arrays(*d), left, left_g)]
                exact = small.difference_image(
                    tuple(map(Fraction, f)), tuple(map(Fraction, d)), Fraction(left), Fraction(left_g)
                )
                assert found[0] <= exact[0] <= exact[1] <= found[1]
                if f[0] < 0 or f[0] != d[1]:  # where f - d begins at 0, rounding puts it on both sides
                    assert max(exact[0] - found[0], found[1] - exact[1]) < 1e-13


def test_differences_of_units_that_are_surely_on_or_off_are_exact():
    assert difference_image(arrays(-2.0, -1.0), arrays(-0.5, 0.5), 0.0, 0.0) == (0.0, 0.0)
    assert difference_image(arrays(0.5, 2.0), arrays(-0.7, 0.1), 0.1, 0.1) == (-0.7, 0.1)
    assert difference_image(arrays(0.5, 2.0), arrays(-0.7, 0.1), 0.1, -1.0) == (-0.7, 0.1)


def test_the_room_of_a_difference_is_two_roundings_of_its_size():
    for d, expected in (
        ((0.0, 1.0), (-2 * EPS, 1 + 2 * EPS)),
        ((-1.0, 0.0), (-1 - 2 * EPS, 2 * EPS)),
        ((0.0, 0.0), (-UNDERFLOW, UNDERFLOW)),
    ):
        assert difference_image(arrays(-5.0, 5.0), arrays(*d), 0.0, 0.0) == expected
    for f, d, expected in (((1.0, 1.0), (0.0, 0.0), 1), ((0.0, 0.0), (1.0, 1.0), -1)):
        assert apart(arrays(*f), arrays(*d)) == (expected - 4 * EPS, expected + 4 * EPS)
    assert apart(arrays(0.0, 0.0), arrays(0.0, 0.0)) == (-UNDERFLOW, UNDERFLOW)


@pytest.mark.parametrize("left", SLOPES)
def test_lines_of_differences_have_eight_roundings_of_room(left):
    """Above z d for both slopes z and both ends of d, and at 0: the room is of the size of d."""
    for low, high in INTERVALS:
        if high - low == np.inf:
            continue
        size = max(abs(Fraction(low)), abs(Fraction(high)))
        products = [(z * e, e) for z in (Fraction(left), Fraction(1)) for e in (Fraction(low), Fraction(high))]
        for side, pick in ((1, max), (-1, min)):
            slope, offset = (Fraction(v.item()) for v in difference_line(*arrays(low, high), left, side > 0))
            exact = pick(0, *(v - slope * e for v, e in products))
            assert 5 * EPSILON * size - SMALLEST <= side * (offset - exact) - LEAST * (1 - EPSILON)
            assert side * (offset - exact) <= 11 * EPSILON * size + LEAST * (1 + EPSILON) + SMALLEST
            if high - low > 1e-290:
                ends = [pick(Fraction(left) * e, e) for e in (Fraction(low), Fraction(high))]
                assert slope == pytest.approx(float((ends[1] - ends[0]) / (Fraction(high) - Fraction(low))))
    with np.errstate(over="ignore"):
        slope, offset = difference_line(*arrays(-1.5e308, 1.5e308), 1.0, True)
    assert slope == 1
    assert offset < 1e300


@pytest.mark.parametrize("left", SLOPES)
def test_the_middle_of_the_slopes_has_the_least_noise(left):
    for most in (*NUMBERS[NUMBERS.index(0.0) :], 0.7):
        middle, noise = map(Fraction, mean_slope(most, left))
        assert middle == Fraction((1 + left) / 2)
        exact = max(1 - middle, middle - Fraction(left)) * Fraction(most)
        assert (1 + 5 * EPSILON) * exact - SMALLEST <= noise - LEAST * (1 - EPSILON)
        assert noise <= (1 + 11 * EPSILON) * exact + LEAST * (1 + EPSILON) + SMALLEST
