"""Zonotopes of two networks and their difference in rational arithmetic: what bounds in floats are held against."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from tutelage.functions.layers.pairs import Pair, layers_of

Row = list[Fraction]
AffineForm = tuple[Fraction, dict[int, Fraction]]
"""A centre, and the coefficients of generators between -1 and 1 by their numbers."""


@dataclass(frozen=True)
class ExactLayer:
    """One layer of one network: weights [out][in], biases and slacks [out], the slope of its activation below 0."""

    w: list[Row]
    b: Row
    slack: Row
    left: Fraction


Both = tuple[list[ExactLayer], list[ExactLayer]]


def exact_layers(pair: Pair) -> Both:
    """Both networks of a pair; the top layer has no activation."""
    f, g, b_at = [], [], 0
    for layer in layers_of(pair):
        bg = pair.bg[b_at : b_at + len(layer.bf)]
        b_at += len(bg)
        f.append(_layer(layer.wf, layer.bf, layer.slack_f, layer.left_f))
        g.append(_layer(layer.wg, bg, layer.slack_g, layer.left_g))
    return f, g


def _layer(w: np.ndarray, b: np.ndarray, slack: np.ndarray, left: float) -> ExactLayer:
    rows = [[Fraction(v) for v in row] for row in w.tolist()]
    return ExactLayer(rows, [Fraction(v) for v in b.tolist()], [Fraction(v) for v in slack.tolist()], Fraction(left))


def exact_line(low: Fraction, high: Fraction, left: Fraction) -> tuple[Fraction, Fraction]:
    """A line above a unit; its slope has 53 bits, which keeps numbers short and is as good as any."""
    if low >= 0 or left == 1:
        return Fraction(1), Fraction(0)
    if high <= 0:
        return left, Fraction(0)
    slope = min(max(Fraction(float((high - left * low) / (high - low))), left), Fraction(1))
    return slope, max((left - slope) * low, (1 - slope) * high)


def output_forms(both: Both, low: Row, high: Row) -> tuple[list[AffineForm], list[AffineForm]]:
    """Zonotopes of the outputs of f and of d = f - g on a box, with common generators.

    Networks of other shapes are filled up with units without weights and layers that hand on.
    """
    f: list[AffineForm] = []
    for number, (least, most) in enumerate(zip(low, high, strict=True)):
        f.append(((least + most) / 2, {number: (most - least) / 2} if most > least else {}))
    d: list[AffineForm] = [(Fraction(0), {}) for _ in f]
    names = count(len(low))
    for number, (first, second) in enumerate(zip(*both, strict=True)):
        f, d = _affine(first, second, f, d, names)
        if number < len(both[0]) - 1:
            bent = [_bent(form_f, form_d, first.left, second.left, names) for form_f, form_d in zip(f, d, strict=True)]
            f, d = [form for form, _ in bent], [form for _, form in bent]
    return f, d


def _affine(first: ExactLayer, second: ExactLayer, f, d, names: Iterator[int]):
    """f' = Wf f + bf and d' = Wg d + (Wf - Wg) f + bf - bg, each with the noise that a slack stands for."""
    new_f, new_d = [], []
    for x, y, p, q, room_f, room_g in zip(first.w, second.w, first.b, second.b, first.slack, second.slack, strict=True):
        out_f = combined(zip(x, f, strict=True), p)
        terms = [*zip(y, d, strict=True), *((u - v, form) for u, v, form in zip(x, y, f, strict=True))]
        out_d = combined(terms, p - q)
        if room_f:
            # A slack of f is noise of f and of d = f - g alike, under one name; a slack of g is noise of d alone.
            name = next(names)
            out_f[1][name] = out_d[1][name] = room_f
        if room_g:
            out_d[1][next(names)] = room_g
        new_f.append(out_f)
        new_d.append(out_d)
    return new_f, new_d


def combined(terms: Iterable[tuple[Fraction, AffineForm]], constant: Fraction) -> AffineForm:
    """constant + the sum of weights times forms."""
    centre = constant
    total: dict[int, Fraction] = {}
    for weight, (c, generators) in terms:
        if weight:
            centre += weight * c
            for name, size in generators.items():
                total[name] = total.get(name, Fraction(0)) + weight * size
    return centre, total


def ends(form: AffineForm) -> tuple[Fraction, Fraction]:
    """Lower and upper bound of a form."""
    reach = sum(map(abs, form[1].values()), Fraction(0))
    return form[0] - reach, form[0] + reach


def _bent(
    f: AffineForm, d: AffineForm, left_f: Fraction, left_g: Fraction, names: Iterator[int]
) -> tuple[AffineForm, AffineForm]:
    """sigma(f), and sigma(f) - sigma(f - d): from both lines, or as a mean slope times d with a noise of its own."""
    one = Fraction(1)
    (low, high), (low_d, high_d) = ends(f), ends(d)
    low_g, high_g = ends(combined([(one, f), (-one, d)], Fraction(0)))
    # The order of `_zonotopes.tightened`, so that what was proved there is proved here.
    high, low = min(high, high_g + high_d), max(low, low_g + low_d)
    high_g, low_g = min(high_g, high - low_d), max(low_g, low - high_d)
    high_d, low_d = min(high_d, high - low_g), max(low_d, low - high_g)
    (s, h), (t, k) = exact_line(low, high, left_f), exact_line(low_g, high_g, left_g)
    h, k = h / 2, k / 2  # sigma(u) is s u + h +- h
    new_f = combined([(s, f)], h)
    noise = next(names)
    if h:
        new_f[1][noise] = h
    if not h and not k and s == t:
        return new_f, combined([(s, d)], Fraction(0))
    direct = combined([(t, d), (s - t, f)], h - k)
    if h:
        direct[1][noise] = h
    if k:
        direct[1][next(names)] = k
    if left_f != left_g:
        return new_f, direct
    mean = combined([((1 + left_f) / 2, d)], Fraction(0))
    mean[1][next(names)] = (1 - left_f) / 2 * max(high_d, -low_d, Fraction(0))
    sizes = [sum(map(abs, form[1].values()), Fraction(0)) for form in (direct, mean)]
    return new_f, direct if sizes[0] <= sizes[1] else mean
