r"""The difference of two nearly equal networks substituted backwards, where ranges of the first one are known.

Carried through layer l the difference is :math:`d_l = W^g_l\, a_{l-1} + e_l`, where :math:`a_{l-1} = \sigma(f) -
\sigma(g)` and :math:`e_l = (W^f_l - W^g_l)\, \sigma(f) + b^f_l - b^g_l` lies in a small interval. A unit that is on one
side of its kink in both networks hands its difference on as it is, or not at all; any other makes z d of it, with
:math:`\ell \le z \le 1`, for which there are lines above and below. Put in from the top down they bound every
difference by the e alone, signs included: what intervals add up by absolute values cancels here.

This is what a change of a few numbers comes to: weights that were rounded, or layers that only undo a split, after
which two networks differ by the rounding of a few biases. It bounds the difference of any pair, and costs a product of
matrices per pair of layers; there is nothing to branch on. The ranges of f are what it is worth: see
:func:`.backward.hidden_ranges`. Rounding is counted in as in :mod:`.backward`.
"""

from dataclasses import dataclass

import numpy as np

from tutelage.deadline import NEVER, Deadline
from tutelage.functions.bounds.intervals import (
    Middle,
    Ranges,
    after,
    around,
    by_intervals,
    plus,
    times,
)
from tutelage.functions.layers.pairs import LayerPair
from tutelage.functions.relaxations import Ends, difference_image, difference_line
from tutelage.functions.rounding import EPS, UNDERFLOW

_ROWS = 1 << 22  # entries of the coefficients that are substituted at a time: they have to fit into memory


@dataclass(frozen=True, eq=False)
class DifferenceLines:
    """Slopes and offsets above and below a = sigma(f) - sigma(g) as a line of d; sizes: of d and of a. All [n].

    Slopes and offsets may also be [K, n], of their own for every row. straight: which units do not bend.
    """

    above: Ends
    below: Ends
    size_d: np.ndarray
    size_a: np.ndarray
    straight: np.ndarray


@dataclass(frozen=True, eq=False)
class Substitution:
    """What is put in from the top down: e of every layer, and the lines of the units between them.

    known: ends of the differences of the outputs, by intervals.
    """

    layers: list[LayerPair]
    moved: list[Middle]
    lines: list[DifferenceLines]
    known: Ends


def carried(
    layers: list[LayerPair],
    low: np.ndarray,
    high: np.ndarray,
    ranges: list[Ends] | None = None,
    deadline: Deadline = NEVER,
) -> np.ndarray:
    """Bounds [C] on the difference of every output over a box [d], rounded outwards; infinite on overflow.

    ranges: of f in every hidden layer, where better ones than intervals are known. Both networks need the same kind of
    units in each layer; infinite elsewhere.
    """
    outputs = layers[-1].wf.shape[0]
    put = put_in(layers, low, high, ranges, deadline)
    if put is None:
        return np.full(outputs, np.inf)
    both = _ends(layers, put.moved, put.lines, np.arange(outputs), put.known, deadline)
    size = np.maximum(np.abs(both[0]), np.abs(both[1]))
    return np.where(np.isfinite(size), size, np.inf)


def put_in(
    layers: list[LayerPair],
    low: np.ndarray,
    high: np.ndarray,
    ranges: list[Ends] | None,
    deadline: Deadline,
    any_share: bool = False,
) -> Substitution | None:
    """What :func:`carried` puts in; None where a layer has units of two kinds.

    any_share: whether it is to hold for any shares z of the units that may bend, those too that no input gives.
    """
    if any(layer.left_f != layer.left_g for layer in layers[:-1]):
        return None
    f, d = around(low, high), around(np.zeros_like(low), np.zeros_like(low))
    moved: list[Middle] = []
    lines: list[DifferenceLines] = []
    # Invariant: `moved` holds e of every layer so far and `lines` those of its units, so that the difference in the
    # next layer can be bounded by what lies below it alone.
    for number, layer in enumerate(layers):
        deadline.check()
        met = by_intervals(layer, f, d)
        zero = np.zeros_like(layer.bd)
        slack = layer.slack_f + layer.slack_g
        moved.append(plus(times(layer.wd, f, layer.sizes[2]), (zero, zero, zero), layer.bd, slack, layer.terms))
        if number == len(layers) - 1:
            return Substitution(layers, moved, lines, met.d)
        known = met.f if ranges is None else ranges[number]
        range_f = np.maximum(met.f[0], known[0]), np.minimum(met.f[1], known[1])
        bends = np.flatnonzero(~Ranges(range_f, met.d, met.positive_g).straight(layer))
        range_d = _ends(layers, moved, lines, bends, met.d, deadline)
        both = Ranges(range_f, range_d, met.positive_g)
        f, d = after(range_f, range_d, layer.left_f, layer.left_g)
        if any_share:
            ends = np.stack([*range_d, layer.left_f * range_d[0], layer.left_f * range_d[1]])
            d = around(np.nextafter(ends.min(0), -np.inf), np.nextafter(ends.max(0), np.inf))
        lines.append(_around(layer, both, any_share))
    raise AssertionError("a network has a layer")


