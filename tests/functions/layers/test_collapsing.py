"""Layers that only undo a split are made one with the layer below, without changing the function."""

import numpy as np
import torch

from tutelage.functions.comparing.difference import difference_bound
from tutelage.functions.layers.collapsing import Layer, collapsed
from tutelage.functions.layers.pairs import joined
from tutelage.networks import Network


def split_network(rng, offset=0.0):
    """A network 3-4-2 in float32, and the same with two units of its hidden layer split and joined again."""
    w, b, v, c = (rng.normal(size=s).astype(np.float32) for s in ((4, 3), (4,), (2, 4), (2,)))
    split_w, split_b = np.concatenate([w, -w[:2]]), np.concatenate([b, -b[:2]])
    split_b[:2] += np.float32(0.25)
    split_b[4:] -= np.float32(0.25)
    join = np.concatenate([np.eye(4), -np.eye(4)[:, :2]], axis=1).astype(np.float32)
    join_b = np.array([-0.25 + offset, -0.25, 0, 0], np.float32)
    plain, split = [(w, b), (v, c)], [(split_w, split_b), (join, join_b), (v, c)]
    return _network(plain), _network(split)


def _network(layers):
    weights = tuple(torch.from_numpy(w.T.copy()).unsqueeze(0) for w, _ in layers)
    return Network(weights, tuple(torch.from_numpy(b).unsqueeze(0) for _, b in layers))


def test_split_units_are_proved_to_be_the_same_on_the_whole_box_at_once():
    for seed in range(10):
        first, second = split_network(np.random.default_rng(seed))
        assert joined(first, second).widths.tolist() == [3, 4, 2]
        found = difference_bound(first, second, (-1, 1), 1e-5)
        assert found.holds
        assert found.parts == 1


def test_a_join_that_is_a_little_off_is_found():
    first, second = split_network(np.random.default_rng(0), offset=0.1)
    found = difference_bound(first, second, (-3, 3))
    assert found.largest.max() > 0.01


def test_layers_that_do_more_than_join_stay():
    rng = np.random.default_rng(0)
    zeros = np.zeros(3)
    dense = [Layer(rng.normal(size=(3, 3)), zeros, 0.0, zeros) for _ in range(3)]
    assert collapsed(dense) == dense
    shifted = [Layer(np.eye(3), zeros, 0.0, zeros), Layer(np.eye(3), zeros - 1, 0.0, zeros), dense[0]]
    assert len(collapsed(shifted)) == 3
    same_sign = [
        Layer(np.array([[1.0], [1.0]]), zeros[:2], 0.0, zeros[:2]),
        Layer(np.ones((1, 2)), zeros[:1], 0.0, zeros[:1]),
    ]
    assert len(collapsed([*same_sign, Layer(np.ones((1, 1)), zeros[:1], 0.0, zeros[:1])])) == 3
