r"""The hidden units of two networks side by side, so that bounds on the difference meet small differences of weights.

Units of the second network take the places and the sizes of those of the first that they resemble. Where one unit of
one network resembles several of the other (units that were split, or that two networks share in other parts), all of
them stand in a group. A group of p units with fan-outs :math:`F_i` in f and q with :math:`G_j` in g has p q places,
with unit i of f and unit j of g in place (i, j), and the fan-outs

.. math:: X_{ij} = F_i / q + G_j / p - \sum_k G_k / (p q), \qquad Y_{ij} = F_i / q + G_j / p - \sum_k F_k / (p q)

The sum of X over j is :math:`F_i` and that of Y over i is :math:`G_j`, so that neither function changes, and X - Y is
the difference of the sums of both, divided by p q. What rounding does to these weights is in the slack.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import scipy

from tutelage.deadline import NEVER, Deadline
from tutelage.functions.layers.collapsing import Layer
from tutelage.functions.rounding import UNDERFLOW

_ALIKE = 0.25  # squared share of the weights up to which two layers are taken for the same layer, in the same order
_MOST_UNITS = 2_000  # units of a layer up to which another order is looked for
_CLOSER = 0.1  # share of the squared distance of weights that is left where units are scaled or grouped
_NEAR = 1 - 2.0**-15  # cosine of the incoming weights and biases of units that are taken for copies of one another
_MOST_PLACES = 16  # places of a group
_FACTORS = 1e-60, 1e60  # multiples that are tried
_ROUNDED = 2.0**-48  # relative error of a weight of a group of so many places that was scaled, and more


class Places(NamedTuple):
    """Which units stand in the places of a layer, [P] each: of f and of g, -1 for none; what they are multiplied by;
    the group of every place, and how many units of f and of g it has (1 where it has none)."""

    f: np.ndarray
    g: np.ndarray
    scale_f: np.ndarray
    scale_g: np.ndarray
    group: np.ndarray
    p: np.ndarray
    q: np.ndarray


def side_by_side(
    f: list[Layer], g: list[Layer], reach: np.ndarray | None = None, deadline: Deadline = NEVER
) -> tuple[list[Layer], list[Layer]]:
    """Both networks of one depth with their hidden units, and empty places between them, side by side.

    reach: [d], the largest sizes of the inputs. Without them units are neither scaled nor grouped; nor are they where
    that brings the weights no closer.
    """
    return placed(f, g, reach, deadline)[:2]


def placed(
    f: list[Layer], g: list[Layer], reach: np.ndarray | None = None, deadline: Deadline = NEVER
) -> tuple[list[Layer], list[Layer], list[Places]]:
    """The same with the places of every hidden layer."""
    # Scaling and grouping round the weights, which costs slack in every bound: they have to leave a tenth of the
    # squared distance at most to be worth it.
    plain = _placed(f, g, None, deadline)
    apart = _apart(*plain[:2])
    same_widths = [len(layer.b) for layer in f] == [len(layer.b) for layer in g]
    if reach is None or (same_widths and apart <= _ALIKE):
        return plain
    scaled = _placed(f, g, reach, deadline)
    return scaled if _apart(*scaled[:2]) < _CLOSER * apart else plain


def _apart(f: list[Layer], g: list[Layer]) -> float:
    """Squared distance of the weights, as a share of f's in every layer, summed."""
    total = 0.0
    for a, b in zip(f, g, strict=True):
        size = max(np.abs(a.w).max(initial=0.0), np.abs(b.w).max(initial=0.0)) or 1.0
        apart, squares = np.square(a.w / size - b.w / size).sum(), np.square(a.w / size).sum()
        total += apart / squares if squares else np.inf if apart else 0.0
    return float(total)


def _placed(
    f: list[Layer], g: list[Layer], reach: np.ndarray | None, deadline: Deadline
) -> tuple[list[Layer], list[Layer], list[Places]]:
    """Layer by layer: the units that resemble each other, given the places below, and the weights between places."""
    below = _one_by_one(f[0].w.shape[1], g[0].w.shape[1])
    sizes = None if reach is None else (reach, reach)
    # Invariant: `below` says which units stand in the places of the layer below, so that weights can be compared.
    new_f, new_g, places = list[Layer](), list[Layer](), list[Places]()
    for number, (a, b) in enumerate(zip(f, g, strict=True), 1):
        deadline.check()
        here = _matched(a, b, below, reach is not None) if number < len(f) else _one_by_one(len(a.b), len(b.b))
        layer_f, layer_g = _between(a, b, below, here, sizes)
        if sizes is not None:
            sizes = _size(layer_f, sizes[0]), _size(layer_g, sizes[1])
            if not all(np.isfinite(size).all() for size in sizes):
                return _placed(f, g, None, deadline)
        new_f.append(layer_f)
        new_g.append(layer_g)
        places.append(here)
        below = here
    return new_f, new_g, places[:-1]


