"""Regions are held to brute force: no sampled sign pattern is missing, and every region is one."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tutelage.errors import TutelageError
from tutelage.functions.domain import box, polytope
from tutelage.functions.pieces.counts import zaslavsky
from tutelage.functions.pieces.faces import volumes
from tutelage.functions.pieces.regions import enumerate_regions, local_maps
from tutelage.networks import Network, outputs

NEAR = 1e-9  # pre-activations closer to 0 than this are not used to tell patterns apart by sampling


@st.composite
def cases(draw):
    """Widths, a seed, an activation and biases; few units where dimensions are many."""
    dimension = draw(st.integers(1, 4))
    most = {1: 12, 2: 9, 3: 6, 4: 4}[dimension]
    between = draw(st.lists(st.integers(1, most), min_size=1, max_size=3))
    activation = draw(st.sampled_from(["relu", "leaky", "abs"]))
    return (dimension, *between, 1), draw(st.integers(0, 10**6)), activation, draw(st.sampled_from([0.0, 0.3]))


def samples(regions, count=3000):
    """Points of the box: spread over it, and close to vertices, where small regions meet."""
    draw = torch.Generator().manual_seed(0)
    low, high = regions.domain.low, regions.domain.high
    spread = low + (high - low) * torch.rand(count, len(low), generator=draw, dtype=torch.float64)
    around = regions.vertices[torch.randint(len(regions.vertices), (count,), generator=draw)]
    return torch.cat([spread, around + 1e-3 * (spread - around)])


def patterns(signs):
    return {tuple(row) for row in signs.to(torch.int8).tolist()}


def assert_complete(regions, pre_activations):
    """Sign vectors are those of the interior points, no two are equal, and sampling finds no other."""
    u = pre_activations(regions.network, regions.interior)
    assert (torch.where(u.abs() < 1e-12, 0.0, u.sign()) == regions.signs).all()
    found = patterns(regions.signs)
    assert len(found) == len(regions)
    u = pre_activations(regions.network, samples(regions))
    clear = ((u.abs() > NEAR) | (u == 0)).all(1)
    assert clear.float().mean() > 0.5
    assert patterns(u[clear].sign()) <= found


@settings(max_examples=40)
@given(cases())
def test_regions_are_all_there_are(random_net, pre_activations, case):
    widths, seed, activation, bias = case
    regions = enumerate_regions(random_net(widths, seed, bias, activation), (-1, 1))
    assert_complete(regions, pre_activations)
    assert volumes(regions).sum().item() == pytest.approx(2.0 ** widths[0], rel=1e-10)
    assert regions.per_layer[-1] == len(regions)


@settings(max_examples=60)
@given(cases(), st.booleans())
def test_boundaries_that_coincide_or_meet_in_one_point_are_no_exception(whole_net, pre_activations, case, bias):
    widths, seed, activation, _ = case
    regions = enumerate_regions(whole_net(widths, seed, bias, activation), (-2, 2))
    assert_complete(regions, pre_activations)
    assert volumes(regions).sum().item() == pytest.approx(4.0 ** widths[0], rel=1e-10)


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs"])
@pytest.mark.parametrize("widths", [(1, 5, 2), (2, 6, 5, 4, 3), (3, 7, 2)])
def test_the_local_maps_are_the_network(random_net, pre_activations, widths, activation):
    network = random_net(widths, activation=activation)
    regions = enumerate_regions(network, (-1, 1))
    slopes, shifts = regions.maps()
    owner = torch.repeat_interleave(torch.arange(len(regions)), regions.corner_from.diff())
    points = (regions.vertices[regions.corners] + regions.interior[owner]) / 2
    mapped = torch.einsum("nd,ndc->nc", points, slopes[owner]) + shifts[owner]
    assert torch.allclose(mapped, outputs(network, points)[0], atol=1e-12)
    first = 0
    for layer, width in enumerate(network.widths[1:-1], start=1):
        slopes, shifts = local_maps(network, regions.signs, layer)
        mapped = torch.einsum("nd,ndc->nc", points, slopes[owner]) + shifts[owner]
        assert torch.allclose(mapped, pre_activations(network, points)[:, first : first + width], atol=1e-12)
        first += width


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("units", [1, 3, 6])
def test_one_layer_in_general_position_has_zaslavskys_number(random_net, dimension, units):
    """In a box large enough to hold all vertices of the arrangement."""
    regions = enumerate_regions(random_net((dimension, units, 1), seed=3), (-1000, 1000))
    assert len(regions) == zaslavsky(units, dimension)
    assert len(regions.pieces) == units


def test_vertices_edges_and_regions_obey_euler_in_the_plane(random_net):
    for seed in range(5):
        regions = enumerate_regions(random_net((2, 9, 8, 7, 1), seed), (-1, 1))
        assert len(regions.vertices) - len(regions.edges) + len(regions) == 1


@pytest.mark.parametrize("dimension", [4, 5, 6])
def test_linear_programmes_find_the_same_regions(random_net, dimension):
    """Every sign pattern of one layer, tried one by one: its region has an inside or it is not among ours."""
    network = random_net((dimension, 5, 1), seed=dimension)
    found = patterns(enumerate_regions(network, (-0.5, 0.5)).signs)
    w, b = network.weights[0][0].numpy(), network.biases[0][0].numpy()
    lengths = np.linalg.norm(w, axis=0)
    for number in range(2**5):
        sign = 2 * ((number >> np.arange(5)) & 1) - 1
        rows = np.concatenate([-(sign * w).T, lengths[:, None]], 1)
        bounds = [(-0.5, 0.5)] * dimension + [(None, 1)]
        radius = linprog(np.eye(dimension + 1)[-1] * -1, rows, sign * b, bounds=bounds).x[-1]
        assert abs(radius) > 1e-6
        assert (radius > 0) == (tuple(sign.tolist()) in found)


def test_a_box_and_the_same_polytope_have_the_same_regions(random_net):
    square = box(torch.tensor([-1.0, 0.0]), torch.tensor([0.5, 2.0]))
    network = random_net((2, 8, 6, 1))
    one = enumerate_regions(network, square)
    other = enumerate_regions(network, polytope(3 * square.normals, 3 * square.offsets))
    assert patterns(one.signs) == patterns(other.signs)
    assert (len(one.vertices), len(one.edges)) == (len(other.vertices), len(other.edges))
    assert volumes(other).sum().item() == pytest.approx(3.0)


def test_regions_of_a_triangle_lie_in_it(random_net, pre_activations):
    triangle = polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 1.0]))
    regions = enumerate_regions(random_net((2, 10, 8, 1), seed=2), triangle)
    assert (regions.vertices >= -1e-12).all()
    assert (regions.vertices.sum(1) <= 1 + 1e-12).all()
    assert volumes(regions).sum().item() == pytest.approx(0.5)
    points = torch.rand(4000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    signs = pre_activations(regions.network, points[points.sum(1) < 1]).sign()
    assert patterns(signs) <= patterns(regions.signs)


def test_dead_and_always_on_units_are_named():
    weights = (torch.tensor([[[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0]]]), torch.ones(1, 4, 1))
    network = Network(weights, (torch.tensor([[0.0, 5.0, -1.0, 0.0]]), torch.zeros(1, 1)))
    regions = enumerate_regions(network, (-1, 1))
    assert len(regions) == 2
    assert regions.dead.tolist() == [False, False, True, True]
    assert regions.always_on.tolist() == [False, True, False, False]
    assert regions.layers.tolist() == [1, 1, 1, 1]


def test_pieces_of_boundaries_are_counted_once_a_cell(random_net, pre_activations):
    """A unit has a piece in a cell of the layers below exactly when both its signs occur in that cell."""
    network = random_net((2, 6, 5, 1), seed=4)
    regions = enumerate_regions(network, (-1, 1))
    unit, region = regions.pieces.T
    for layer, start, stop in ((1, 0, 6), (2, 6, 11)):
        _, cell = torch.unique(regions.signs[:, : start or 1] * (start > 0), dim=0, return_inverse=True)
        wanted = set()
        for k in range(start, stop):
            for c in cell.unique().tolist():
                seen = regions.signs[cell == c, k]
                if (seen > 0).any() and (seen < 0).any():
                    wanted.add((k, c))
        own = regions.layers[unit] == layer
        assert {(k, cell[r].item()) for k, r in zip(unit[own].tolist(), region[own].tolist(), strict=True)} == wanted
        assert own.sum() == len(wanted)


def test_units_with_one_boundary_are_one_piece():
    weights = (torch.tensor([[[1.0, 2.0, -3.0], [0.5, 1.0, -1.5]]]).double(), torch.ones(1, 3, 1).double())
    biases = (torch.tensor([[0.1, 0.2, -0.3]], dtype=torch.float64), torch.zeros(1, 1).double())
    regions = enumerate_regions(Network(weights, biases), (-1, 1))
    assert patterns(regions.signs) == {(1, 1, -1), (-1, -1, 1)}
    assert regions.pieces[:, 0].tolist() == [0]


def test_float32_networks_are_taken_as_they_are(random_net):
    single = random_net((2, 7, 5, 1), dtype=torch.float32)
    assert (
        enumerate_regions(single, (-1, 1)).signs == enumerate_regions(single.to(dtype=torch.float64), (-1, 1)).signs
    ).all()


def test_a_network_without_hidden_units_is_one_region(random_net):
    regions = enumerate_regions(random_net((3, 2)), (-1, 1))
    assert (len(regions), len(regions.vertices), regions.per_layer, len(regions.pieces)) == (1, 8, (), 0)
    assert regions.maps()[0].shape == (1, 3, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": 2}, "stack of 2"),
        ({"activation": "linear"}, "one affine map"),
        ({"widths": (3, 4, 1)}, "domain must have 3 dimensions.*got 2"),
    ],
)
def test_what_has_no_regions_is_refused(random_net, change, message):
    with pytest.raises(TutelageError, match=message):
        enumerate_regions(random_net(**{"widths": (2, 4, 1), **change}), box(-1, 1, dimension=2))


def test_a_layer_that_is_not_there_is_refused(random_net):
    regions = enumerate_regions(random_net((2, 4, 1)), (-1, 1))
    with pytest.raises(TutelageError, match="from 1 to 2 for this network, got 3"):
        regions.maps(layer=3)
