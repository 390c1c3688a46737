"""Two networks with the same widths and depth, as the compiled bounds take them."""

import numpy as np

from tutelage.functions.bounding._boxes import Pair
from tutelage.functions.checks import bias, in_double
from tutelage.functions.pruning.intervals import slopes
from tutelage.networks import Network

Layer = tuple[np.ndarray, np.ndarray, float]
"""Weights [out, in], biases [out] and the slope of the activation below 0; 1 for none."""


def joined(first: Network, second: Network) -> Pair:
    """Two networks of one member with units and layers added until their shapes agree; no function changes.

    Added units have no weights; added layers, below the top one, hand on what they are given.

    >>> a = Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)))
    >>> b = Network((torch.ones(1, 2, 4), torch.ones(1, 4, 2), torch.ones(1, 2, 1)))
    >>> joined(a, b).widths.tolist()
    [2, 4, 3, 1]
    """
    depth = max(first.depth, second.depth)
    f, g = (_deepened(_layers(in_double(n)), depth) for n in (first, second))
    widths = [first.inputs, *(max(len(a[1]), len(b[1])) for a, b in zip(f, g, strict=True))]
    f, g = (_widened(layers, widths) for layers in (f, g))
    wf, wg, bf, bg = (_flat([layer[part] for layer in layers]) for part in (0, 1) for layers in (f, g))
    left_f, left_g = (np.array([layer[2] for layer in layers[:-1]]) for layers in (f, g))
    return Pair(np.array(widths), wf, wg, wf - wg, bf, bg, bf - bg, left_f, left_g)


def columns_for(pair: Pair, free: int) -> int:
    """The most columns of a zonotope on a box with so many sides that are not flat."""
    return 1 + free + 2 * int(pair.widths[1:-1].sum())


def _layers(network: Network) -> list[Layer]:
    left = slopes(network)[0]
    return [
        (np.ascontiguousarray(w[0].numpy().T), bias(network, layer)[0].numpy(), left)
        for layer, w in enumerate(network.weights)
    ]


def _deepened(layers: list[Layer], depth: int) -> list[Layer]:
    n = layers[-1][0].shape[1]
    through = [(np.eye(n), np.zeros(n), 1.0)] * (depth - len(layers))
    return [*layers[:-1], *through, layers[-1]] if len(layers) > 1 else [*through, layers[-1]]


def _widened(layers: list[Layer], widths: list[int]) -> list[Layer]:
    wide = []
    for (w, b, left), m, n in zip(layers, widths, widths[1:], strict=False):
        more = n - len(b), m - w.shape[1]
        wide.append((np.pad(w, ((0, more[0]), (0, more[1]))), np.pad(b, (0, more[0])), left))
    return wide


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([a.ravel() for a in arrays])
