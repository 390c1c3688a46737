"""Clips that a box hardly reaches: what is left out or becomes noise moves no bound below a difference that is met."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from tutelage.functions import difference_bound
from tutelage.functions.bounds.whole_box import BoxBounds
from tutelage.functions.layers.sparse import joined
from tutelage.networks import SparseNetwork
from tutelage.networks.graphs.axes import times_matrix
from tutelage.networks.graphs.unclipping import unclipped
from tutelage.networks.graphs.values import bent, clipped, in_order, quantised, start

WIDTHS = (5, 12, 12, 3)


def float_and_quantised(seed, top, step=1 / 64):
    """A network, and itself with inputs and hidden values rounded to steps and kept below ``top`` times their largest
    value on random inputs, as static quantisers do."""
    draw = np.random.default_rng(seed)
    f = start((WIDTHS[0],))
    g = quantised(start((WIDTHS[0],)), np.full(WIDTHS[0], step), np.full(WIDTHS[0], -2.0), np.full(WIDTHS[0], 2.0))
    x = draw.uniform(-1, 1, (500, WIDTHS[0]))
    for layer, (m, n) in enumerate(pairwise(WIDTHS)):
        w, b = draw.normal(size=(m, n)) / m**0.5, draw.normal(size=n) / 4
        f, g, x = times_matrix(f, w, b, "f"), times_matrix(g, w, b, "g"), x @ w + b
        if layer < len(WIDTHS) - 2:
            f, g, x = bent(f, 0.0), bent(g, 0.0), np.maximum(x, 0)
            end = np.ceil(top * x.max() / step) * step
            g = quantised(g, np.full(n, step), np.zeros(n), np.full(n, end))
    return SparseNetwork.of(f, torch.float64), SparseNetwork.of(g, torch.float64)


def largest(first, second, low, high):
    x = torch.from_numpy(np.random.default_rng(0).uniform(low, high, (4000, len(low))))
    return (first.at(x) - second.at(x)).abs().amax(0).numpy()


@pytest.mark.parametrize("top", [0.3, 0.8, 1.0, 3.0])
@pytest.mark.parametrize("radius", [0.1, 1.0])
def test_bounds_hold_whatever_the_clips_take_away(top, radius):
    for seed in range(4):
        first, second = float_and_quantised(seed, top)
        low, high = np.full(5, -radius), np.full(5, radius)
        without = SparseNetwork.of(unclipped(second.graph, low, high), torch.float64)
        assert len(without.layers) < len(second.layers)
        box = BoxBounds(joined(first, without), low, high)
        box.work(None)
        met = largest(first, second, low, high)
        assert (met <= box.differences()).all()
        answer = difference_bound(first, second, (torch.from_numpy(low), torch.from_numpy(high)), seconds=1)
        assert (met <= answer.at_most.numpy()).all()


def test_layers_that_stand_side_by_side_leave_a_tenth_of_the_bound():
    first, second = float_and_quantised(0, 3.0)
    low, high = np.full(5, -0.1), np.full(5, 0.1)
    without = SparseNetwork.of(unclipped(second.graph, low, high), torch.float64)
    bounds = []
    for network in (second, without):
        box = BoxBounds(joined(first, network), low, high)
        box.work(None)
        bounds.append(box.differences().max())
    assert len(without.layers) == len(first.layers)
    assert bounds[1] < 0.1 * bounds[0]


def test_a_clip_that_nothing_reaches_is_left_out_and_one_that_all_values_reach_stays_bounded():
    value = clipped(start((2,)), np.zeros(2), np.ones(2))
    assert unclipped(value, np.full(2, 0.1), np.full(2, 0.9)) is not value
    assert not any(v.bends for v in in_order(unclipped(value, np.full(2, 0.1), np.full(2, 0.9))))
    outside = unclipped(value, np.full(2, 2.0), np.full(2, 3.0))  # always 1
    network = SparseNetwork.of(outside or value, torch.float64)
    box = BoxBounds(joined(network, network), np.full(2, 2.0), np.full(2, 3.0))
    box.work(None)
    assert (box.differences() >= 0).all()


def test_a_graph_without_clips_is_not_changed():
    value = bent(times_matrix(start((2,)), np.array([[1.0, -1.0], [0.5, 2.0]]), None, "w"), 0.0)
    assert unclipped(value, -np.ones(2), np.ones(2)) is None
