"""The canonical form is held to its definition by sampling and to the lemmas of Phuong 2021, section 2.4."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.functions.comparing.canonical import canonical
from tutelage.functions.domain import polytope
from tutelage.functions.identifying.conditions import below
from tutelage.functions.identifying.dependency import dependency_graph
from tutelage.functions.identifying.surfaces import canonical_surface
from tutelage.functions.layers.joint import side_by_side
from tutelage.functions.pieces.faces import facets
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import Network

WIDTHS = st.sampled_from([(2, 2, 1), (2, 3, 2, 1), (3, 2, 2, 1), (2, 2, 2, 2, 1), (2, 3, 3, 2, 1)])


def surface_of(network, domain=(-1, 1)):
    return canonical_surface(enumerate_regions(network, domain))


def described(surface):
    """Every piece by its order and the regions of its two sides, found again by their interior points."""
    regions = surface.regions
    rows = []
    for p in range(len(surface)):
        sides = [surface.inside[p] & (surface.side[:, surface.plane[p]] == s) for s in (-1, 1)]
        points = sorted(tuple(regions.interior[half].mean(0).round(decimals=8).tolist()) for half in sides)
        rows.append((int(surface.order[p]), *points))
    return sorted(rows)


@settings(max_examples=40)
@given(WIDTHS, st.integers(0, 10**6))
def test_orders_never_exceed_layers_and_every_fold_has_one_piece(random_net, widths, seed):
    """Phuong 2021, Lemmas 2.2 and 2.3, for general networks that need not be transparent."""
    surface = surface_of(random_net(widths, seed))
    assert len(surface.levels) <= len(widths) - 2
    assert (surface.owner >= 0).all()
    assert (surface.order <= surface.owner_layer).all()
    assert (surface.owner_layer + dependency_graph(surface).longest <= len(widths) - 2).all()
    assert surface.facet_piece.bincount(minlength=len(surface)).min() >= 1 if len(surface) else True
    assert (surface.owner[surface.facet_piece] == facets(surface.regions).unit).all()


@settings(max_examples=15)
@given(WIDTHS, st.integers(0, 10**6))
def test_the_form_does_not_depend_on_how_units_are_listed(random_net, widths, seed):
    """Phuong 2021, Lemmas A.4 to A.6: unique up to the numbering within a level; here units are shuffled and scaled."""
    network = random_net(widths, seed)
    assert described(surface_of(network)) == described(surface_of(canonical(network)))


def test_splitting_a_fold_among_units_does_not_change_the_form(random_net):
    """Two units with one hyperplane are one piece."""
    network = random_net((2, 3, 2, 1), seed=6)
    w, b, v = network.weights[0], network.biases[0], network.weights[1]
    twice = Network((torch.cat([w, 2 * w[:, :, :1]], 2), torch.cat([v[:, :1] / 2, v[:, 1:], v[:, :1] / 4], 1),
                     network.weights[2]), (torch.cat([b, 2 * b[:, :1]], 1), *network.biases[1:]))  # fmt: skip
    assert described(surface_of(network)) == described(surface_of(twice))


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_slices_of_cells_lie_in_the_surface_and_no_other_does(random_net, pre_activations, seed):
    """The definition of the canonical form, by points sampled on the slices of every cell by every hyperplane."""
    network = random_net((2, 3, 3, 1), seed)
    surface = surface_of(network)
    draw = torch.Generator().manual_seed(seed)
    t = 6 * torch.rand(400, 1, generator=draw, dtype=torch.float64) - 3
    cells = {tuple(walls.tolist()): k for k, walls in zip(surface.order.tolist(), surface.walls, strict=True)}
    for walls, order in cells.items():
        signs = torch.tensor(walls)
        own = {int(h) for h, w, k in zip(surface.plane, surface.walls, surface.order, strict=True)
               if int(k) == order and w.tolist() == list(walls)}  # fmt: skip
        for h in range(len(surface.normal)):
            normal = surface.normal[h]
            points = -surface.offset[h] * normal + t * torch.stack([-normal[1], normal[0]])
            value = points @ surface.normal.T + surface.offset
            value[:, h] = 0
            inside = (value * signs > 1e-9)[:, signs != 0].all(1) & (points.abs() < 1).all(1)
            if inside.sum() < 5 or signs[h] != 0:
                continue
            gap = pre_activations(network, points[inside]).abs().amin(1)
            assert (gap.max() < 1e-10) == (h in own)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_the_order_of_a_union_is_at_most_the_larger(random_net, seed):
    """Phuong 2021, Lemma A.1."""
    first, second = random_net((2, 2, 2, 1), seed), random_net((2, 2, 2, 1), seed + 1)
    orders = [len(surface_of(network).levels) for network in (first, second, side_by_side(first, second))]
    assert orders[2] <= max(orders[:2])


def test_lower_surfaces_are_those_of_the_cut_network(random_net):
    """A unit of layer 1 has the same pieces whether or not there are layers above."""
    network = random_net((2, 3, 3, 1), seed=8)
    lines = described(surface_of(below(network, 2)))
    assert {row[0] for row in lines} == {1}
    assert len(lines) <= sum(1 for row in described(surface_of(network)) if row[0] == 1)


def test_a_domain_that_no_fold_meets_has_an_empty_surface(random_net):
    network = random_net((2, 3, 2, 1), seed=1)
    network.biases[0][0], network.biases[1][0] = 50, 500
    surface = surface_of(network)
    assert (len(surface), surface.levels) == (0, ())
    assert len(dependency_graph(surface).edges) == 0


def test_any_polytope_will_do(random_net):
    triangle = polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([1.0, 1.0, 1.0]))
    surface = surface_of(random_net((2, 3, 3, 1), seed=3), triangle)
    assert (surface.order <= surface.owner_layer).all()
