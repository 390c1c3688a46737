"""Two networks with the same widths and depth, as the compiled bounds take them."""

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tutelage.deadline import NEVER, Deadline
from tutelage.functions.answers import Rooms
from tutelage.functions.checks import bias, in_double, slopes
from tutelage.functions.layers.collapsing import Layer, collapsed
from tutelage.functions.layers.placing import side_by_side
from tutelage.networks import Network

_LEAST_BYTES, _MOST_BYTES = 1 << 28, 1 << 32  # for zonotopes; what is free does not count files the system keeps
_JOINING = 3e-8  # seconds per weight that it takes to put two networks side by side, roughly
_SPEED = 2e9  # products per second and thread of the compiled bounds, roughly


class Pair(NamedTuple):
    """Two networks of the same widths, weights [out, in] one after the other; wd = wf - wg and bd = bf - bg, rounded.

    left_f, left_g: the slope below 0 of the activation of every hidden layer, 1 above; slack_f, slack_g: by
    how much the pre-activation of every unit may be off.
    """

    widths: np.ndarray
    wf: np.ndarray
    wg: np.ndarray
    wd: np.ndarray
    bf: np.ndarray
    bg: np.ndarray
    bd: np.ndarray
    left_f: np.ndarray
    left_g: np.ndarray
    slack_f: np.ndarray
    slack_g: np.ndarray


@dataclass(frozen=True, eq=False)
class LayerPair:
    """One layer of f and g, dense or sparse: weights [out, in], with wd = wf - wg and bd = bf - bg rounded.

    left_f, left_g: the slope of its activation below 0, 1 for none; slack_f, slack_g: [out], by how much a
    pre-activation may be off; positive_f, positive_g: [out], whether it is known to be at least 0;
    terms: the most products in a sum.
    """

    wf: Any
    wg: Any
    wd: Any
    bf: np.ndarray
    bd: np.ndarray
    slack_f: np.ndarray
    slack_g: np.ndarray
    left_f: float
    left_g: float
    positive_f: np.ndarray
    positive_g: np.ndarray
    terms: int

    @cached_property
    def sizes(self) -> tuple[Any, Any, Any]:
        """Absolute weights, of wf, wg and wd."""
        return abs(self.wf), abs(self.wg), abs(self.wd)


def layers_of(pair: Pair) -> list[LayerPair]:
    """The layers of a pair, without copying a weight; the top one has no activation."""
    layers, w_at, b_at = [], 0, 0
    slopes_f, slopes_g = [*pair.left_f.tolist(), 1.0], [*pair.left_g.tolist(), 1.0]
    for number, (m, n) in enumerate(pairwise(pair.widths.tolist())):
        wf, wg, wd = (w[w_at : w_at + n * m].reshape(n, m) for w in (pair.wf, pair.wg, pair.wd))
        bf, bd, slack_f, slack_g = (b[b_at : b_at + n] for b in (pair.bf, pair.bd, pair.slack_f, pair.slack_g))
        unknown, left_f, left_g = np.zeros(n, dtype=bool), slopes_f[number], slopes_g[number]
        layers.append(LayerPair(wf, wg, wd, bf, bd, slack_f, slack_g, left_f, left_g, unknown, unknown, m))
        w_at, b_at = w_at + n * m, b_at + n
    return layers


def joined(
    first: Network,
    second: Network,
    reach: np.ndarray | None = None,
    deadline: Deadline = NEVER,
    rooms: Rooms | None = None,
) -> Pair:
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
    weights = sum(w.numel() for n in (first, second) for w in n.weights)
    deadline.check(weights * _JOINING)
    # Collapsed before units are matched: layers that only take apart have twice the units, none of which resembles one
    # of the other network.
    f, g = (collapsed(layers_from(in_double(n))) for n in (first, second))
    deadline.check(weights * _JOINING / 2)
    depth = max(len(f), len(g))
    f, g = (_deepened(layers, depth) for layers in (f, g))
    f, g = side_by_side(f, g, reach, deadline)
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


def bytes_of_forms(pair: Pair, free: int) -> int:
    """The memory of the zonotopes of one thread."""
    return 32 * (int(pair.widths.max()) + 1) * (columns_for(pair, free) + 8)


def memory_for_forms() -> int:
    """The most memory that zonotopes may take: 4 GiB, or half of what is free if that is less."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else _MOST_BYTES
    return min(_MOST_BYTES, max(_LEAST_BYTES, free // 2))


def fits(pair: Pair, free: int, deadline: Deadline = NEVER) -> bool:
    """Whether zonotopes on a box with so many sides that are not flat fit into memory, and one box into the time left.

    The time is a guess: half of the units that may bend are taken to do so.
    """
    widths = pair.widths.tolist()
    columns = [1 + free + sum(widths[1 : layer + 1]) for layer in range(len(widths) - 1)]
    products = sum(3.0 * m * n * c for m, n, c in zip(widths[1:], widths[2:], columns[1:], strict=False))
    # A box that takes longer than the time left would give no bound at all, where intervals give one at once.
    return bytes_of_forms(pair, free) <= memory_for_forms() and products / _SPEED <= deadline.left


def layers_from(network: Network) -> list[Layer]:
    """The layers of a network of one member, in float64."""
    left = slopes(network)[0]
    layers = []
    for number, w in enumerate(network.weights):
        b = bias(network, number)[0].numpy()
        layers.append(Layer(w[0].T.contiguous().numpy(), b, left, np.zeros_like(b)))
    return layers


def _deepened(layers: list[Layer], depth: int) -> list[Layer]:
    n = layers[-1].w.shape[1]
    through = [Layer(np.eye(n), np.zeros(n), 1.0, np.zeros(n))] * (depth - len(layers))
    return [*layers[:-1], *through, layers[-1]]


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([a.ravel() for a in arrays])
