"""Boxes and polytopes, with their corners and edges, and what is neither."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, HalfspaceIntersection

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.functions.domain import Domain, as_domain, box, box_for, in_words, polytope
from tutelage.functions.pieces.subdivision import skeleton
from tutelage.networks import Network


def corners(domain):
    return skeleton(domain, 0, 10**6)


def octahedron():
    signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
    return polytope(signs, torch.ones(8))


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_a_box_has_the_corners_and_edges_of_a_cube(dimension):
    cube = corners(box(-1, 2, dimension=dimension))
    assert len(cube.points) == 2**dimension
    assert len(cube.ends) == dimension * 2 ** (dimension - 1)
    moved = cube.points[cube.ends[:, 0]] != cube.points[cube.ends[:, 1]]
    assert (moved.sum(1) == 1).all()


def test_many_facets_meet_in_each_corner_of_an_octahedron():
    found = corners(octahedron())
    assert (len(found.points), len(found.ends)) == (6, 12)
    assert octahedron().high.tolist() == pytest.approx([1.0, 1.0, 1.0])


def test_constraints_that_repeat_or_touch_change_nothing():
    """The square, once more with a doubled side, a scaled one and one through a corner."""
    square = box(-1, 1, dimension=2)
    extra = torch.tensor([[1.0, 0.0], [0.0, 5.0], [1.0, 1.0]], dtype=torch.float64)
    more = polytope(torch.cat([square.normals, extra]), torch.cat([square.offsets, torch.tensor([1.0, 5.0, 2.0])]))
    found = corners(more)
    assert (len(found.points), len(found.ends)) == (4, 4)


def test_more_constraints_than_bits_in_a_word():
    angles = 2 * math.pi * torch.arange(150, dtype=torch.float64) / 150
    circle = polytope(torch.stack([angles.cos(), angles.sin()], 1), torch.ones(150))
    found = corners(circle)
    assert (len(found.points), len(found.ends)) == (150, 150)
    assert found.tight.shape == (150, 3)


@given(st.integers(0, 10**6), st.integers(2, 4))
def test_corners_of_random_polytopes_are_qhulls(seed, dimension):
    draw = torch.Generator().manual_seed(seed)
    normals = torch.randn(12, dimension, generator=draw, dtype=torch.float64)
    square = box(-1, 1, dimension=dimension)
    a, b = torch.cat([normals, square.normals]), torch.cat([normals.norm(dim=1) * 0.8, square.offsets])
    found = corners(polytope(a, b))
    theirs = HalfspaceIntersection(torch.cat([a, -b[:, None]], 1).numpy(), torch.zeros(dimension).numpy())
    hull = ConvexHull(theirs.intersections)
    assert len(found.points) == len(hull.vertices)
    assert ConvexHull(found.points).volume == pytest.approx(hull.volume)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: box(0, 1), "one dimension.*got none:"),
        (lambda: box(torch.zeros(0), 1), r"one dimension.*got \[0\]:"),
        (lambda: box(0, 1, dimension=0), "dimension must be a whole number of at least 1, got 0"),
        (lambda: box(torch.zeros(2), torch.ones(3)), r"one dimension.*got \[2, 3\]:"),
        (lambda: box(torch.zeros(2, 2), 1), "numbers or have shape"),
        (lambda: box(1, 1, dimension=2), "got 1 to 1 for input 0"),
        (lambda: box(2, 1, dimension=2), "got 2 to 1 for input 0"),
        (lambda: box(torch.tensor([0.0, 2.0]), 1), "got 2 to 1 for input 1"),
        (lambda: box(-math.inf, 1, dimension=2), "finite, got -inf to 1 for input 0"),
        (lambda: box(0, torch.tensor([1.0, math.nan])), "finite, got 0 to nan for input 1"),
        (
            lambda: box(-1e308, torch.tensor([1.0, 1e308], dtype=torch.float64)),
            "-1e\\+308 to 1e\\+308 for input 1 is too large",
        ),
        (lambda: box(0, math.inf, dimension=2), "finite, got 0 to inf for input 0"),
        (lambda: box(-1e308, 1e308, dimension=2), "too large.* from -1e100 to 1e100"),
        (lambda: box(-1e308, 1e308, dimension=2, flat=True), "from -1e\\+308 to 1e\\+308 for input 0 is too large"),
        (lambda: polytope(torch.ones(2, 2), torch.ones(3)), "normals"),
        (lambda: polytope(torch.ones(2), torch.ones(2)), "normals"),
        (lambda: polytope(torch.ones(0, 2), torch.ones(0)), "normals"),
        (lambda: polytope(torch.zeros(1, 2), torch.ones(1)), "normal other than 0"),
        (lambda: polytope(torch.tensor([[1.0], [-1.0]]), torch.tensor([1.0, math.inf])), "finite numbers"),
        (lambda: polytope(torch.tensor([[1.0], [math.nan]]), torch.ones(2)), "finite numbers"),
        (lambda: polytope(torch.tensor([[1.0], [-1.0]]), torch.tensor([-1.0, -1.0])), "no inside"),
        (lambda: polytope(torch.tensor([[1.0], [-1.0]]), torch.tensor([1.0, -1.0])), "no inside"),
        (lambda: polytope(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.ones(2)), "unbounded"),
        (lambda: polytope(-torch.eye(2), torch.zeros(2)), "unbounded"),
        (lambda: corners(box(0, 1, dimension=30)), "2\\^30 corners.*slice"),
    ],
)
def test_what_is_no_domain_is_refused(make, message):
    with pytest.raises(TutelageError, match=message):
        make()


def exactly(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


EPS = 2.0**-52


def test_a_side_is_long_when_it_exceeds_64_roundings_of_its_ends():
    for low in (1.0, -1.0, 2.0**20):
        longer, shorter = low + 200 * EPS * abs(low), low + 100 * EPS * abs(low)
        assert not box(low, longer, dimension=1).is_flat
        assert box(low, shorter, dimension=1, flat=True).is_flat
        with pytest.raises(TutelageError, match="must lie above"):
            box(low, shorter, dimension=1)
    assert box(exactly(0, 1), exactly(1, 1), flat=True).is_flat
    assert as_domain((1, 1), 2, flat=True).is_flat
    with pytest.raises(TutelageError, match="must lie above"):
        as_domain((1, 1), 2)
    with pytest.raises(TutelageError, match="must lie above"):
        box(1, math.nextafter(1, 0), dimension=1, flat=True)


def test_a_box_holds_its_boundary_and_nothing_beyond():
    domain = box(exactly(-1, 0), exactly(1, 2))
    assert all(domain.holds(exactly(*point)) for point in ([-1, 0], [1, 2], [0, 1]))
    beyond = math.nextafter(1, 2)
    assert not any(domain.holds(exactly(*point)) for point in ([beyond, 1], [-beyond, 1], [0, 3], [0, -5e-324]))


def test_a_polytope_holds_its_boundary_up_to_the_rounding_of_its_sizes():
    """On x <= 1 the room is 64 roundings of 1 + |x|, here 128."""
    triangle = polytope(exactly([1, 0], [-1, 0], [0, 1], [0, -1]), exactly(1, 1, 3, 3))
    for x, inside in ((0.5, True), (1.0, True), (1 + 100 * EPS, True), (1 + 200 * EPS, False), (2.0, False)):
        assert triangle.holds(exactly(x, 0)) == triangle.holds(exactly(-x, 0)) == inside
    assert triangle.holds(torch.tensor([0.5, 3.0]))
    assert not triangle.holds(torch.tensor([0.5, 3.1]))


def test_what_a_domain_is():
    wide = box(exactly(-1, 0, 2), exactly(5, 1, 3))
    assert wide.centre.tolist() == [2, 0.5, 2.5]
    assert (wide.dimension, wide.facets, wide.is_box, wide.bounded) == (3, 6, True, True)
    assert wide.offsets.tolist() == [1, 0, -2, 5, 1, 3]
    assert torch.equal(wide.normals @ exactly(1, 2, 3), exactly(-1, -2, -3, 1, 2, 3))
    assert wide.stacked().low.shape == (1, 3)
    assert wide.stacked(2).high.tolist() == [[5, 1, 3]] * 2
    stacked = wide.stacked(2)
    assert stacked.stacked(4) is stacked
    assert not Domain.everywhere(2).bounded
    assert not Domain(exactly(0), exactly(math.inf)).bounded
    assert not Domain(exactly(-math.inf), exactly(0)).bounded


def test_a_polytope_has_unit_normals_and_a_point_as_deep_as_any():
    """The rectangle 0 <= x <= 4, 0 <= y <= 2: its deepest points are 1 from a side."""
    found = polytope(exactly([2, 0], [-3, 0], [0, 1], [0, -1]), exactly(8, 0, 2, 0))
    assert found.normals.tolist() == [[1, 0], [-1, 0], [0, 1], [0, -1]]
    assert found.offsets.tolist() == [4, 0, 2, 0]
    assert (found.low.tolist(), found.high.tolist()) == ([0, 0], [4, 2])
    assert (found.dimension, found.facets, found.is_box) == (2, 4, False)
    assert (found.offsets - found.normals @ found.centre).min().item() == pytest.approx(1)
    thin = polytope(exactly([1, 0], [-1, 0], [0, 1], [0, -1]), exactly(1e-5, 0, 1, 0))
    assert thin.high.tolist() == pytest.approx([1e-5, 1])


def test_samples_are_spread_over_the_box_of_each_member():
    stack = Domain(exactly([0, 0, -2], [5, 1, 1]), exactly([1, 2, -1], [6, 1, 9]))
    found = stack.sample(5)
    assert found.shape == (2, 5, 3)
    unit = draws.uniforms(draws.keys([0], "box"), 15).view(5, 3)
    for low, high, points in zip(stack.low, stack.high, found, strict=True):
        for u, point in zip(unit.tolist(), points.tolist(), strict=True):
            exact = [a + v * (b - a) for a, b, v in zip(low.tolist(), high.tolist(), u, strict=True)]
            assert point == pytest.approx(exact)
    assert torch.equal(found, stack.sample(5, 0))
    assert not torch.equal(found, stack.sample(5, 1))


def test_boxes_for_a_stack_of_networks():
    pair = Network((torch.ones(2, 3, 1),))
    ends = exactly([0, 1, 2], [3, 4, 5])
    assert torch.equal(box_for(pair, (ends, 9)).low, ends)
    assert box_for(pair, (ends[0], ends[0])).high.tolist() == [[0, 1, 2]] * 2
    assert box_for(pair, box(0, 1, dimension=3)).high.tolist() == [[1, 1, 1]] * 2
    assert box_for(pair, None).low.tolist() == [[-math.inf] * 3] * 2
    for ends, message in (
        ((exactly(0, 1), 1), r"shape \[3\], got \[2\]"),
        ((torch.zeros(1, 2, 3), 1), r"shape \[3\], got \[1, 2, 3\]"),
        ((0, math.nan), "got NaN"),
        ((0, math.inf), "must be finite"),
        ((-math.inf, 0), "must be finite"),
        ((exactly(0, 0, 2), 1), "low above its high"),
    ):
        with pytest.raises(TutelageError, match=message):
            box_for(pair, ends)


def test_domains_in_words():
    assert in_words(None) == "all inputs"
    assert in_words(box(exactly(0, 1), 2)) == "the box low = (0, 1), high = 2 in 2 dimensions"
    assert in_words(octahedron()) == "a polytope of 8 constraints in 3 dimensions"