def _size(layer: Layer, size: np.ndarray) -> np.ndarray:
    """The largest sizes of pre-activations [out], for inputs of at most these sizes [in]."""
    return (1 + _ROUNDED * len(size)) * (np.abs(layer.w) @ size + np.abs(layer.b)) + layer.slack


def _one_by_one(in_f: int, in_g: int) -> Places:
    """Unit k of f beside unit k of g."""
    return _in_pairs({k: (k, 1.0) for k in range(min(in_f, in_g))}, range(in_f), range(in_g))


def _in_pairs(partners: dict[int, tuple[int, float]], units_f: Iterable[int], units_g: Iterable[int]) -> Places:
    """Units of f in their order, each beside its partner of g times a factor, then units of g without one."""
    taken = {unit for unit, _ in partners.values()}
    rows = [(k, *partners.get(k, (-1, 1.0))) for k in units_f] + [(-1, k, 1.0) for k in units_g if k not in taken]
    f, g = (np.array([row[i] for row in rows], dtype=int) for i in (0, 1))
    ones, scale = np.ones(len(rows)), np.array([row[2] for row in rows], dtype=float)
    return Places(f, g, ones, scale, np.arange(len(rows)), ones, ones)


def _matched(a: Layer, b: Layer, below: Places, scaling: bool) -> Places:
    """The places of a hidden layer: groups of copies, then pairs of other units that resemble each other most."""
    if max(len(a.b), len(b.b)) > _MOST_UNITS:
        return _one_by_one(len(a.b), len(b.b))
    f = np.c_[_by_group(a.w, below.f, below.scale_f, below.q, below.group), a.b]
    g = np.c_[_by_group(b.w, below.g, below.scale_g, below.p, below.group), b.b]
    largest = max(np.abs(f).max(initial=0.0), np.abs(g).max(initial=0.0))
    if not 0 < largest < np.inf:
        return _one_by_one(len(f), len(g))
    f, g = f / largest, g / largest
    if len(f) == len(g) and np.square(f - g).sum() <= _ALIKE * np.square(f).sum():
        return _one_by_one(len(f), len(g))
    groups = _groups(f, g) if scaling else []
    rest_f, rest_g = (
        np.setdiff1d(np.arange(len(x)), np.concatenate([[], *(group[i] for group in groups)]))
        for i, x in enumerate((f, g))
    )
    partners = {int(rest_f[i]): (int(rest_g[j]), factor) for i, j, factor in _partners(f[rest_f], g[rest_g], scaling)}
    places = _in_pairs(partners, rest_f, rest_g)
    for number, (in_f, in_g) in enumerate(groups, len(places.f)):
        more = _group(in_f, in_g, f, g, number)
        places = Places(*(np.concatenate(both) for both in zip(places, more, strict=True)))
    return places


