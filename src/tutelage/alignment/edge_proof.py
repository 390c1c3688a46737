r"""The proof of :mod:`.interval_proof` for m = 3 carried on to where two gaps between neighbours vanish together.

det M_2 is 0 wherever one gap is, so with two small gaps g, h and a third number that says where the rest is

.. math:: \det M_2 = \int_0^g \int_0^h \frac{\partial^2 \det M_2}{\partial g\, \partial h}

and det M_2 is negative wherever that derivative is, for all smaller gaps too. Gaps are counted from the teacher at 0,
and there are three kinds of pairs, up to turning the order round and exchanging 0 and 2, which leave det M_2 alone:

- *opposite* (first and third): theta_1 and theta_3 move, the derivative is :math:`\partial_1 \partial_3`;
- *around a neighbour* of the teacher (first and second): 0 and theta_2 move, it is :math:`-\partial_0 \partial_2`;
- around the teacher itself, or the student opposite to it: there the derivative vanishes too, and no proof is tried.

On a box the derivative is enclosed by the ranges of f, f' and f''. With opposite gaps every term of it has a factor f,
f' or f'' of the distance between theta_1 and theta_3. These vanish where the two are antipodal, so on boxes near there
all is divided by :math:`s = |\pi - (\theta_3 - \theta_1)|`, of which :math:`f = \sin s - s \cos s`, :math:`f' = \mp s
\sin s` and :math:`f'' = \sin s + s \cos s`. What is negative but for a surface has a negative integral.
"""

from typing import Literal

import numpy as np

from tutelage.alignment.face_proof import _negative, _range_of_curves, _second_partials
from tutelage.alignment.interval_proof import (
    _SIGNS,
    EXCLUDED,
    OUTSIDE,
    PI,
    PROVED,
    SPLIT,
    Interval,
    IntervalProof,
    _add,
    _angle,
    _down,
    _mul,
    _range_of_slopes,
    _range_of_values,
    _up,
    branch,
)
from tutelage.errors import TutelageError, unknown

Edge = Literal["opposite", "neighbour"]
EDGES: tuple[Edge, ...] = ("opposite", "neighbour")
"""Kinds of pairs of small gaps; a proof knows them by their place here, counted from 1."""
_MOVES: dict[Edge, tuple[dict[str, int], dict[str, int]]] = {
    "opposite": ({"x": 1, "a": -1, "b": -1}, {"z": 1, "b": 1, "c": 1}),
    "neighbour": ({"x": 1, "y": 1, "z": 1}, {"y": 1, "a": 1, "c": -1}),
}
"""How distances grow (1) or fall (-1) with each of the two small gaps."""
NEAR = 0.5
"""Radians from antipodal within which the derivative is divided by s; |f'| <= s^2, f <= s^3 and f'' >= (2 - s^2) s."""


def prove_edge(edge: Edge, slab: int = 5, margin: int = 4, finest: int = 9) -> IntervalProof:
    """Branch and bound: both gaps of the pair below 2 pi / 2^slab, the two others at least 2 pi / 2^margin.

    >>> prove_edge("opposite", 5, 4, 8).counts()["proved"] > 100
    True
    """
    if edge not in EDGES:
        raise unknown("kind of edge", edge, EDGES)
    if not 2 <= margin <= slab <= finest <= 16:
        raise TutelageError(
            f"gaps of a pair are no wider than the margin or finer than the boxes, not {slab}, {margin}, {finest}"
        )
    levels = branch(lambda corners, level: _codes(corners, level, edge, slab, margin), finest)
    return IntervalProof(margin, levels, slab, EDGES.index(edge) + 1)