def _around(layer: LayerPair, ranges: Ranges, any_share: bool) -> DifferenceLines:
    """The lines of a layer: those of z d, and exact ones of units on one side of their kink in both networks."""
    (low_f, _), (low_d, high_d) = ranges.f, ranges.d
    left, straight = layer.left_f, ranges.straight(layer)
    slope = np.where((low_f >= 0) | (left == 1.0), 1.0, left)
    made = []
    for above in (True, False):
        line = difference_line(low_d, high_d, left, above)
        made.append((np.where(straight, slope, line[0]), np.where(straight, 0.0, line[1])))
    image = ranges.d if any_share else difference_image(ranges.f, ranges.d, left, left)
    size_d, size_a = (np.maximum(np.abs(a), np.abs(b)) for a, b in (ranges.d, image))
    return DifferenceLines(made[0], made[1], size_d, size_a, straight)


def _ends(
    layers: list[LayerPair],
    moved: list[Middle],
    lines: list[DifferenceLines],
    units: np.ndarray,
    known: Ends,
    deadline: Deadline,
) -> Ends:
    """The ends known of the differences of a layer, those of some units bounded backwards; of the layer ``moved[-1]``
    belongs to."""
    low, high = known[0].copy(), known[1].copy()
    per = max(1, _ROWS // len(low))
    for start in range(0, len(units), per):
        deadline.check()
        some = units[start : start + per]
        rows = np.zeros((2 * len(some), len(low)))
        rows[np.arange(len(some)), some] = 1.0
        rows[len(some) + np.arange(len(some)), some] = -1.0
        most, _ = upper(layers, moved, lines, rows, deadline)
        high[some] = np.minimum(high[some], most[: len(some)])
        low[some] = np.maximum(low[some], -most[len(some) :])
    return np.minimum(low, high), np.maximum(low, high)


def upper(
    layers: list[LayerPair], moved: list[Middle], lines: list[DifferenceLines], rows: np.ndarray, deadline: Deadline
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Upper bounds [K] of rows [K, n] times the differences in the last layer of which ``moved`` is known.

    Also how much offsets of lines add to them, [K, n] of every layer below.
    """
    value = error = np.zeros(len(rows))
    offsets: list[np.ndarray] = []
    # Invariant: rows . d of the top layer <= rows . d of this layer + value + error, the rows being those of now.
    for number in reversed(range(len(moved))):
        deadline.check()
        layer, (centre, radius) = layers[number], moved[number]
        sizes, terms = np.abs(rows), rows.shape[1] + layer.terms + 32
        value = value + (rows @ centre + sizes @ radius)
        error = error + terms * EPS * (sizes @ (np.abs(centre) + radius) + np.abs(value))
        if number == 0:
            break
        below = lines[number - 1]
        error = error + terms * EPS * (sizes @ (layer.sizes[1] @ below.size_a))
        rows = np.asarray(rows @ layer.wg)
        up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
        (slope, offset), (slope_below, offset_below) = below.above, below.below
        # No offset lowers the bound: those above are at least 0, those below at most.
        each = up * offset + down * offset_below
        added = each.sum(1)
        offsets.insert(0, each)
        value = value + added
        wide = rows.shape[1] + 32
        error = error + EPS * (wide * added + 8 * np.abs(value) + 8 * ((up - down) @ below.size_d))
        error = error + wide * UNDERFLOW * (1 + below.size_a.sum() + below.size_d.sum())
        rows = up * slope + down * slope_below
    bound = value + error * (1 + 64 * EPS) + UNDERFLOW
    return np.where(np.isnan(bound), np.inf, bound), offsets
