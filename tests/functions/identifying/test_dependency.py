"""Edges of the dependency graph are held to linear programs over the definition."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tutelage.functions.identifying.dependency import dependency_graph
from tutelage.functions.identifying.generality import generality
from tutelage.functions.identifying.surfaces import canonical_surface
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import Network


def meets(surface, i, j):
    """The largest margin of a point of piece i, inside its cell, that lies in the closure of piece j."""
    domain, d = surface.regions.domain, surface.regions.domain.dimension
    rows, bounds = [], []
    for piece, slack in ((i, 1.0), (j, 0.0)):
        walls = surface.walls[piece].nonzero().flatten()
        sign = surface.walls[piece, walls].double()
        a = torch.cat([-surface.normal[walls] * sign.unsqueeze(1), domain.normals])
        rows.append(np.hstack([a.numpy(), np.full((len(a), 1), slack)]))
        bounds.append(torch.cat([surface.offset[walls] * sign, domain.offsets]).numpy())
    planes = surface.plane[[i, j]]
    equal = np.hstack([surface.normal[planes].numpy(), np.zeros((2, 1))])
    goal = np.append(np.zeros(d), -1.0)
    solution = linprog(goal, np.vstack(rows), np.concatenate(bounds), equal, -surface.offset[planes].numpy(),
                       bounds=[(None, None)] * d + [(None, 1)])  # fmt: skip
    return solution.x is not None and solution.x[-1] > 1e-8


@pytest.mark.parametrize(("widths", "seed"), [((2, 3, 2, 1), 0), ((3, 2, 2, 1), 1), ((2, 2, 2, 2, 1), 5)])
def test_edges_are_those_of_the_definition(random_net, widths, seed):
    surface = canonical_surface(enumerate_regions(random_net(widths, seed), (-1, 1)))
    found = {tuple(edge) for edge in dependency_graph(surface).edges.tolist()}
    order = surface.order.tolist()
    pairs = [(i, j) for i in range(len(order)) for j in range(len(order)) if order[i] < order[j]]
    assert found == {pair for pair in pairs if meets(surface, *pair)}
    assert found or max(order) == 1


def test_paths_are_the_longest_there_are(random_net):
    surface = canonical_surface(enumerate_regions(random_net((2, 3, 3, 3, 1), 4), (-1, 1)))
    graph = dependency_graph(surface)
    after = {i: [j for a, j in graph.edges.tolist() if a == i] for i in range(len(surface))}

    def longest(i):
        return max((1 + longest(j) for j in after[i]), default=0)

    assert graph.longest_of_all.tolist() == [longest(i) for i in range(len(surface))]
    assert graph.longest.max() >= 1
    assert (graph.longest <= graph.longest_of_all).all()


def crossing():
    """Layer 1 folds where x1 is about 0. Unit 0 of layer 2 bends there; unit 1 folds along a line near x1 = 1/2.

    That line is of order 1 and crosses the other fold of layer 2, which is of order 2 and is cut in two by it.
    """
    weights = [[1.0, 0.03], [0.02, 1.0]], [[1.0, 2.0], [1.01, 0.1]], [[1.0], [-0.6]]
    biases = [0.01, 5.0], [-5.05, -1.5], [0.3]
    as_stack = [tuple(torch.tensor([a], dtype=torch.float64) for a in arrays) for arrays in (weights, biases)]
    return Network(*as_stack)


def test_a_fold_of_the_last_layer_may_have_descendants_that_cross_it():
    """A general network for which Phuong 2021, Lemma 2.3 is false as printed, and true of bends."""
    network = crossing()
    assert all(condition.holds for condition in generality(network, (-1, 1)))
    surface = canonical_surface(enumerate_regions(network, (-1, 1)))
    graph = dependency_graph(surface)
    line = int(((surface.owner == 3) & (surface.order == 1)).nonzero())
    below = graph.edges[graph.edges[:, 0] == line, 1]
    assert len(below) == 2
    assert surface.owner[below].tolist() == [2, 2]
    assert surface.plane[below[0]] == surface.plane[below[1]]
    assert not graph.bends[graph.edges[:, 0] == line].any()
    assert graph.longest_of_all[line] == 1 > 2 - surface.owner_layer[line]
    assert (surface.owner_layer <= 2 - graph.longest).all()


@settings(max_examples=40)
@given(st.sampled_from([(2, 3, 3, 1), (2, 4, 3, 3, 1), (3, 3, 2, 1)]), st.integers(0, 10**6))
def test_layers_rise_along_bends_and_straight_edges_are_cut_pieces(random_net, widths, seed):
    """What a path proves: pieces along bends come from ever higher layers; others go on in the same hyperplane."""
    surface = canonical_surface(enumerate_regions(random_net(widths, seed), (-1, 1)))
    graph = dependency_graph(surface)
    layer = surface.owner_layer[graph.edges]
    assert (layer[:, 0] < layer[:, 1])[graph.bends].all()
    assert (layer[:, 0] >= layer[:, 1])[~graph.bends].all()
