r"""The proof of :mod:`.interval_proof` for m = 3 carried on to where two neighbours on the circle coincide.

There det M_2 vanishes: with theta_1 = 0 two of its columns are the same. So det M_2 is negative for all
:math:`0 < \theta_1 \le \epsilon` wherever its derivative by theta_1 is negative for all theta_1 from 0 to epsilon, and
that is what the boxes of this proof show: for :math:`\epsilon = 2\pi / 2^{slab}` and the three other gaps at least
:math:`2\pi / 2^{margin}`.

det M_2 is a cofactor of the symmetric matrix of the four angles, that of the opposite pair 0 and 2. Turning the order
round, and exchanging 0 and 2, leave it as it is and bring any of the four gaps to the first place; so the proof holds
whichever gap is the small one.
"""

import numpy as np

from tutelage.alignment.interval_proof import (
    _ROLES,
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
    _folded,
    _mul,
    _partials,
    _range_of_slopes,
    _range_of_values,
    _slope,
    _sub,
    _turns,
    _up,
    _value,
    branch,
)
from tutelage.errors import TutelageError

HIGHEST_CURVE = 1.3913
"""Above the greatest f'', which is at the only root of f''' = 2 cos theta + (pi - theta) sin theta, between these."""
BEND = (2.0645, 2.0650)


def prove_face(slab: int = 6, margin: int = 5, finest: int = 11) -> IntervalProof:
    """Branch and bound for the derivative of det M_2 by the first angle.

    >>> prove_face(5, 4, 8).counts()["proved"] > 100
    True
    """
    if not 2 <= margin < slab <= finest <= 16:
        raise TutelageError(
            f"a slab is thinner than the margin and no finer than the boxes, not {slab}, {margin}, {finest}"
        )
    return IntervalProof(margin, branch(lambda corners, level: _codes(corners, level, slab, margin), finest), slab)


def _codes(corners: np.ndarray, level: int, slab: int, margin: int) -> np.ndarray:
    size = 1 << level
    low, high = corners.T, corners.T + 1
    codes = np.zeros(len(corners), np.uint8)
    for gap in (high[1] - low[0], high[2] - low[1], size - low[2]):
        codes[gap << margin <= size] = EXCLUDED
    codes[(low[0] >= high[1]) | (low[1] >= high[2]) | (low[0] << slab >= size)] = OUTSIDE
    ask = np.flatnonzero(codes == SPLIT)
    if level >= 3 and len(ask):
        codes[ask] = np.where(_upper(corners[ask], level) < 0, PROVED + 1, SPLIT)
    return codes


def _curve(position: np.ndarray, size: int) -> Interval:
    """f'' = sin theta - (pi - theta) cos theta at the angle pi position / size in [0, pi]."""
    t, (sine, cosine) = _angle(position, size), _turns(position, size)
    return _sub(sine, _mul(_sub(PI, t), cosine))


def _range_of_curves(low: np.ndarray, high: np.ndarray, half: int) -> Interval:
    """f'' of the circle's distance: it rises from -pi at 0 to its greatest and falls to 0 at pi, and mirrored."""
    ends = [_curve(_folded(a, 2 * half), half) for a in (low, high)]
    least = np.minimum(ends[0][0], ends[1][0])
    least = np.where((low <= half) & (half <= high), np.minimum(least, -1e-15), least)
    meets = np.zeros(len(low), np.bool_)
    for a, b in ((low, high), (2 * half - high, 2 * half - low)):
        meets |= (_angle(a, half)[0] <= BEND[1]) & (_angle(b, half)[1] >= BEND[0])
    return least, np.where(meets, HIGHEST_CURVE, np.maximum(ends[0][1], ends[1][1]))


def _upper(corners: np.ndarray, level: int) -> np.ndarray:
    """Upper bounds of the derivative of det M_2 by theta_1 on boxes: its value at the middle and its gradient."""
    half = 1 << level
    low, middle, high = 2 * corners.T, 2 * corners.T + 1, 2 * corners.T + 2
    centre, at, values, slopes, curves = {}, {}, {}, {}, {}
    for name, (i, j) in _SIGNS.items():
        if j is None:
            place, start, end = middle[i], low[i], high[i]
        else:
            place, start, end = middle[i] - middle[j], low[i] - high[j], high[i] - low[j]
        start, end = np.maximum(start, 0), np.minimum(end, 2 * half)
        centre[name], at[name] = _value(_folded(place, 2 * half), half), _signed_slope(place, half)
        values[name], slopes[name] = _range_of_values(start, end, half), _range_of_slopes(start, end, half)
        curves[name] = _range_of_curves(start, end, half)
    value = _derivative(_second_partials(centre), at)[1]
    partial, reach = _second_partials(values), _angle(np.ones(1), half)[1]
    for k in range(3):
        total = _change(k, values, partial, slopes, curves)
        value = _up(value + _up(reach * np.maximum(np.abs(total[0]), np.abs(total[1]))))
    return value


def _signed_slope(place: np.ndarray, half: int) -> Interval:
    x = _slope(_folded(place, 2 * half), half)
    behind = place > half
    return np.where(behind, -x[1], x[0]), np.where(behind, -x[0], x[1])


def _second_partials(values: dict) -> dict:
    """Derivatives of det M_2 by the six distances."""
    role = _ROLES[1]
    partial = _partials({name: values[own] for name, own in role.items()})
    return {own: partial[name] for name, own in role.items()}


def _derivative(partial: dict, slopes: dict) -> Interval:
    """By theta_1: x grows with it, a and b fall."""
    total = _mul(partial["x"], slopes["x"])
    return _sub(_sub(total, _mul(partial["a"], slopes["a"])), _mul(partial["b"], slopes["b"]))


def _negative(x: Interval) -> Interval:
    return -x[1], -x[0]


def _change(k: int, values: dict, partial: dict, slopes: dict, curves: dict) -> Interval:
    """The derivative of that by angle k: mixed second derivatives of the polynomial, and f''."""

    def moved(name: str) -> Interval | None:
        grows, falls = _SIGNS[name]
        return slopes[name] if k == grows else _negative(slopes[name]) if k == falls else None

    b, y, p = values["b"], values["y"], PI
    twice_b, twice_y = (2 * b[0], 2 * b[1]), (2 * y[0], 2 * y[1])
    mixed = {
        "x": {"a": _negative(p), "b": values["c"], "c": b},
        "a": {"x": _negative(p), "b": values["z"], "z": b},
        "b": {"b": _negative(twice_y), "y": _negative(twice_b), "a": values["z"], "z": values["a"],
              "c": values["x"], "x": values["c"]},
    }  # fmt: skip
    total: Interval = (np.zeros(1), np.zeros(1))
    for name, others in mixed.items():
        change: Interval = (np.zeros(1), np.zeros(1))
        for other, factor in others.items():
            rise = moved(other)
            if rise is not None:
                change = _add(change, _mul(factor, rise))
        part = _mul(change, slopes[name])
        grows, falls = _SIGNS[name]
        if k in (grows, falls):
            bent = _mul(partial[name], curves[name])
            part = _add(part, bent if k == grows else _negative(bent))
        total = _add(total, part if name == "x" else _negative(part))
    return total
