"""The line between two networks: nothing lies on it where they are one function, and matching never makes it worse."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from tutelage.errors import TutelageError
from tutelage.functions import barrier
from tutelage.functions.matching.aligning import weight_matched
from tutelage.functions.matching.barriers import repaired
from tutelage.networks import Network, forward, outputs


def deep(seed: int, widths=(4, 7, 6, 3), members: int = 2, biases: bool = True) -> Network:
    source = torch.Generator().manual_seed(seed)
    weights = [torch.randn(members, a, b, generator=source) for a, b in pairwise(widths)]
    own = tuple(torch.randn(members, b, generator=source) for b in widths[1:]) if biases else None
    return Network(tuple(weights), own)


def shuffled(network: Network, seed: int, scaled: bool = True) -> Network:
    """The same function with units in another order and of another size."""
    source = torch.Generator().manual_seed(seed)
    weights, biases = list(network.weights), list(network.biases or ())
    for layer in range(network.depth - 1):
        order = torch.randperm(network.widths[layer + 1], generator=source)
        size = 0.5 + torch.rand(len(order), generator=source) if scaled else torch.ones(len(order))
        weights[layer] = weights[layer][:, :, order] * size
        weights[layer + 1] = weights[layer + 1][:, order] / size[:, None]
        if biases:
            biases[layer] = biases[layer][:, order] * size
    return Network(tuple(weights), tuple(biases) if biases else None)


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("by", ["activations", "both", "best"])
def test_networks_of_one_function_have_no_barrier_once_matched(by, biases):
    one = deep(0, biases=biases)
    other = shuffled(one, 1)
    x = torch.randn(300, 4, generator=torch.Generator().manual_seed(2))
    labels = outputs(one, x.expand(2, -1, -1))
    found = barrier(one, other, x, labels, by=by)
    assert (found.height("loss") > 0.1).all()
    assert (found.height("matched") < 1e-6).all()
    torch.testing.assert_close(
        outputs(found.second, x.expand(2, -1, -1).double()).float(), labels, rtol=1e-4, atol=1e-4
    )


def test_weight_matching_undoes_a_permutation_and_keeps_the_function():
    one = deep(3).to(dtype=torch.float64)
    other = shuffled(one, 4, scaled=False)
    back = weight_matched(one, other)
    for a, b in zip(one.parameters, back.parameters, strict=True):
        torch.testing.assert_close(a, b)
    near = deep(5).to(dtype=torch.float64)
    x = torch.randn(2, 20, 4, dtype=torch.float64)
    torch.testing.assert_close(outputs(weight_matched(one, near), x), outputs(near, x))


def test_a_layer_at_a_fixed_point_is_assigned_as_scipy_would():
    """With all layers but one fixed, the order is that of the largest sum of products of both sides."""
    one, other = (deep(seed, (3, 5, 2), members=1).to(dtype=torch.float64) for seed in (6, 7))
    found = weight_matched(one, other)
    gain = one.weights[0][0].T @ other.weights[0][0] + one.weights[1][0] @ other.weights[1][0].T
    gain = gain + one.biases[0][0][:, None] * other.biases[0][0]
    order = linear_sum_assignment(gain.numpy(), maximize=True)[1]
    assert found.weights[0][0].equal(other.weights[0][0][:, order])


def test_best_is_never_worse_half_way_than_any_single_way():
    """Where the weights alone leave no barrier, nothing else is tried."""
    x = torch.randn(200, 4, generator=torch.Generator().manual_seed(1))
    for seed in (8, 10, 12):
        one, other = deep(seed, members=4), deep(seed + 1, members=4)
        classes = outputs(one, x.expand(4, -1, -1)).argmax(2)
        found = {by: barrier(one, other, x, classes, by=by, steps=2) for by in ("best", "weights", "activations")}
        middle = {by: each.matched[1] for by, each in found.items()}
        least = torch.minimum(middle["weights"], middle["activations"])
        ends = found["best"].matched[[0, 2]].mean(0)
        flat = (middle["weights"] <= ends).all()
        assert (middle["best"] <= (ends if flat else least) + 1e-12).all()
        assert set(found["best"].how) == {"weights"} or not flat


def test_classes_have_accuracies_and_numbers_have_none():
    one, other = deep(10), deep(11)
    x = torch.randn(100, 4, generator=torch.Generator().manual_seed(3))
    classes = outputs(one, x.expand(2, -1, -1)).argmax(2)
    found = barrier(one, other, x, classes, repair=True, steps=4)
    assert found.places.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert (found.accuracy[0] == 1).all()
    by_hand = torch.nn.functional.cross_entropy(outputs(one, x.expand(2, -1, -1))[1].double(), classes[1])
    assert float(found.loss[0, 1]) == pytest.approx(float(by_hand), rel=1e-5)
    assert found.repaired.shape == found.repaired_accuracy.shape == (5, 2)
    assert barrier(one, other, x, torch.zeros(100, 3)).accuracy is None
    assert "barrier" in repr(found)


def test_repaired_units_have_the_mean_of_both_statistics_and_ends_stay():
    one, other = (deep(seed).to(dtype=torch.float64) for seed in (12, 13))
    x = torch.randn(2, 400, 4, dtype=torch.float64)
    pairs = zip(one.parameters, other.parameters, strict=True)
    half = [(a + b) / 2 for a, b in pairs]
    middle = Network(tuple(half[:3]), tuple(half[3:]))
    fixed = repaired(middle, [(0.5, one), (0.5, other)], x)
    for layer in range(2):
        inner = [
            forward(n, x).features[layer] @ n.weights[layer] + n.biases[layer][:, None] for n in (one, other, fixed)
        ]
        for statistic in (lambda u: u.mean(1), lambda u: u.std(1, correction=0)):
            a, b, c = map(statistic, inner)
            torch.testing.assert_close(c, (a + b) / 2)
    torch.testing.assert_close(outputs(repaired(one, [(1.0, one), (0.0, other)], x), x), outputs(one, x))


def test_what_does_not_fit_is_an_error():
    one = deep(14)
    x = torch.randn(10, 4)
    with pytest.raises(TutelageError, match="labels of shape"):
        barrier(one, one, x, torch.zeros(10, 2))
    with pytest.raises(TutelageError, match="classes"):
        barrier(one, one, x, torch.full((10,), 3))
    with pytest.raises(TutelageError, match="at least 2 steps"):
        barrier(one, one, x, torch.zeros(10, 3), steps=1)
    with pytest.raises(TutelageError, match="one architecture"):
        barrier(one, deep(15, (4, 5, 6, 3)), x, torch.zeros(10, 3), by="weights")
    with pytest.raises(TutelageError, match="repair=True"):
        barrier(one, one, x, torch.zeros(10, 3)).height("repaired")


def test_heights_are_the_excess_over_the_straight_line():
    one, other = deep(16, members=1), deep(17, members=1)
    x = torch.randn(50, 4, generator=torch.Generator().manual_seed(5))
    found = barrier(one, other, x, torch.zeros(50, 3), steps=10)
    loss = found.loss[:, 0].numpy()
    line = np.linspace(loss[0], loss[-1], 11)
    assert float(found.height("loss")) == pytest.approx(max(0.0, (loss - line).max()))