def _by_group(w: np.ndarray, units: np.ndarray, scale: np.ndarray, times: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Weights [out, groups]: of all units of a group below together, each of which stands in so many places."""
    total = np.zeros((int(group.max(initial=-1)) + 1, len(w)))
    np.add.at(total, group, (_taken(w, np.arange(len(w)), units) / (scale * times)).T)
    return total.T


def _taken(w: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """w[rows][:, columns], 0 where a row or a column is -1."""
    return np.pad(w, ((0, 1), (0, 1)))[rows][:, columns]


def _partners(f: np.ndarray, g: np.ndarray, scaling: bool) -> list[tuple[int, int, float]]:
    """Pairs of rows with the smallest sum of squared distances, and the factor of the second row of each."""
    product, in_f, in_g = f @ g.T, np.square(f).sum(1)[:, None], np.square(g).sum(1)
    if not scaling:
        return [
            (i, j, 1.0)
            for i, j in zip(
                *map(np.ndarray.tolist, scipy.optimize.linear_sum_assignment(in_f + in_g - 2 * product)), strict=True
            )
        ]
    # A negative multiple is another unit, since a relu passes positive factors alone.
    product = product.clip(0)
    best = np.divide(product, in_g, out=np.zeros_like(product), where=in_g > 0)
    left = in_f - best * product
    beside, moved = scipy.optimize.linear_sum_assignment(left)
    chosen = best[beside, moved]
    good = (left[beside, moved] <= _CLOSER * in_f[beside, 0]) & (chosen > _FACTORS[0]) & (chosen < _FACTORS[1])
    return list(zip(beside.tolist(), moved.tolist(), np.where(good, chosen, 1.0).tolist(), strict=True))


def _groups(f: np.ndarray, g: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Units of f and g, three or more together, that are nearly positive multiples of one another."""
    lengths = np.sqrt(np.square(f).sum(1)), np.sqrt(np.square(g).sum(1))
    a, b = (
        np.divide(x, n[:, None], out=np.zeros_like(x), where=n[:, None] > 0)
        for x, n in zip((f, g), lengths, strict=True)
    )
    _, label = scipy.sparse.csgraph.connected_components(
        np.block([[np.zeros((len(f), len(f))), a @ b.T >= _NEAR], [b @ a.T >= _NEAR, np.zeros((len(g), len(g)))]])
    )
    groups = []
    for number in range(label.max(initial=-1) + 1):
        in_f, in_g = np.flatnonzero(label[: len(f)] == number), np.flatnonzero(label[len(f) :] == number)
        ratios = np.r_[lengths[0][in_f], lengths[1][in_g]]
        if 1 < len(in_f) * len(in_g) <= _MOST_PLACES and ratios.max() / ratios.min() < _FACTORS[1]:
            groups.append((in_f, in_g))
    return groups


def _group(in_f: np.ndarray, in_g: np.ndarray, f: np.ndarray, g: np.ndarray, number: int) -> Places:
    """Every unit of f beside every unit of g, all with the length of the first one of f."""
    lengths = [np.sqrt(np.square(x[units]).sum(1)) for x, units in ((f, in_f), (g, in_g))]
    scale_f, scale_g = (lengths[0][0] / length for length in lengths)
    p, q = len(in_f), len(in_g)
    each_f, each_g, ones = np.repeat(np.arange(p), q), np.tile(np.arange(q), p), np.ones(p * q)
    return Places(
        in_f[each_f], in_g[each_g], scale_f[each_f], scale_g[each_g], np.full(p * q, number), p * ones, q * ones
    )


def _between(
    a: Layer, b: Layer, below: Places, here: Places, sizes: tuple[np.ndarray, np.ndarray] | None
) -> tuple[Layer, Layer]:
    """The weights of f and of g between the places below and those of a layer; sizes: of the places below."""
    if _unmoved(below) and _unmoved(here):
        return a, b
    f = here.scale_f[:, None] * _taken(a.w, here.f, below.f) / below.scale_f / below.q
    g = here.scale_g[:, None] * _taken(b.w, here.g, below.g) / below.scale_g / below.p
    paired = (here.f >= 0) & (here.g >= 0)
    x, room_x = _shared(f, g, below, paired[:, None] & (below.q > 1))
    y, room_y = _shared(g, f, below, paired[:, None] & (below.p > 1))
    changed_f = (here.scale_f != 1).any() or (below.scale_f != 1).any() or (below.q > 1).any()
    changed_g = (here.scale_g != 1).any() or (below.scale_g != 1).any() or (below.p > 1).any()
    return (
        _layer(a, x, room_x, here.f, here.scale_f, sizes[0] if sizes and changed_f else None),
        _layer(b, y, room_y, here.g, here.scale_g, sizes[1] if sizes and changed_g else None),
    )


def _unmoved(places: Places) -> bool:
    """Whether unit k of f stands beside unit k of g throughout, each alone and as it is."""
    order = np.arange(len(places.f))
    beside = np.array_equal(places.f, order) and np.array_equal(places.g, order)
    return beside and all((x == 1).all() for x in (places.scale_f, places.scale_g, places.p, places.q))


def _shared(w: np.ndarray, other: np.ndarray, below: Places, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights X (or Y) [out, places], and the sizes of what was added up, from F / q and G / p (or the reverse)."""
    if not where.any():
        return w, np.abs(w)
    count = below.p * below.q
    weights = w + other - _sums(other, below.group) / count
    size = np.abs(w) + np.abs(other) + _sums(np.abs(other), below.group) / count
    return np.where(where, weights, w), np.where(where, size, np.abs(w))


def _sums(w: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The sum over all places of a group, in each of them: [out, places]."""
    total = np.zeros((int(group.max(initial=-1)) + 1, len(w)))
    np.add.at(total, group, w.T)
    return total[group].T


def _layer(
    layer: Layer, w: np.ndarray, room: np.ndarray, units: np.ndarray, scale: np.ndarray, size: np.ndarray | None
) -> Layer:
    """A layer with units in places, whose biases are to be scaled; size: of the places below, if it was rounded."""
    b, slack = np.pad(layer.b, (0, 1))[units] * scale, np.pad(layer.slack, (0, 1))[units] * scale
    if size is not None:
        with np.errstate(over="ignore"):  # what overflows is bounded by infinity
            rounded = _ROUNDED * (room @ size + np.abs(b)) + UNDERFLOW * (1 + size.sum())
        slack = (1 + _ROUNDED) * slack + 2 * rounded
    return Layer(w, b, layer.left, slack)
