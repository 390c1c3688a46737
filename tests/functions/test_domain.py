"""Boxes and polytopes, with their corners and edges, and what is neither."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, HalfspaceIntersection

from tutelage.errors import TutelageError
from tutelage.functions.domain import box, polytope
from tutelage.functions.pieces.first_cell import skeleton


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
        (lambda: box(0, 1), "one dimension"),
        (lambda: box(0, 1, dimension=0), "dimension must be a whole number of at least 1, got 0"),
        (lambda: box(torch.zeros(2), torch.ones(3)), "one dimension"),
        (lambda: box(torch.zeros(2, 2), 1), "numbers or have shape"),
        (lambda: box(1, 1, dimension=2), "got 1 to 1 for input 0"),
        (lambda: box(2, 1, dimension=2), "got 2 to 1 for input 0"),
        (lambda: box(0, math.inf, dimension=2), "finite, got 0 to inf for input 0"),
        (lambda: box(-1e308, 1e308, dimension=2), "too large.* from -1e100 to 1e100"),
        (lambda: box(-1e308, 1e308, dimension=2, flat=True), "from -1e\\+308 to 1e\\+308 for input 0 is too large"),
        (lambda: polytope(torch.ones(2, 2), torch.ones(3)), "normals"),
        (lambda: polytope(torch.zeros(1, 2), torch.ones(1)), "normal other than 0"),
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
