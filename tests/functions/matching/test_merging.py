"""Several networks in one order: the same functions, no worse than matching to the first, and the average of copies."""

from itertools import pairwise, permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions import explain_barrier, merge
from tutelage.functions.matching.aligning import weight_matched
from tutelage.functions.matching.barriers import barrier
from tutelage.networks import Network, forward, outputs

POINTS = torch.randn(200, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def random_network(seed, widths=(3, 6, 5, 2), members=2, biased=True):
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(members, *shape, generator=draw, dtype=torch.float64)

    weights = tuple(normal(i, o) for i, o in pairwise(widths))
    return Network(weights, tuple(normal(o) for o in widths[1:]) if biased else None)


def products(networks):
    """Sum over pairs of networks of the products of all their weights: [S]."""
    total = torch.zeros(networks[0].members, dtype=torch.float64)
    for k, one in enumerate(networks):
        for other in networks[:k]:
            for p, q in zip(one.parameters, other.parameters, strict=True):
                total += (p * q).flatten(1).sum(1)
    return total


@given(st.integers(0, 10_000), st.sampled_from(["weights", "activations"]), st.booleans())
@settings(max_examples=20, deadline=None)
def test_every_network_stays_the_function_it_was(seed, by, biased):
    networks = [random_network(seed + k, biased=biased) for k in range(3)]
    found = merge(networks, POINTS, torch.zeros(200, 2), by=by)
    for before, after in zip(networks, found.networks, strict=True):
        assert torch.allclose(outputs(before, POINTS), outputs(after, POINTS), atol=1e-12)
    mean = sum(n.weights[1] for n in found.networks) / 3
    assert torch.allclose(found.average.weights[1], mean)


def test_turns_end_no_lower_than_matching_to_the_first():
    for seed in range(20):
        networks = [random_network(100 * seed + k, members=1) for k in range(4)]
        found = merge(networks, POINTS, torch.zeros(200, 2), by="weights")
        to_first = [networks[0], *(weight_matched(networks[0], n) for n in networks[1:])]
        assert float(products(found.networks)) >= float(products(to_first)) - 1e-12


def test_activations_of_three_small_networks_against_all_orders():
    """One hidden layer of three units: all 36 orders of two networks against the first; turns end near the best."""
    shares = []
    for seed in range(20):
        networks = [random_network(10 * seed + k, (3, 3, 2), 1, biased=False) for k in range(3)]
        features = [forward(n, POINTS).features[1][0] for n in networks]
        a, b, c = (torch.corrcoef(torch.cat(pair, 1).T)[:3, 3:].numpy() for pair in
                   ((features[0], features[1]), (features[0], features[2]), (features[1], features[2])))  # fmt: skip
        values = {
            (p, q): sum(a[i, p[i]] + b[i, q[i]] + c[p[i], q[i]] for i in range(3))
            for p in permutations(range(3))
            for q in permutations(range(3))
        }
        found = merge(networks, POINTS, torch.zeros(200, 2), by="activations")
        moved = [forward(n, POINTS).features[1][0] for n in found.networks]
        reached = sum(
            torch.corrcoef(torch.cat([moved[i], moved[j]], 1).T)[:3, 3:].diag().sum()
            for i, j in ((0, 1), (0, 2), (1, 2))
        )
        assert float(reached) <= max(values.values()) + 1e-9
        assert float(reached) >= sorted(values.values())[len(values) // 2]
        shares.append(float(reached) > max(values.values()) - 1e-9)
    assert sum(shares) >= 10


def test_copies_in_other_orders_average_to_the_network_itself():
    one = random_network(3)
    draw = torch.Generator().manual_seed(1)
    orders = [[torch.randperm(n, generator=draw) for n in (6, 5)] for _ in range(3)]
    copies = [
        Network(
            (one.weights[0][..., p], one.weights[1][:, p][..., q], one.weights[2][:, q]),
            (one.biases[0][:, p], one.biases[1][:, q], one.biases[2]),
        )
        for p, q in orders
    ]
    found = merge([one, *copies], POINTS, torch.zeros(200, 2), by="activations")
    assert torch.allclose(outputs(found.average, POINTS), outputs(one, POINTS), atol=1e-12)


def test_a_narrower_network_gets_idle_units():
    wide, narrow = random_network(0, (3, 6, 5, 2)), random_network(1, (3, 4, 5, 2))
    found = merge([wide, narrow], POINTS, torch.zeros(200, 2))
    assert found.networks[1].widths == (3, 6, 5, 2)
    assert torch.allclose(outputs(found.networks[1], POINTS), outputs(narrow, POINTS), atol=1e-12)
    assert str(found).startswith("Merged: 2 networks")


def test_repair_restores_the_mean_statistics():
    networks = [random_network(k, (3, 20, 20, 2)) for k in range(3)]
    plain, repaired = (merge(networks, POINTS, torch.zeros(200, 2), by="weights", repair=r) for r in (False, True))

    def deviations(network):
        return (forward(network, POINTS).features[1] @ network.weights[1] + network.biases[1][:, None]).std(1).mean()

    goal = sum(deviations(n) for n in plain.networks) / 3
    assert deviations(plain.average) < 0.9 * goal
    assert torch.isclose(deviations(repaired.average), goal)


def test_classes_have_accuracies():
    labels = torch.randint(2, (200,), generator=torch.Generator().manual_seed(2))
    found = merge([random_network(k) for k in range(3)], POINTS, labels)
    assert found.accuracy.shape == (3, 2)
    assert found.average_accuracy.shape == (2,)


@pytest.mark.parametrize(
    ("networks", "message"),
    [
        ([random_network(0)], "two or more, got 1"),
        ([random_network(0), random_network(1, (3, 6, 2))], "one depth, got 3 of network 0 and 2 of 1"),
        ([random_network(0), random_network(1, (4, 6, 5, 2))], "inputs"),
        ([random_network(0), Network(random_network(1).weights, None, "leaky", 0.1)], "one activation"),
    ],
)
def test_what_cannot_be_merged_is_said(networks, message):
    with pytest.raises(TutelageError, match=message):
        merge(networks, POINTS, torch.zeros(200, 2))


def test_what_is_no_list_of_networks_is_said():
    for networks in (random_network(0), None, "a.safetensors"):
        with pytest.raises(TutelageError, match="networks must be a list of two or more networks, got"):
            merge(networks, POINTS, torch.zeros(200, 2))


def test_labels_that_are_not_finite_are_said():
    labels = torch.zeros(200, 2)
    labels[3, 1] = torch.nan
    with pytest.raises(TutelageError, match="some labels are not finite"):
        merge([random_network(0), random_network(1)], POINTS, labels)


def test_an_unknown_way_of_matching_is_named():
    with pytest.raises(TutelageError, match="by must be 'weights', 'activations' or 'best', got 'both'"):
        merge([random_network(0), random_network(1)], POINTS, torch.zeros(200, 2), by="both")


def test_reasons_of_a_barrier_between_independent_networks():
    a, b = random_network(0, (3, 30, 30, 2)), random_network(1, (3, 30, 30, 2))
    labels = outputs(a, POINTS)[0]
    line = barrier(a, b, POINTS, labels, by="weights", repair=True, steps=2)
    found = explain_barrier(a, line, POINTS, labels)
    assert torch.allclose(found.excess, line.matched[1] - (line.matched[0] + line.matched[2]) / 2)
    assert torch.allclose(found.repaired, line.repaired[1] - (line.repaired[0] + line.repaired[2]) / 2)
    assert found.layer.shape == (3, 2)
    assert (found.spread < 0.95).all()
    u, v = (POINTS @ n.weights[0] + n.biases[0][:, None] for n in (a, line.second))
    expected = [torch.corrcoef(torch.stack([u[0, :, k], v[0, :, k]]))[0, 1] for k in range(30)]
    assert torch.isclose(found.agreement[0, 0], torch.stack(expected).mean())
    last = a.weights[2], (a.weights[2] + line.second.weights[2]) / 2
    top = [Network((*n.weights[:2], last[1]), (*n.biases[:2], (a.biases[2] + line.second.biases[2]) / 2))
           for n in (a, line.second)]  # fmt: skip
    squares = [((outputs(n, POINTS) - labels) ** 2).sum(2).mean(1) / 2 for n in top]
    ends = (line.matched[0] + line.matched[2]) / 2
    assert torch.allclose(found.layer[2], (squares[0] + squares[1]) / 2 - ends)


def test_two_orders_of_one_network_have_no_barrier_to_explain():
    a = random_network(0)
    found = explain_barrier(a, a, POINTS, torch.zeros(200, 2))
    assert torch.allclose(found.excess, torch.zeros(2, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(found.spread, torch.ones(2, 2, dtype=torch.float64))
    assert torch.allclose(found.agreement, torch.ones(2, 2, dtype=torch.float64))


def test_a_constant_unit_counts_in_neither_spread_nor_agreement():
    a = random_network(0, (3, 4, 2))
    silent = torch.cat([a.weights[0][..., :3], torch.zeros(2, 3, 1)], 2)
    b = Network((silent, a.weights[1]), a.biases)
    found = explain_barrier(b, b, POINTS, torch.zeros(200, 2))
    assert torch.allclose(found.agreement, torch.ones(1, 2, dtype=torch.float64))
