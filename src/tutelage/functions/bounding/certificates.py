"""Proofs that are stored: the boxes that make up a domain, each small enough for simple bounds, and their checker.

The checker shares no arithmetic with what found the proof: it sees that the boxes cover the domain, and bounds both
networks on each of them with :class:`fractions.Fraction`, where nothing is rounded. It is slow, and simple to read.
"""

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.functions.bounding._boxes import Pair
from tutelage.functions.bounding.answers import Closeness
from tutelage.functions.bounding.pairs import joined
from tutelage.functions.checks import in_double
from tutelage.networks import Network

FORMAT = "tutelage-boxes-1"
Row = list[Fraction]
AffineForm = tuple[Fraction, dict[int, Fraction]]
"""A centre, and the coefficients of generators between -1 and 1 by their numbers."""


def save_certificate(found: Closeness, epsilon: list[float], path: str | Path) -> None:
    """Store the boxes of a proof that differences stay within epsilon.

    Parameters
    ----------
    found
        From :func:`difference_bound` with ``keep=True`` and the verdict "holds".
    epsilon
        [C]: largest difference allowed per output; infinite for outputs that are not asked about.
    path
        File to write, as JSON. Numbers are stored exactly.
    """
    if not found.holds or found.leaves is None:
        raise TutelageError("only a proof with its boxes can be stored: ask difference_bound with keep=True")
    low, high = found.leaves
    boxes = [[[v.hex() for v in row] for row in pair] for pair in zip(low.tolist(), high.tolist(), strict=True)]
    write_atomically(Path(path), json.dumps({"format": FORMAT, "epsilon": [e.hex() for e in epsilon], "boxes": boxes}))


def load_certificate(path: str | Path) -> tuple[list[float], np.ndarray, np.ndarray]:
    """Read a stored proof.

    Parameters
    ----------
    path
        File that :func:`save_certificate` wrote.

    Returns
    -------
    tuple
        epsilon [C], and the low and high ends of the boxes, [N, d] each.
    """
    try:
        record: dict[str, Any] = json.loads(Path(path).read_text())
        if record["format"] != FORMAT:
            raise TutelageError(f"{path} has the format {record['format']}, and {FORMAT} is understood")
        boxes = np.array([[[float.fromhex(v) for v in row] for row in pair] for pair in record["boxes"]])
        return [float.fromhex(e) for e in record["epsilon"]], boxes[:, 0], boxes[:, 1]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise TutelageError(f"{path} is not a stored proof ({error})") from None


def check_certificate(
    path: str | Path, first: Network, second: Network, low: torch.Tensor, high: torch.Tensor
) -> tuple[bool, str]:
    """Check a stored proof with exact arithmetic.

    Parameters
    ----------
    path
        File that :func:`save_certificate` wrote.
    first, second
        The networks, one member each, with relu units.
    low, high
        Ends [d] of the domain.

    Returns
    -------
    tuple
        Whether the boxes cover the domain and every one of them is proved, and a sentence that says so or why not.
    """
    epsilon, lows, highs = load_certificate(path)
    pair = in_double(first), in_double(second)
    ends = [_row(end.tolist()) for end in (low, high)]
    boxes = [
        ([Fraction(v) for v in a], [Fraction(v) for v in b]) for a, b in zip(lows.tolist(), highs.tolist(), strict=True)
    ]
    if not _cover(boxes, *ends):
        return False, f"the {len(boxes):,} boxes of {path} do not cover the domain"
    joint = joined(*pair)
    if joint.slack_f.any() or joint.slack_g.any() or not np.isin([*joint.left_f, *joint.left_g], (0.0,)).all():
        raise TutelageError("the checker of stored proofs understands relu networks of one depth: check another way")
    layers = _layers(joint, joint.wf, joint.bf), _layers(joint, joint.wg, joint.bg)
    for number, (a, b) in enumerate(boxes):
        for k, bound in enumerate(_difference(*layers, a, b)):
            if epsilon[k] < float("inf") and bound > Fraction(epsilon[k]):
                return False, f"box {number} bounds output {k} by {float(bound):.3g} only, above {epsilon[k]:g}"
    return True, f"{len(boxes):,} boxes cover the domain, and the bound holds on each of them without rounding"


def _row(numbers: list[float]) -> Row:
    return [Fraction(v) for v in numbers]


def _holds(box: tuple[Row, Row], low: Row, high: Row) -> bool:
    """Whether a box holds all of another one."""
    below = all(p <= x for p, x in zip(box[0], low, strict=True))
    return below and all(q >= y for q, y in zip(box[1], high, strict=True))


def _cover(boxes: list[tuple[Row, Row]], low: Row, high: Row) -> bool:
    """Whether boxes that came from halving a box cover it: they are cut at a middle again until one is met."""
    stack = [(low, high, boxes)]
    while stack:
        a, b, inside = stack.pop()
        if any(
            all(p <= x for p, x in zip(u, a, strict=True)) and all(q >= y for q, y in zip(v, b, strict=True))
            for u, v in inside
        ):
            continue
        cut = _cut(a, b, inside)
        if cut is None:
            return False
        side, middle = cut
        left, right = [*b], [*a]
        left[side] = right[side] = middle
        stack.append((a, left, [box for box in inside if box[0][side] < middle]))
        stack.append((right, b, [box for box in inside if box[1][side] > middle]))
    return True


