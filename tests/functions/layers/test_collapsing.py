"""Layers that only undo a split are made one with the layer below, without changing the function."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, issparse

from tutelage.functions.checks import in_double
from tutelage.functions.comparing.difference import difference_bound
from tutelage.functions.layers.collapsing import Layer, collapsed
from tutelage.functions.layers.pairs import joined, layers_from
from tutelage.networks import Network, SparseNetwork


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


def test_sparse_layers_collapse_as_dense_ones_do():
    for seed in range(10):
        first, second = split_network(np.random.default_rng(seed))
        dense = collapsed(layers_from(in_double(second)))
        given = [layer._replace(w=csr_array(layer.w)) for layer in layers_from(in_double(second))]
        thin = collapsed(given)
        assert [layer.w.shape for layer in thin] == [layer.w.shape for layer in dense] == [(4, 3), (2, 4)]
        for a, b in zip(thin, dense, strict=True):
            np.testing.assert_array_equal(a.w.toarray(), b.w)
            np.testing.assert_array_equal(a.b, b.b)
            np.testing.assert_array_equal(a.slack, b.slack)
        found = difference_bound(SparseNetwork.of_network(first), SparseNetwork.of_network(second), (-1, 1), 1e-5)
        assert found.holds
        assert found.parts == 1


def exactly(layer, x):
    """The pre-activations of a layer without rounding."""
    rows = layer.w.toarray() if issparse(layer.w) else layer.w
    return [
        sum((Fraction(w) * v for w, v in zip(row, x, strict=True)), Fraction(b))
        for row, b in zip(rows.tolist(), layer.b.tolist(), strict=True)
    ]


@pytest.mark.parametrize("made", [np.asarray, csr_array])
def test_a_collapsed_layer_is_off_by_no_more_than_its_slack(made):
    """Without rounding: what both layers give at random inputs, against the one that was made of them.

    After their units: a unit that reads one other alone sees its feature, and the one that was made of both what is
    below that.
    """
    for seed in range(30):
        rng = np.random.default_rng(seed)
        _, second = split_network(rng, offset=float(rng.normal()))
        layers = [layer._replace(w=made(layer.w)) for layer in layers_from(in_double(second))]
        joined_layers = collapsed(layers)
        assert len(joined_layers) == 2
        for _ in range(5):
            x = [Fraction(v) for v in rng.normal(size=3)]
            below = [max(Fraction(0), u) for u in exactly(layers[0], x)]
            both = zip(exactly(layers[1], below), exactly(joined_layers[0], x), strict=True)
            apart = [abs(max(Fraction(0), a) - max(Fraction(0), b)) for a, b in both]
            assert all(a <= Fraction(s) for a, s in zip(apart, joined_layers[0].slack.tolist(), strict=True))


@pytest.mark.parametrize("made", [np.asarray, csr_array])
def test_a_split_with_one_other_number_stays_apart(made):
    """Every number of the two layers matters: none may be changed without the layers being kept as two."""
    rng = np.random.default_rng(0)
    _, second = split_network(rng)
    given = layers_from(in_double(second))
    for place in [(0, 0), (1, 2), (4, 1), (5, 0)]:  # the units that were split, on either side
        w = given[0].w.copy()
        w[place] *= np.float32(1.5)
        changed = [given[0]._replace(w=made(w)), *(layer._replace(w=made(layer.w)) for layer in given[1:])]
        assert len(collapsed(changed)) == 3
    for unit in (0, 1, 4, 5):
        b = given[0].b.copy()
        b[unit] += np.float32(2.0**-10)
        changed = [given[0]._replace(w=made(given[0].w), b=b), *(l._replace(w=made(l.w)) for l in given[1:])]
        assert len(collapsed(changed)) == 3
    for place, value in [((0, 0), -1.0), ((0, 4), 1.0), ((0, 4), -0.5), ((2, 2), -1.0), ((2, 3), 0.5)]:
        w = given[1].w.copy()
        w[place] = value
        changed = [
            given[0]._replace(w=made(given[0].w)),
            given[1]._replace(w=made(w)),
            given[2]._replace(w=made(given[2].w)),
        ]
        assert len(collapsed(changed)) == 3, (place, value)


def test_weights_whose_products_overflow_are_no_warning():
    """Two units of weights near 1e200 in each of two sums: their product is infinite, its sign is not."""
    zero = np.zeros(3)
    lower = Layer(np.array([[0.0], [-1.7], [0.05]]), zero, 0.0, zero)
    upper = Layer(np.array([[0.0, -8e199, -2e200], [-6e199, 0.0, -2e200]]), np.array([1e200, 1e200]), 0.0, zero[:2])
    top = Layer(np.ones((1, 2)), zero[:1], 0.0, zero[:1])
    assert len(collapsed([lower, upper, top])) == 3  # nothing is joined