def _codes(corners: np.ndarray, level: int, edge: Edge, slab: int, margin: int) -> np.ndarray:
    size = 1 << level
    low, high = corners.T, corners.T + 1
    least = [low[0], low[1] - high[0], low[2] - high[1], size - high[2]]
    most = [high[0], high[1] - low[0], high[2] - low[1], size - low[2]]
    small = (0, 2) if edge == "opposite" else (0, 1)
    codes = np.zeros(len(corners), np.uint8)
    for gap in range(4):
        if gap not in small:
            codes[most[gap] << margin <= size] = EXCLUDED
    codes[(low[0] >= high[1]) | (low[1] >= high[2])] = OUTSIDE
    for gap in small:
        codes[np.maximum(least[gap], 0) << slab >= size] = OUTSIDE
    ask = np.flatnonzero(codes == SPLIT)
    if level >= 3 and len(ask):
        codes[ask] = np.where(_upper(corners[ask], level, edge) < 0, PROVED + 1, SPLIT)
    return codes


def _upper(corners: np.ndarray, level: int, edge: Edge) -> np.ndarray:
    """Upper bounds of the derivative by both gaps on boxes: [B]."""
    half = 1 << level
    low, high = 2 * corners.T, 2 * corners.T + 2
    values, slopes, curves = {}, {}, {}
    for name, (i, j) in _SIGNS.items():
        start, end = (low[i], high[i]) if j is None else (low[i] - high[j], high[i] - low[j])
        start, end = np.maximum(start, 0), np.minimum(end, 2 * half)
        values[name], slopes[name] = _range_of_values(start, end, half), _range_of_slopes(start, end, half)
        curves[name] = _range_of_curves(start, end, half)
    total = _crossed(edge, values, slopes, curves, None)
    if edge == "opposite":
        start, end = np.maximum(low[2] - high[0], 0), high[2] - low[0]
        reach = _angle(np.maximum(np.abs(half - start), np.abs(half - end)), half)[1]
        thin = (0 * reach, _up(reach * reach)), (-reach, reach), (_down(2 - _up(reach * reach)), 2 + 0 * reach)
        near = reach < NEAR
        total = np.where(near, _crossed(edge, values, slopes, curves, thin), total)
    return total


def _crossed(edge: Edge, values: dict, slopes: dict, curves: dict, thin: tuple[Interval, ...] | None) -> np.ndarray:
    """Upper bound of the derivative; thin: f, f' and f'' of b over s, for the derivative over s."""
    first, second = _MOVES[edge]
    partial, mixed = _second_partials(values), _mixed_partials(values)
    over = mixed if thin is None else _mixed_partials(values | {"b": thin[0]})
    rise, bend = (slopes["b"], curves["b"]) if thin is None else thin[1:]
    total: Interval = (np.zeros(1), np.zeros(1))
    for name, way in first.items():
        for other, turn in second.items():
            factors = mixed if "b" in (name, other) else over
            factor = factors.get((name, other)) or factors.get((other, name))
            if factor is not None:
                once = rise if other == "b" or name == "b" else slopes[other]
                again = slopes[other] if name == "b" else slopes[name]
                term = _mul(factor, _mul(once, again))
                total = _add(total, term if way * turn > 0 else _negative(term))
        if name in second:
            term = _mul(partial[name], bend if name == "b" else curves[name])
            total = _add(total, term if way * second[name] > 0 else _negative(term))
    return total[1]


def _mixed_partials(values: dict) -> dict:
    """Second derivatives of det M_2 = pi^2 y - pi c z - pi x a + x b c + a b z - y b^2 by two distances."""
    twice_b, twice_y = ((2 * values[n][0], 2 * values[n][1]) for n in ("b", "y"))
    p = (np.full(1, PI[0]), np.full(1, PI[1]))
    return {
        ("c", "z"): _negative(p), ("x", "a"): _negative(p),
        ("x", "b"): values["c"], ("x", "c"): values["b"], ("b", "c"): values["x"],
        ("a", "b"): values["z"], ("a", "z"): values["b"], ("b", "z"): values["a"],
        ("y", "b"): _negative(twice_b), ("b", "b"): _negative(twice_y),
    }  # fmt: skip