def _cut(low: Row, high: Row, boxes: list[tuple[Row, Row]]) -> tuple[int, Fraction] | None:
    """A side and a place inside it where every box ends or begins, so that none is cut in two."""
    for side in range(len(low)):
        ends = {v for box in boxes for v in (box[0][side], box[1][side]) if low[side] < v < high[side]}
        for place in ends:
            if all(box[1][side] <= place or box[0][side] >= place for box in boxes):
                return side, place
    return None


Layers = list[tuple[list[Row], Row]]


def _layers(pair: Pair, weights: np.ndarray, biases: np.ndarray) -> Layers:
    layers, w_at, b_at = [], 0, 0
    for m, n in pairwise(pair.widths.tolist()):
        w = weights[w_at : w_at + n * m].reshape(n, m)
        layers.append(
            (
                [[Fraction(v) for v in row] for row in w.tolist()],
                [Fraction(v) for v in biases[b_at : b_at + n].tolist()],
            )
        )
        w_at, b_at = w_at + n * m, b_at + n
    return layers


def _difference(first: Layers, second: Layers, low: Row, high: Row) -> list[Fraction]:
    """Bounds on the difference of every output on a box: zonotopes of f and of d = f - g with common generators.

    Networks of other shapes are filled up with units without weights and layers that hand on.
    """
    f: list[AffineForm] = []
    for number, (least, most) in enumerate(zip(low, high, strict=True)):
        f.append(((least + most) / 2, {number: (most - least) / 2} if most > least else {}))
    d: list[AffineForm] = [(Fraction(0), {}) for _ in f]
    names = iter(range(len(low), 1 << 60))
    for number, ((w, b), (v, c)) in enumerate(zip(first, second, strict=True)):
        lower = [_sum([*zip(y, d, strict=True), *((p - q, form) for p, q, form in zip(x, y, f, strict=True))], p - q)
                 for x, y, p, q in zip(w, v, b, c, strict=True)]  # fmt: skip
        f = [_sum(zip(x, f, strict=True), p) for x, p in zip(w, b, strict=True)]
        d = lower
        if number < len(first) - 1:
            pairs = [_relu(one, other, names) for one, other in zip(f, d, strict=True)]
            f, d = [one for one, _ in pairs], [other for _, other in pairs]
    return [max(abs(end) for end in _range(form)) for form in d]


def _sum(terms: Iterable[tuple[Fraction, AffineForm]], constant: Fraction) -> AffineForm:
    """constant + the sum of weights times forms."""
    centre = constant
    total: dict[int, Fraction] = {}
    for weight, (c, generators) in terms:
        if weight:
            centre += weight * c
            for name, size in generators.items():
                total[name] = total.get(name, Fraction(0)) + weight * size
    return centre, total


def _range(form: AffineForm) -> tuple[Fraction, Fraction]:
    reach = sum(map(abs, form[1].values()), Fraction(0))
    return form[0] - reach, form[0] + reach


def _line(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    """max(0, u) lies between s u and s u + 2 h on [low, high]: (s, h)."""
    if low >= 0:
        return Fraction(1), Fraction(0)
    if high <= 0:
        return Fraction(0), Fraction(0)
    slope = Fraction(float(high / (high - low)))  # any slope will do: one of 53 bits keeps numbers short
    return slope, max(-slope * low, (1 - slope) * high) / 2


def _relu(f: AffineForm, d: AffineForm, names: Iterator[int]) -> tuple[AffineForm, AffineForm]:
    """max(0, f), and max(0, f) - max(0, f - d): from both lines, or as half of d with a noise of its own."""
    one = Fraction(1)
    (low, high), (low_d, high_d) = _range(f), _range(d)
    low_g, high_g = _range(_sum([(one, f), (-one, d)], Fraction(0)))
    high, low = min(high, high_g + high_d), max(low, low_g + low_d)
    high_g, low_g = min(high_g, high - low_d), max(low_g, low - high_d)
    high_d, low_d = min(high_d, high - low_g), max(low_d, low - high_g)
    (s, h), (t, k) = _line(low, high), _line(low_g, high_g)
    new_f = _sum([(s, f)], h)
    noise = next(names)
    if h:
        new_f[1][noise] = h
    if (low >= 0 and low_g >= 0) or (high <= 0 and high_g <= 0):
        return new_f, d if low >= 0 else (Fraction(0), {})
    direct = _sum([(t, d), (s - t, f)], h - k)
    if h:
        direct[1][noise] = h
    if k:
        direct[1][next(names)] = k
    half = _sum([(one / 2, d)], Fraction(0))
    half[1][next(names)] = max(high_d, -low_d, Fraction(0)) / 2
    sizes = [sum(map(abs, form[1].values()), Fraction(0)) for form in (direct, half)]
    return new_f, direct if sizes[0] <= sizes[1] else half
