"""Layers of units are the graph that they were made from, without any rounding where numbers are short."""

import numpy as np
import pytest
import torch

from tutelage.networks import outputs
from tutelage.networks.graphs.axes import concatenated, times_matrix
from tutelage.networks.graphs.lowering import lowered
from tutelage.networks.graphs.sparse import SparseNetwork
from tutelage.networks.graphs.values import bent, clipped, larger, quantised, smaller, start, total


def short(draw, *shape):
    """Multiples of 1/8 of few bits: sums and products of a few are exact in float64."""
    return draw.integers(-8, 9, shape) / 8


def random_graph(draw, inputs=3, rounds=6):
    """A graph of values of random kinds, joined at random."""
    values = [start((inputs,))]
    for _ in range(rounds):
        a, b = (values[int(draw.integers(len(values)))] for _ in range(2))
        a = times_matrix(a, short(draw, a.size, 3), short(draw, 3), "a")
        match draw.integers(8):
            case 0:
                a = bent(a, 0.0)
            case 1:
                a = bent(a, short(draw, 3))
            case 2 if b.size == 3:
                a = larger(a, b)
            case 3 if b.size == 3:
                a = smaller(a, b)
            case 4:
                a = clipped(a, np.full(3, -0.5), short(draw, 3) + 1)
            case 5:
                a = concatenated([a, b], 0, "joined")
            case 6 if b.size == 3:
                a = total([(1.0, a), (-0.5, bent(b, 0.0))], short(draw, 3))
            case _:
                a = bent(a, -1.0)
        values.append(a)
    return concatenated([values[-1], values[-2], values[0]], 0, "output")


@pytest.mark.parametrize("seed", range(30))
def test_layers_compute_the_graph_exactly(seed):
    draw = np.random.default_rng(seed)
    network = SparseNetwork.of(random_graph(draw), torch.float64)
    x = torch.from_numpy(short(draw, 50, 3))
    assert torch.equal(network.at(x), outputs(network.to_network(), x)[0])


def test_a_chain_keeps_its_units():
    value = bent(times_matrix(start((2,)), np.ones((2, 3)), None, "w"), 0.25)
    found = lowered(
        times_matrix(bent(times_matrix(value, np.ones((3, 3)), None, "v"), 0.25), np.ones((3, 1)), None, "u")
    )
    assert found.left == 0.25
    assert [layer.w.shape for layer in found.layers] == [(3, 2), (3, 3), (1, 3)]


def test_steps_become_slack_of_half_a_step():
    value = times_matrix(start((2,)), np.array([[1.0], [-2.0]]), None, "w")
    step = quantised(value, np.array([0.5]), np.array([-4.0]), np.array([4.0]))
    layers = lowered(times_matrix(step, np.array([[3.0]]), None, "v")).layers
    assert layers[-1].slack[0] == pytest.approx(0.75, rel=1e-12)
    assert layers[-1].slack[0] >= 0.75
