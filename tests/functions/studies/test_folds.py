"""The study's numbers on networks made by hand, and the networks it shows."""

import numpy as np
import torch

from tutelage.functions.domain import box
from tutelage.functions.identifying.conditions import all_of
from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.dependency import dependency_graph
from tutelage.functions.identifying.generality import generality
from tutelage.functions.identifying.identifiability import folds_name, identifiability
from tutelage.functions.identifying.surfaces import canonical_surface
from tutelage.functions.identifying.transparency import transparency
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.functions.studies._random_relu import random_relu, with_transparency
from tutelage.functions.studies.fold_shares import FoldExamples, FoldShares, measured
from tutelage.functions.studies.folds import (
    FoldsOfNetworks,
    NetworkFolds,
    chosen_example,
    few_crossings,
    order_is_bounded,
    some_are_hidden,
)
from tutelage.lab import Context, Store
from tutelage.lab.execute import execute
from tutelage.networks import Network


def test_a_closed_layer_hides_the_folds_below():
    """Layer 2 is nowhere active, so that no fold is seen, though layer 1 has two."""
    eye = torch.eye(2, dtype=torch.float64)[None]
    zero = torch.zeros(1, 2, dtype=torch.float64)
    network = Network((eye, -eye, eye[:, :, :1]), (zero, zero - 1, zero[:, :1]))
    values = measured(network)
    assert values["folds"] == 4
    assert values["seen"] == 0
    assert values["bent"] == 0


def test_a_constructed_network_meets_every_lemma():
    values = measured(construct((3, 3, 2, 1), (-1, 1)), identified=True)
    assert [values[name] for name in ("seen", "within_layers_by_bends", "told")] == [1, 1, 1]
    assert values["surface_order"] == values["hidden_layers"] == 2


def test_few_crossings_is_transparent_and_general_and_its_layers_cannot_be_told():
    network = few_crossings()
    assert transparency(network, (-1, 1)).holds
    assert all_of(generality(network, (-1, 1)))
    surface = canonical_surface(enumerate_regions(network, (-1, 1)))
    assert surface.levels == (4,)
    assert sorted(surface.owner_layer.tolist()) == [1, 1, 2, 2]
    assert len(dependency_graph(surface).edges) == 0
    assert folds_name(1) in identifiability(network, (-1, 1)).unmet


def test_networks_are_drawn_until_one_is_as_wanted():
    domain = box(-1, 1, dimension=2)
    for wanted in (True, False):
        assert transparency(with_transparency((2, 2, 1), 0.5, 0, domain, wanted), domain).holds is wanted
    assert with_transparency((2, 2, 1), 0.0, 0, domain, True) is None


def test_draws_of_a_seed_do_not_depend_on_the_others():
    alone, together = random_relu((2, 3, 1), 0.5, [4]), random_relu((2, 3, 1), 0.5, range(6))
    assert torch.equal(alone.weights[1][0], together.weights[1][4])


def test_claims_are_sorted_by_setting():
    values = {"seen": 0.75, "surface_order": 2.0, "hidden_layers": 3.0}
    found = FoldsOfNetworks([NetworkFolds("not transparent", (2, 2, 1), s, values) for s in range(3)], None)
    assert np.allclose(some_are_hidden.values(found)["not transparent (2, 2, 1)"], 0.25)
    assert np.allclose(order_is_bounded.values(found)["not transparent (2, 2, 1)"], -1)


def test_a_seed_without_such_a_network_is_nan():
    """Without biases no network is transparent; with them one of the same widths is found and measured."""
    none = FoldShares(source="transparent", widths=(2, 2, 1), bias=0.0, seeds=1).run(Context())
    some = FoldShares(source="transparent", widths=(2, 2, 1), seeds=1).run(Context())
    assert np.isnan(none["seen"]).all()
    assert "told" not in none
    assert some["seen"].tolist() == [1.0]


def test_the_example_is_the_telling_network_with_the_longest_shortest_piece(tmp_path):
    (result,) = execute([FoldExamples(widths=(2, 3, 3, 3, 1), seeds=6)], Store(tmp_path), device="cpu")
    result.arrays["telling"] = np.array([False, True, False, True, True, False])
    result.arrays["shortest_piece"] = np.array([9.0, 1.0, -1.0, 3.0, 2.0, 5.0])
    assert chosen_example(result) == 3
    result.arrays["telling"][:] = False
    assert chosen_example(result) == 0
