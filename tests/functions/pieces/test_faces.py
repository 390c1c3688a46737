"""Facets, outlines and volumes agree with each other, with the signs and with sampling."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from tutelage.errors import TutelageError
from tutelage.functions.pieces.faces import facets, polygons, segments, volumes
from tutelage.functions.pieces.regions import enumerate_regions


@pytest.mark.parametrize("whole", [False, True])
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.lists(st.integers(1, 5), min_size=1, max_size=2))
def test_regions_meet_across_a_unit_that_changes_sign(random_net, whole_net, whole, seed, dimension, hidden):
    make = whole_net if whole else random_net
    regions = enumerate_regions(make((dimension, *hidden, 1), seed), (-1, 1))
    between = facets(regions)
    below, above = between.regions.T
    assert (regions.signs[below, between.unit] == -1).all()
    assert (regions.signs[above, between.unit] == 1).all()
    assert len(torch.unique(between.regions, dim=0)) == len(between)
    if not whole:  # in general position one unit changes, and the layers above it
        lower = regions.layers <= regions.layers[between.unit][:, None]
        assert (((regions.signs[below] != regions.signs[above]) & lower).sum(1) == 1).all()
    reached = {0}
    for _ in range(len(regions)):
        reached |= {b for a, b in between.regions.tolist() if a in reached}
        reached |= {a for a, b in between.regions.tolist() if b in reached}
    assert len(reached) == len(regions)


def test_neighbours_are_those_a_step_across_the_boundary_finds(random_net, pre_activations):
    """From the middle of every segment, a small step along the unit's gradient leads into the two regions."""
    network = random_net((2, 6, 5, 1), seed=6)
    regions = enumerate_regions(network, (-1, 1))
    between, (ends, unit) = facets(regions), segments(regions)
    assert (unit == between.unit).all()
    middle, along = ends.mean(1), ends[:, 1] - ends[:, 0]
    across = torch.stack([-along[:, 1], along[:, 0]], 1) / along.norm(dim=1, keepdim=True)
    step = 1e-3 * along.norm(dim=1, keepdim=True).clamp(max=1.0)
    for x in (middle + step * across, middle - step * across):
        signs = pre_activations(network, x).sign()
        sides = regions.signs[between.regions]
        assert (sides == signs[:, None]).all(2).any(1).float().mean() > 0.98  # a step may leave a thin region
    assert (pre_activations(network, middle).gather(1, unit[:, None]).abs() < 1e-12).all()


def test_in_the_plane_facets_are_the_edges_inside(random_net):
    regions = enumerate_regions(random_net((2, 7, 6, 1)), (-1, 1))
    inside = regions.vertices[regions.edges.long()].abs().amin(1).amax(1) < 1 - 1e-12
    assert len(facets(regions)) == inside.sum()


@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_outlines_are_convex_and_anticlockwise(random_net, bias):
    regions = enumerate_regions(random_net((2, 8, 6, 1), bias=bias), (-1, 1))
    areas = volumes(regions)
    for outline, area in zip(polygons(regions), areas.tolist(), strict=True):
        following = outline.roll(-1, 0)
        turns = (following - outline).roll(-1, 0)
        cross = (following - outline)[:, 0] * turns[:, 1] - (following - outline)[:, 1] * turns[:, 0]
        assert cross.min() > -1e-12
        shoelace = (outline[:, 0] * following[:, 1] - outline[:, 1] * following[:, 0]).sum() / 2
        assert shoelace.item() == pytest.approx(area, abs=1e-12)


@pytest.mark.parametrize("dimension", [3, 4, 5])
def test_volumes_are_those_of_convex_hulls(random_net, dimension):
    regions = enumerate_regions(random_net((dimension, 4, 3, 1), seed=1), (-1, 1))
    measured = volumes(regions)
    assert measured.sum().item() == pytest.approx(2.0**dimension)
    for r in torch.argsort(measured, descending=True)[:20].tolist():
        assert measured[r].item() == pytest.approx(ConvexHull(regions.corners_of(r)).volume, rel=1e-9)


def test_volumes_in_space_are_the_shares_of_random_points(random_net, pre_activations):
    network = random_net((3, 6, 4, 1), seed=2)
    regions = enumerate_regions(network, (-1, 1))
    count = 100_000
    x = 2 * torch.rand(count, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1
    number = {tuple(s): r for r, s in enumerate(regions.signs.tolist())}
    kinds, counts = torch.unique(pre_activations(network, x).sign().to(torch.int8), dim=0, return_counts=True)
    hits = torch.zeros(len(regions), dtype=torch.float64)
    for sign, n in zip(kinds.tolist(), counts.tolist(), strict=True):
        hits[number[tuple(sign)]] = n
    share = volumes(regions) / 8
    error = (share * (1 - share) / count).sqrt()
    assert ((hits / count - share).abs() <= 5 * error + 1 / count).all()


def test_outlines_are_for_the_plane_alone(random_net):
    regions = enumerate_regions(random_net((3, 4, 1)), (-1, 1))
    for draw in (polygons, segments):
        with pytest.raises(TutelageError, match="two"):
            draw(regions)
