"""Two networks with the same widths and depth, as the compiled bounds take them."""

import numpy as np
import torch
from torch import Tensor

from tutelage.functions.bounding._boxes import Pair
from tutelage.functions.bounding.collapsing import Layer, collapsed
from tutelage.functions.bounding.placing import side_by_side
from tutelage.functions.bounding.questions import Rooms
from tutelage.functions.bounding.sparse.pairs import equal_graphs
from tutelage.functions.checks import bias, in_double
from tutelage.functions.pruning.intervals import slopes
from tutelage.networks import Network
from tutelage.networks.graphs.sparse import MergedNetwork, reading_error

MOST_BYTES = 1 << 32
"""The most memory of the zonotopes of one thread."""


def reading_errors(first: object, second: object, low: Tensor, high: Tensor) -> Rooms:
    """How far each output of two networks may be from the ones they were read from, on a box: [C] twice.

    None where both are the same graph: the same rounding does not set them apart.
    """
    graphs = [network.source for network in (first, second) if isinstance(network, MergedNetwork)]
    a, b = (reading_error(network, low, high) for network in (first, second))
    if len(graphs) == 2 and None not in graphs and equal_graphs(graphs[0].graph, graphs[1].graph):  # type: ignore[union-attr]
        return torch.zeros_like(a), torch.zeros_like(b)
    return a, b


def joined(first: Network, second: Network, reach: np.ndarray | None = None, rooms: Rooms | None = None) -> Pair:
    """Two networks of one member with units and layers added until their shapes agree; no function changes.

    Added units have no weights; added layers, below the top one, hand on what they are given. Hidden units of the
    second network are put beside those of the first that they resemble: a network that lost units, or whose units
    changed places, then differs from the first in few weights. With the largest sizes of the inputs, reach [d], they
    are also scaled and split, their fan-out with them; what rounding does to them is in the slack, for such inputs.
    So are rooms, two [C] by which the outputs may be off.

    >>> import torch
    >>> a = Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)))
    >>> b = Network((torch.ones(1, 2, 4), torch.ones(1, 4, 2), torch.ones(1, 2, 1)))
    >>> joined(a, b).widths.tolist()
    [2, 4, 3, 1]
    """
    f, g = (collapsed(layers_from(in_double(n))) for n in (first, second))
    depth = max(len(f), len(g))
    f, g = (_deepened(layers, depth) for layers in (f, g))
    f, g = side_by_side(f, g, reach)
    widths = [first.inputs, *(len(layer.b) for layer in f)]
    wf, wg = (_flat([layer.w for layer in layers]) for layers in (f, g))
    bf, bg = (_flat([layer.b for layer in layers]) for layers in (f, g))
    left_f, left_g = (np.array([layer.left for layer in layers[:-1]]) for layers in (f, g))
    slack_f, slack_g = (_flat([layer.slack for layer in layers]) for layers in (f, g))
    if rooms is not None:
        slack_f[-first.outputs :] += rooms[0].numpy() * (1 + 2.0**-50)
        slack_g[-first.outputs :] += rooms[1].numpy() * (1 + 2.0**-50)
    return Pair(np.array(widths), wf, wg, wf - wg, bf, bg, bf - bg, left_f, left_g, slack_f, slack_g)


def columns_for(pair: Pair, free: int) -> int:
    """The most columns of a zonotope on a box with so many sides that are not flat."""
    return 1 + free + 2 * int(pair.widths[1:-1].sum())


def fits(pair: Pair, free: int) -> bool:
    """Whether zonotopes on a box with so many sides that are not flat fit into the memory set aside for them."""
    return 32 * (int(pair.widths.max()) + 1) * (columns_for(pair, free) + 8) <= MOST_BYTES


def layers_from(network: Network) -> list[Layer]:
    """The layers of a network of one member, in float64."""
    left = slopes(network)[0]
    layers = []
    for number, w in enumerate(network.weights):
        b = bias(network, number)[0].numpy()
        layers.append(Layer(np.ascontiguousarray(w[0].numpy().T), b, left, np.zeros_like(b)))
    return layers


def _deepened(layers: list[Layer], depth: int) -> list[Layer]:
    n = layers[-1].w.shape[1]
    through = [Layer(np.eye(n), np.zeros(n), 1.0, np.zeros(n))] * (depth - len(layers))
    return [*layers[:-1], *through, layers[-1]]


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([a.ravel() for a in arrays])
