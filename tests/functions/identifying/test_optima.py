"""Local optima of value zero made by hand: on a point, along an edge, on a whole region, and on the domain's edge."""

import torch

from tutelage.functions.identifying.conditions import below
from tutelage.functions.identifying.optima import touches_zero, vertex_values
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import Network, outputs


def folded(w, b, v, c):
    """One hidden layer: w [in, n], b [n], v [n], c."""
    w, b, v, c = (torch.tensor(a, dtype=torch.float64) for a in (w, b, v, c))
    return Network((w[None], v[None, :, None]), (b[None], c.reshape(1, 1)))


def g1(network, domain=(-1, 1)):
    return touches_zero(network, domain, "G1")


def test_a_valley_of_value_zero_along_an_edge():
    """|x1| = max(0, x1) + max(0, -x1) vanishes on a line and is positive on both sides."""
    found = g1(folded([[1.0, -1.0], [0.0, 0.0]], [0.0, 0.0], [1.0, 1.0], 0.0))
    assert found.holds is False
    assert found.data["layer"] == 2
    assert found.data["point"][0] == 0


def test_a_tip_of_value_zero_at_a_point():
    """-|x1| - |x2| has its only maximum, 0, at a vertex."""
    w = [[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]]
    assert g1(folded(w, [0.0] * 4, [-1.0] * 4, 0.0)).data["point"] == [0, 0]
    assert g1(folded(w, [0.0] * 4, [-1.0] * 4, 0.1)).holds is True


def test_a_tip_in_three_dimensions_and_an_edge_through_it():
    """|x1| + |x2| in space vanishes along a line, which no facet holds."""
    w = [[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0], [0.0] * 4]
    found = g1(folded(w, [0.0] * 4, [1.0] * 4, 0.0))
    assert found.holds is False
    assert found.data["point"][:2] == [0, 0]


def test_a_flat_piece_of_value_zero():
    found = g1(folded([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], [1.0, 1.0], 0.0))
    assert found.data == {"layer": 2, "unit": 0, "point": [-0.5, -0.5]}


def test_a_vertex_of_value_zero_on_a_fold_that_is_crossed_is_none():
    """max(0, x1) - max(0, -x1) + max(0, x2) - max(0, -x2) = x1 + x2 passes through the crossing of all folds."""
    w = [[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]]
    assert g1(folded(w, [0.0] * 4, [1.0, -1.0, 1.0, -1.0], 0.0)).holds is True


def test_the_domain_is_open():
    """x1 + 1 is 0 on an edge of the box and positive inside; x1 + x2 + 2 at a corner."""
    network = folded([[1.0, 1.0], [0.0, 1.0]], [1.0, 2.0], [1.0, 1.0], 1.0)
    assert g1(network).holds is True


def test_random_networks_pass_and_their_zeros_are_what_they_seem(random_net):
    for seed in range(20):
        network = random_net((2, 3, 3, 1), seed)
        assert g1(network).holds is True
        cells = enumerate_regions(below(network, 2), (-1, 1))
        assert torch.allclose(vertex_values(cells), outputs(cells.network, cells.vertices)[0])
