"""Two networks with the same widths and depth, as the compiled bounds take them."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from tutelage.functions.bounding._boxes import Pair
from tutelage.functions.bounding.collapsing import Layer, collapsed
from tutelage.functions.checks import bias, in_double
from tutelage.functions.pruning.intervals import slopes
from tutelage.networks import Network

MOST_BYTES = 1 << 32
"""The most memory of the zonotopes of one thread."""
_ALIKE = 0.25  # squared share of the weights up to which two layers are taken for the same layer, in the same order
_MOST_UNITS = 2_000  # units of a layer up to which another order is looked for
_SCALED = 0.1  # share of the squared distance of weights that is left where units are multiples of others
_FACTORS = 1e-60, 1e60  # multiples that are tried
_ROUNDED = 2.0**-50  # relative error of a weight that was divided by one factor and multiplied by another, and more
_UNDERFLOW = 1e-300  # its absolute error, and more


def joined(first: Network, second: Network, reach: np.ndarray | None = None) -> Pair:
    """Two networks of one member with units and layers added until their shapes agree; no function changes.

    Added units have no weights; added layers, below the top one, hand on what they are given. Hidden units of the
    second network are put beside those of the first that they resemble: a network that lost units, or whose units
    changed places, then differs from the first in few weights. With the largest sizes of the inputs, reach [d], they
    are also scaled, their fan-out by the inverse; what rounding does to them is in the slack, for such inputs.

    >>> import torch
    >>> a = Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)))
    >>> b = Network((torch.ones(1, 2, 4), torch.ones(1, 4, 2), torch.ones(1, 2, 1)))
    >>> joined(a, b).widths.tolist()
    [2, 4, 3, 1]
    """
    f, g = (collapsed(layers_from(in_double(n))) for n in (first, second))
    depth = max(len(f), len(g))
    f, g = (_deepened(layers, depth) for layers in (f, g))
    g = _beside(f, g, reach)
    widths = [first.inputs, *(max(len(a.b), len(b.b)) for a, b in zip(f, g, strict=True))]
    f, g = (_widened(layers, widths) for layers in (f, g))
    wf, wg = (_flat([layer.w for layer in layers]) for layers in (f, g))
    bf, bg = (_flat([layer.b for layer in layers]) for layers in (f, g))
    left_f, left_g = (np.array([layer.left for layer in layers[:-1]]) for layers in (f, g))
    slack_f, slack_g = (_flat([layer.slack for layer in layers]) for layers in (f, g))
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


def _beside(f: list[Layer], g: list[Layer], reach: np.ndarray | None) -> list[Layer]:
    """g in the order of f, and scaled where that brings it much closer."""
    plain = _placed(f, g, None)
    apart = _apart(f, plain)
    if reach is None or apart <= _ALIKE:
        return plain
    scaled = _placed(f, g, reach)
    return scaled if _apart(f, scaled) < _SCALED * apart else plain


def _apart(f: list[Layer], g: list[Layer]) -> float:
    """Squared distance of the weights, as a share of f's in every layer, summed."""
    total = 0.0
    for a, b in zip(f, g, strict=True):
        shape = max(len(a.b), len(b.b)), max(a.w.shape[1], b.w.shape[1])
        x, y = (np.pad(w, ((0, shape[0] - len(w)), (0, shape[1] - w.shape[1]))) for w in (a.w, b.w))
        size = max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0)) or 1.0
        apart, own = np.square(x / size - y / size).sum(), np.square(x / size).sum()
        total += apart / own if own else np.inf if apart else 0.0
    return float(total)


def _placed(f: list[Layer], g: list[Layer], reach: np.ndarray | None) -> list[Layer]:
    """g with its hidden units, and empty places between them, in the order and with the sizes of f's."""
    below, factor, placed = np.arange(g[0].w.shape[1]), np.ones(g[0].w.shape[1]), list[Layer]()
    size = None if reach is None else reach.copy()
    for number, (a, b) in enumerate(zip(f, g, strict=True), 1):
        inputs = max(a.w.shape[1], int(below.max(initial=-1)) + 1)
        w = np.zeros((len(b.b), inputs))
        w[:, below] = b.w / factor
        changed = (factor != 1).any()
        beside = np.pad(a.w, ((0, 0), (0, inputs - a.w.shape[1])))
        if number < len(f):
            below, factor = _places(beside, a.b, w, b.b, size is not None)
        else:
            below, factor = np.arange(len(b.b)), np.ones(len(b.b))
        units = int(below.max(initial=-1)) + 1
        rows, biases, slack = np.zeros((units, inputs)), np.zeros(units), np.zeros(units)
        rows[below], biases[below], slack[below] = w * factor[:, None], b.b * factor, b.slack * factor
        if size is not None:
            size = np.pad(size, (0, inputs - len(size)))
            if changed or (factor != 1).any():
                slack = (1 + _ROUNDED) * slack + _rounding(rows, biases, size)
            size = (1 + _ROUNDED * inputs) * (np.abs(rows) @ size + np.abs(biases)) + slack
            if not np.isfinite(size).all():
                return _placed(f, g, None)
        placed.append(Layer(rows, biases, b.left, slack))
    return placed


def _rounding(w: np.ndarray, b: np.ndarray, size: np.ndarray) -> np.ndarray:
    """How far pre-activations [out] may be off with weights rounded, for inputs of at most these sizes [in]."""
    return 2 * (_ROUNDED * (np.abs(w) @ size + np.abs(b)) + _UNDERFLOW * (1 + size.sum()))


def _places(
    wf: np.ndarray, bf: np.ndarray, wg: np.ndarray, bg: np.ndarray, scaling: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Where every unit of g goes, int [units of g]: beside a unit of f, or behind them all; and its factor."""
    stay, same = np.arange(len(bg)), np.ones(len(bg))
    f, g = np.c_[wf, bf], np.c_[wg, bg]
    largest = max(np.abs(f).max(initial=0.0), np.abs(g).max(initial=0.0))
    if not 0 < largest < np.inf or max(len(f), len(g)) > _MOST_UNITS:
        return stay, same
    f, g = f / largest, g / largest
    if len(f) == len(g) and np.square(f - g).sum() <= _ALIKE * np.square(f).sum():
        return stay, same
    product, in_f, in_g = (f @ g.T).clip(0), np.square(f).sum(1)[:, None], np.square(g).sum(1)
    if not scaling:
        beside, moved = linear_sum_assignment(in_f + in_g - 2 * f @ g.T)
    else:
        best = np.divide(product, in_g, out=np.zeros_like(product), where=in_g > 0)
        left = in_f - best * product
        beside, moved = linear_sum_assignment(left)
        chosen = best[beside, moved]
        good = (left[beside, moved] <= _SCALED * in_f[beside, 0]) & (chosen > _FACTORS[0]) & (chosen < _FACTORS[1])
        same[moved] = np.where(good, chosen, 1.0)
    places = np.full(len(g), -1)
    places[moved] = beside
    rest = np.flatnonzero(places < 0)
    places[rest] = len(f) + np.arange(len(rest))
    return places, same


def _widened(layers: list[Layer], widths: list[int]) -> list[Layer]:
    wide = []
    for layer, m, n in zip(layers, widths, widths[1:], strict=False):
        more = n - len(layer.b), m - layer.w.shape[1]
        w = np.pad(layer.w, ((0, more[0]), (0, more[1])))
        wide.append(Layer(w, np.pad(layer.b, (0, more[0])), layer.left, np.pad(layer.slack, (0, more[0]))))
    return wide


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([a.ravel() for a in arrays])
