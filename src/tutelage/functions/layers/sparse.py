"""Two networks with sparse layers, made to have the same widths and depth."""

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.answers import Rooms
from tutelage.functions.layers.collapsing import Layer, collapsed
from tutelage.functions.layers.pairs import LayerPair
from tutelage.networks import Network, SparseNetwork
from tutelage.networks.graphs.lowering import SparseLayer
from tutelage.networks.graphs.sparse import MergedNetwork, reading_error
from tutelage.networks.graphs.values import Map, Value, in_order

SparsePair = tuple[SparseNetwork, SparseNetwork]
_LARGE, _ZEROS = 1 << 20, 16  # weights of a network, and of how many of them at most one is not 0
_NEAR = 0.25  # the largest difference of the weights of nearly equal layers, as a share of their sizes


def joined(first: SparseNetwork, second: SparseNetwork) -> list[LayerPair]:
    """Both networks with units and layers added until their shapes agree; no function changes.

    Layers that only put together what the ones below took apart are made one with these before.
    """
    made = [_collapsed(network) for network in (first, second)]
    depth = max(map(len, made))
    f, g = (_deepened(layers, depth) for layers in made)
    layers, below = [], first.inputs
    for (a, left_f), (b, left_g) in zip(f, g, strict=True):
        n = max(len(a.b), len(b.b))
        wf, wg = _widened(a.w, n, below), _widened(b.w, n, below)
        bf, bg, slack_f, slack_g = (np.pad(x, (0, n - len(x))) for x in (a.b, b.b, a.slack, b.slack))
        wd = Map(wf - wg)
        # Equal weights cancel to stored zeros, which would be multiplied by in every bound.
        wd.eliminate_zeros()
        terms = sum(int(np.diff(w.indptr).max(initial=0)) for w in (wf, wg, wd))
        positive_f, positive_g = (np.pad(x.positive, (0, n - len(x.b)), constant_values=True) for x in (a, b))
        layers.append(
            LayerPair(wf, wg, wd, bf, bf - bg, slack_f, slack_g, left_f, left_g, positive_f, positive_g, terms)
        )
        below = n
    return layers


def _collapsed(network: SparseNetwork) -> list[tuple[SparseLayer, float]]:
    """The layers of a network, each with the slope of its units below 0."""
    given = [Layer(layer.w, layer.b, network.left, layer.slack) for layer in network.layers]
    # Of layers that are made one nothing is known; the others are handed on as they are.
    known = {id(layer.b): source.positive for layer, source in zip(given, network.layers, strict=True)}
    joined = collapsed(given)
    unknown = [np.zeros(len(layer.b), dtype=bool) for layer in joined]
    positive = [known.get(id(layer.b), none) for layer, none in zip(joined, unknown, strict=True)]
    rows = zip(joined, positive, strict=True)
    return [(SparseLayer(Map(layer.w), layer.b, layer.slack, at_least_0), network.left) for layer, at_least_0 in rows]


def _deepened(layers: list[tuple[SparseLayer, float]], depth: int) -> list[tuple[SparseLayer, float]]:
    n = layers[-1][0].w.shape[1]
    eye = Map((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))
    # Slope 1 on both sides hands on numbers of either sign as they are.
    through = [(SparseLayer(eye, np.zeros(n), np.zeros(n), np.zeros(n, bool)), 1.0)] * (depth - len(layers))
    return [*layers[:-1], *through, layers[-1]]


def _widened(w: Map, n: int, m: int) -> Map:
    if w.shape == (n, m):
        return w
    ends = np.pad(w.indptr, (0, n - w.shape[0]), mode="edge")
    return Map((w.data, w.indices, ends), shape=(n, m))


def equal_graphs(first: Value, second: Value) -> bool:
    """Whether two graphs have the same operators with the same numbers in the same places."""
    a, b = in_order(first), in_order(second)
    places = [{id(v): k for k, v in enumerate(order)} for order in (a, b)]
    return len(a) == len(b) and all(_equal(v, w, places) for v, w in zip(a, b, strict=True))


def _equal(first: Value, second: Value, places: list[dict[int, int]]) -> bool:
    if first.shape != second.shape or len(first.terms) != len(second.terms):
        return False
    arrays = zip((first.shift, first.left, first.step), (second.shift, second.left, second.step), strict=True)
    if not all(_same(a, b) for a, b in arrays):
        return False
    of_first, of_second = (() if v.rounded is None else v.rounded.of for v in (first, second))
    if len(of_first) != len(of_second) or not all(map(_same, of_first, of_second)):
        return False
    return all(
        places[0][id(v)] == places[1][id(w)] and _same_map(x, y)
        for (v, x), (w, y) in zip(first.terms, second.terms, strict=True)
    )


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def _same_map(a: Map | None, b: Map | None) -> bool:
    if a is None or b is None:
        return a is b
    parts = ((a.data, b.data), (a.indices, b.indices), (a.indptr, b.indptr))
    return a.shape == b.shape and all(np.array_equal(x, y) for x, y in parts)


def sparse_pair(first: Network | SparseNetwork, second: Network | SparseNetwork) -> SparsePair | None:
    """Both networks with sparse layers where one of them has such, else None; an error where they do not fit."""
    if isinstance(first, Network) and isinstance(second, Network):
        return None
    pair = tuple(n if isinstance(n, SparseNetwork) else SparseNetwork.of_network(n) for n in (first, second))
    for what, a, b in (
        ("inputs", pair[0].inputs, pair[1].inputs),
        ("outputs", pair[0].outputs, pair[1].outputs),
    ):
        if a != b:
            raise TutelageError(f"the networks have {a} and {b} {what}: give two networks with the same number")
    return pair  # type: ignore[return-value]


def sparser(first: Network, second: Network) -> SparsePair | None:
    """Both networks with sparse layers where these are large, mostly zeros, and nearly equal; else None.

    So are a convolutional network that was written out as matrices and its copy in another precision. Bounds of single
    units cost what they look at alone there, so that far more of them are made narrower in the time. Units that changed
    places are put side by side in dense layers alone.
    """
    if first.widths != second.widths or first.members != 1 or second.members != 1:
        return None
    stored = used = 0
    for a, b in zip(first.weights, second.weights, strict=True):
        if (a.double() - b.double()).abs().sum() > _NEAR * a.double().abs().sum():
            return None
        stored, used = stored + a.numel(), used + int(torch.maximum(a.abs(), b.abs()).count_nonzero())
    if stored < _LARGE or used * _ZEROS > stored:
        return None
    return SparseNetwork.of_network(first), SparseNetwork.of_network(second)


def equal(pair: SparsePair) -> bool:
    """Whether two networks compute the same operators with the same numbers."""
    return equal_graphs(pair[0].graph, pair[1].graph)


def reading_errors(first: object, second: object, low: Tensor, high: Tensor) -> Rooms:
    """How far each output of two networks may be from the ones they were read from, on a box: [C] twice.

    None where both are the same graph: the same rounding does not set them apart.
    """
    graphs = [network.source for network in (first, second) if isinstance(network, MergedNetwork)]
    a, b = (reading_error(network, low, high) for network in (first, second))
    if len(graphs) == 2 and None not in graphs and equal_graphs(graphs[0].graph, graphs[1].graph):  # type: ignore[union-attr]
        return torch.zeros_like(a), torch.zeros_like(b)
    return a, b
