"""Questions about convolutions that are too large as matrices: equal, different, bounded, and top classes."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from tutelage.errors import TutelageError
from tutelage.functions import check_export, difference_bound, same_function, top_class_agreement
from tutelage.functions.layers.sparse import equal_graphs, sparser
from tutelage.networks import Network, SparseNetwork, to_network, to_sparse_network
from tutelage.networks.graphs.axes import times_matrix
from tutelage.networks.graphs.values import bent, quantised, start

SHAPE = (3, 24, 24)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.second, self.third = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.top = nn.Linear(8, 4)

    def forward(self, x):
        h = torch.relu(self.norm(self.first(x)))
        h = torch.relu(self.second(h) + h)
        return self.top(torch.relu(self.third(h)).mean((2, 3)))


def changed(module, change):
    module = copy.deepcopy(module)
    for p in module.parameters():
        p.data = change(p.data)
    return module


@pytest.fixture(scope="module")
def networks():
    """A network that is too large for dense layers, and copies: equal, in half precision, and with another bias."""
    torch.manual_seed(0)
    module = Residual().eval()
    other = copy.deepcopy(module)
    other.top.bias.data[2] -= 0.5
    made = {"first": module, "equal": module, "half": changed(module, lambda p: p.half().float()), "other": other}
    read = {name: to_sparse_network(m, shape=SHAPE) for name, m in made.items()}
    assert not read["first"].dense
    return read


def around(radius):
    centre = torch.rand(3 * 24 * 24, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return centre - radius, centre + radius


def test_equal_weights_are_the_same_at_once(networks):
    assert equal_graphs(networks["first"].graph, networks["equal"].graph)
    assert not equal_graphs(networks["first"].graph, networks["half"].graph)
    assert same_function(networks["first"], networks["equal"]).verdict == "same and related"
    assert difference_bound(networks["first"], networks["equal"], around(0.1)).at_most.max() == 0


def test_a_difference_is_found_on_random_points(networks):
    found = same_function(networks["first"], networks["other"])
    assert found.verdict == "different"
    assert found.difference == pytest.approx(0.5, abs=1e-6)
    close = difference_bound(networks["first"], networks["other"], around(0.1), 0.4)
    assert close.verdict == "violated"
    assert close.largest[2] == pytest.approx(0.5, abs=1e-6)


def test_a_copy_in_half_precision_is_bounded_around_a_point(networks):
    first, half = networks["first"], networks["half"]
    found = difference_bound(first, half, around(1 / 255), 5e-4, seconds=60)
    assert found.verdict == "holds"
    exact = difference_bound(first, half, around(1 / 255), seconds=60)
    assert (exact.largest <= exact.at_most).all()
    assert exact.at_most.max() < 20 * exact.largest.max()
    same = same_function(first, half, around(1 / 255), tolerance=5e-4)
    assert same.verdict == "same, not related"
    assert difference_bound(first, half, around(1 / 255), 1e-7).verdict == "violated"


def test_top_classes_agree_around_a_point_or_an_input_shows_that_they_do_not(networks):
    assert top_class_agreement(networks["first"], networks["half"], around(1e-4)).verdict == "holds"
    top = networks["first"].at(around(0)[0][None]).argmax().item()
    assert top == 2
    assert top_class_agreement(networks["first"], networks["other"], around(0.01)).verdict == "violated"


def test_an_export_is_checked(networks):
    data = torch.rand(5, 3 * 24 * 24, generator=torch.Generator().manual_seed(2))
    found = check_export(networks["first"], networks["other"], around(0.01), data, seconds=20)
    assert found.verdict == "fails"
    assert found.parting_layer == len(networks["first"].layers)
    assert found.on_data.max() == pytest.approx(0.5, abs=1e-6)


def test_time_limits_leave_the_best_bound(networks):
    found = difference_bound(networks["first"], networks["half"], around(0.5), 1e-9, seconds=0)
    assert found.verdict in ("not decided", "violated")
    told = []
    found = difference_bound(
        networks["first"], networks["half"], around(0.02), seconds=5, on_progress=lambda *a: told.append(a)
    )
    assert told
    assert all(bound >= largest for bound, largest, _ in told)


def test_networks_that_do_not_fit_are_named(networks):
    with pytest.raises(TutelageError, match="4 and 3 outputs"):
        difference_bound(networks["first"], nn.Sequential(nn.Linear(3 * 24 * 24, 3)), around(0.1))
    with pytest.raises(TutelageError, match="compare and check need no such matrices"):
        networks["first"].to_network()


def rounded(step):
    """A small network, and the same with its hidden values rounded to steps."""
    draw = np.random.default_rng(0)
    w, v = draw.normal(size=(2, 5)), draw.normal(size=(5, 2))

    def made(change):
        hidden = bent(times_matrix(start((2,)), w, None, "w"), 0.0)
        return SparseNetwork.of(times_matrix(change(hidden), v, None, "v"), torch.float64)

    ends = np.full(5, 4.0)
    return made(lambda h: h), made(lambda h: quantised(h, np.full(5, step), 0 * ends, ends))


def test_few_inputs_are_divided_until_the_bound_is_reached():
    first, second = rounded(2.0**-6)
    found = difference_bound(first, second, (-1, 1), seconds=6)
    assert (found.largest <= found.at_most).all()
    assert found.at_most.max() < 2.0**-6 * 5  # five values, half a step each, times weights
    assert difference_bound(first, second, (-1, 1), 0.2, seconds=20).verdict == "holds"
    assert difference_bound(first, second, (-1, 1), 1e-3, seconds=20).verdict == "violated"


def test_top_classes_of_quantised_networks_are_decided_on_parts():
    first, second = rounded(2.0**-6)
    found = top_class_agreement(first, second, (-1, 1), 0.3, seconds=6)
    assert found.verdict in ("holds", "not decided")
    assert top_class_agreement(first, second, ((0.5, 0.5), (1, 1)), 0.1, seconds=6).verdict == "holds"


def test_convolutions_written_out_as_matrices_are_bounded_as_convolutions():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU()
    module = nn.Sequential(*layers, nn.Flatten(), nn.Linear(8 * 25, 3))
    pair = module, changed(module, lambda p: p.half().float())
    dense = tuple(to_network(m, shape=(3, 20, 20)) for m in pair)
    assert all(isinstance(n, Network) for n in dense)
    chosen = sparser(*dense)
    assert chosen is not None
    assert chosen[0].weights < sum(w.numel() for w in dense[0].weights) / 16
    centre = torch.rand(1200, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    ends = centre - 0.01, centre + 0.01
    answer = difference_bound(*dense, ends, seconds=20)
    assert answer.largest.max() <= answer.at_most.max() <= 2 * answer.largest.max()
    x = (centre + 0.01 * (2 * torch.rand(200, 1200, dtype=torch.float64) - 1)).view(-1, 3, 20, 20)
    exact = tuple(copy.deepcopy(m).double() for m in pair)
    with torch.no_grad():
        assert ((exact[0](x) - exact[1](x)).abs().amax(0) <= answer.at_most).all()


def test_units_that_changed_places_stay_dense():
    torch.manual_seed(0)
    first, last = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Linear(8 * 100, 3)
    module = nn.Sequential(first, nn.ReLU(), nn.Flatten(), last)
    turned = copy.deepcopy(module)
    with torch.no_grad():
        turned[0].weight.copy_(first.weight.flip(0))
        turned[0].bias.copy_(first.bias.flip(0))
        turned[3].weight.copy_(last.weight.view(3, 8, 100).flip(1).flatten(1))
    pair = tuple(to_network(m, shape=(3, 20, 20)) for m in (module, turned))
    assert sparser(*pair) is None
    small = Network((torch.eye(2)[None],))
    assert sparser(small, small) is None
