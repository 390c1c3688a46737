r"""Conjecture 5.5 of Zhu et al. 2021 for relu and three students once more, on boxes of angles.

:mod:`.relu_theorem` proves it for all angles by hand. This proof shares nothing with that one: a machine
computes bounds of the determinants themselves, wherever no two angles are close.

The angles are :math:`0 < \theta_1 < \theta_2 < \theta_3 < 2\pi`, and :math:`\theta_2 \le \pi` without loss, since
:math:`\theta \to 2\pi - \theta` turns every set with :math:`\theta_2 > \pi` into one below with the same determinants.
The cube of all angles is cut into eight again and again; a box is *proved* when one det M_i is below 0 all over it,
*excluded* when all of it lies where two of the four angles are within :math:`2\pi / 2^k` of each other, *outside* when
no ordered set with :math:`\theta_2 \le \pi` is in it. Antipodal angles need no exclusion. It is always det M_2, that
of the student opposite to the teacher in the order of angles, that is found negative.

On a box with half-widths h, det M_i is at most its value at the middle plus :math:`\sum_k h_k \max|\partial_k|`. With
:math:`a, b, c = f_{12}, f_{13}, f_{23}` and :math:`x, y, z = f_{01}, f_{02}, f_{03}`

.. math:: \det M_1 = x(\pi^2 - c^2) - \pi(ay + bz) + c(az + by)

and likewise for the others. Every operation on intervals is rounded outwards by one unit in the last place; sines and
cosines of NumPy are trusted to four of them. :mod:`.proof_checker` repeats the proof without either.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tutelage.errors import TutelageError

SPLIT, PROVED, EXCLUDED, OUTSIDE, OPEN = 0, 1, 4, 5, 6
"""Codes of boxes; 1, 2, 3: proved by det M_1, M_2, M_3; open: neither, at the finest level asked for."""
CHUNK = 1 << 15
_LOWEST_SLOPE = -1.8198
"""Below the least f', which is at the only root of f'' = sin theta - (pi - theta) cos theta, between the next two."""
ROOT = (1.1128, 1.1131)
_PI = (np.nextafter(np.pi, 0), np.nextafter(np.pi, 4))

Interval = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class IntervalProof:
    """Codes of all boxes, level by level from the whole cube; children of split boxes follow in the order of parents.

    margin: k, the excluded neighbourhood being 2 pi / 2^k.
    """

    margin: int
    levels: tuple[np.ndarray, ...]

    def counts(self) -> dict[str, int]:
        every = np.concatenate(self.levels)
        names = {"proved": (1, 2, 3), "excluded": (EXCLUDED,), "outside": (OUTSIDE,), "open": (OPEN,)}
        return {name: int(np.isin(every, codes).sum()) for name, codes in names.items()}

    @property
    def share(self) -> float:
        """Of the volume of all ordered sets, 2 pi^3 / 3 of the half looked at: what the proved boxes surely cover.

        Boxes that are cut by the border of the ordered sets count for nothing.
        """
        total, corners = 0.0, np.zeros((1, 3), np.int64)
        for level, codes in enumerate(self.levels):
            size = 1 << level
            inner = (corners[:, 0] < corners[:, 1]) & (corners[:, 1] < corners[:, 2])
            total += int((inner & (codes >= 1) & (codes <= 3)).sum()) / size**3
            corners = children(corners[codes == SPLIT])
        return total / (1 / 12)

    @property
    def complete(self) -> bool:
        return not any((codes == OPEN).any() for codes in self.levels)

    @property
    def digest(self) -> str:
        held = b"".join(level.tobytes() for level in self.levels)
        return hashlib.sha256(bytes([self.margin]) + held).hexdigest()

    def save(self, path: Path) -> None:
        """As an npz without pickles."""
        lengths = np.array([len(level) for level in self.levels], np.int64)
        np.savez_compressed(path, margin=np.array(self.margin), lengths=lengths, codes=np.concatenate(self.levels))


def load(path: Path) -> IntervalProof:
    """A proof from its file; nothing in it is trusted before the checker has seen it."""
    with np.load(path, allow_pickle=False) as held:
        ends = np.cumsum(held["lengths"])[:-1]
        return IntervalProof(int(held["margin"]), tuple(np.split(held["codes"], ends)))


def children(corners: np.ndarray) -> np.ndarray:
    """Lower corners of the eight halves of boxes, in units of the finer level: int64 [B, 3] -> [8 B, 3]."""
    offsets = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), -1).reshape(8, 3)
    return (2 * corners[:, None] + offsets).reshape(-1, 3)


def prove(margin: int = 5, finest: int = 10) -> IntervalProof:
    """Branch and bound down to boxes of side 2 pi / 2^finest, outside the neighbourhood 2 pi / 2^margin.

    >>> prove(3, 5).counts()["proved"] > 100
    True
    """
    if not 2 <= margin <= finest <= 16:
        raise TutelageError(
            f"levels run from 2 to 16 and the margin is no finer than the boxes, not {margin} and {finest}"
        )
    return IntervalProof(margin, branch(lambda corners, level: _codes(corners, level, margin), finest))


def branch(judge: Callable[[np.ndarray, int], np.ndarray], finest: int) -> tuple[np.ndarray, ...]:
    """Codes of boxes from the whole cube down, split where (corners [B, 3], level) -> codes [B] says so."""
    corners, levels = np.zeros((1, 3), np.int64), []
    # Invariant: the boxes judged EXCLUDED, OUTSIDE or PROVED so far, and those at `corners`, cover the whole cube. Only
    # SPLIT boxes have children, and the eight children cover their parent, so an end without OPEN boxes is a proof.
    for level in range(finest + 1):
        parts = [judge(corners[k : k + CHUNK], level) for k in range(0, len(corners), CHUNK)]
        codes = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
        if level == finest:
            codes[codes == SPLIT] = OPEN
        levels.append(codes)
        corners = children(corners[codes == SPLIT])
        if not len(corners):
            break
    return tuple(levels)


def _codes(corners: np.ndarray, level: int, margin: int) -> np.ndarray:
    """uint8 [B]; positions are exact integers in units of the level."""
    size = 1 << level
    low, high = corners.T, corners.T + 1
    gaps = [high[0], high[1] - low[0], high[2] - low[1], size - low[2]]  # at most, between neighbours on the circle
    codes = np.zeros(len(corners), np.uint8)
    # Integers throughout: a box is excluded only if all of it is within the margin, and no rounding can say so wrongly.
    for gap in gaps:
        codes[gap << margin <= size] = EXCLUDED
    codes[(low[0] >= high[1]) | (low[1] >= high[2]) | (2 * low[1] >= size)] = OUTSIDE
    ask = np.flatnonzero(codes == SPLIT)
    # Boxes of side pi/2 and more are too wide for any bound to be negative: they are split without asking.
    if level >= 3 and len(ask):
        ask_corners = corners[ask]
        lowest = np.stack(_uppers(ask_corners, level))
        # One negative determinant is enough, and the smallest bound is the safest to record.
        best = lowest.argmin(0)
        codes[ask] = np.where(lowest[best, np.arange(len(ask))] < 0, best + PROVED, SPLIT)
    return codes


# ----------------------------------------------------------------------------------------------------------------
# Interval arithmetic, outwards by one unit in the last place


def _down(x: np.ndarray) -> np.ndarray:
    return np.nextafter(x, -np.inf)


def _up(x: np.ndarray) -> np.ndarray:
    return np.nextafter(x, np.inf)


def _add(x: Interval, y: Interval) -> Interval:
    return _down(x[0] + y[0]), _up(x[1] + y[1])


def _sub(x: Interval, y: Interval) -> Interval:
    return _down(x[0] - y[1]), _up(x[1] - y[0])


def _mul(x: Interval, y: Interval) -> Interval:
    products = [x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1]]
    return _down(np.minimum.reduce(products)), _up(np.maximum.reduce(products))


def _around(x: np.ndarray, units: int = 4) -> Interval:
    """What a function with results in [-1, 1], right to some units in the last place, may have been."""
    reach = units * 2.0**-53
    return x - reach, x + reach


def _angle(position: np.ndarray, size: int) -> Interval:
    """pi position / size with position an integer, so that the position is exact: in [0, pi]."""
    share = position / size  # exact: size is a power of two
    return _mul((share, share), _PI)


def _value(position: np.ndarray, size: int) -> Interval:
    """f at the angle pi position / size in [0, pi]."""
    t, (sine, cosine) = _angle(position, size), _turns(position, size)
    return _add(sine, _mul(_sub(_PI, t), cosine))


def _slope(position: np.ndarray, size: int) -> Interval:
    """f' = -(pi - theta) sin theta at the angle pi position / size in [0, pi]."""
    t, (sine, _) = _angle(position, size), _turns(position, size)
    x = _mul(_sub(_PI, t), sine)
    return -x[1], -x[0]


def _turns(position: np.ndarray, size: int) -> tuple[Interval, Interval]:
    """Sine and cosine; the rounded angle is off by less than 5 units, and so are they, beside their own 4."""
    t = position / size * np.pi
    sine, cosine = (_around(g(t), 12) for g in (np.sin, np.cos))
    return sine, cosine


# ----------------------------------------------------------------------------------------------------------------
# f and f' on intervals of angles that are whole multiples of half a box, and the determinants


def _folded(position: np.ndarray, circle: int) -> np.ndarray:
    return np.minimum(position, circle - position)


def _range_of_values(low: np.ndarray, high: np.ndarray, half: int) -> Interval:
    """f decreases in the distance from 0 on the circle of 2 half steps: positions low <= high in [0, 2 half]."""
    near = np.minimum(_folded(low, 2 * half), _folded(high, 2 * half))
    far = np.where((low <= half) & (half <= high), half, np.maximum(_folded(low, 2 * half), _folded(high, 2 * half)))
    return _value(far, half)[0], _value(near, half)[1]


def _range_of_slopes(low: np.ndarray, high: np.ndarray, half: int) -> Interval:
    """f' of the circle's distance with its sign: f' on [0, pi] is at most 0, falls to its least and rises again."""

    def within(a: np.ndarray, b: np.ndarray) -> Interval:
        # f' falls to its least at the only root of f'' and rises after: between two angles its largest value is at an
        # end, and its least too unless the root lies between them.
        at = [_slope(a, half), _slope(b, half)]
        lowest = np.minimum(at[0][0], at[1][0])
        meets = (_angle(a, half)[0] <= ROOT[1]) & (_angle(b, half)[1] >= ROOT[0])
        return np.where(meets, _LOWEST_SLOPE, lowest), np.maximum(at[0][1], at[1][1])

    before = within(np.minimum(low, half), np.minimum(high, half))
    mirrored = within(2 * half - np.maximum(high, half), 2 * half - np.maximum(low, half))
    behind = (-mirrored[1], -mirrored[0])
    lower = np.where(high <= half, before[0], np.where(low >= half, behind[0], np.minimum(before[0], behind[0])))
    upper = np.where(high <= half, before[1], np.where(low >= half, behind[1], np.maximum(before[1], behind[1])))
    return lower, upper


def _uppers(corners: np.ndarray, level: int) -> list[np.ndarray]:
    """Upper bounds of det M_1, det M_2, det M_3 on boxes: three arrays [B]."""
    half = 1 << level  # positions are in halves of a box, so pi is ``half`` of them
    low, middle, high = 2 * corners.T, 2 * corners.T + 1, 2 * corners.T + 2
    pairs = {"x": (0, None), "y": (1, None), "z": (2, None), "a": (1, 0), "b": (2, 0), "c": (2, 1)}
    centre, ranges, slopes = {}, {}, {}
    for name, (i, j) in pairs.items():
        if j is None:
            at, start, end = middle[i], low[i], high[i]
        else:
            at, start, end = middle[i] - middle[j], low[i] - high[j], high[i] - low[j]
        # Boxes on the border of the ordered sets hold unordered ones, for which nothing has to hold.
        start, at = np.maximum(start, 0), np.maximum(at, 0)  # only ordered sets are asked about
        end = np.minimum(end, 2 * half)
        centre[name] = _value(_folded(at, 2 * half), half)
        ranges[name] = _range_of_values(start, end, half)
        slopes[name] = _range_of_slopes(start, end, half)
    reach = _angle(np.ones(1), half)[1]
    return [_upper(i, centre, ranges, slopes, reach) for i in range(3)]


_ROLES = ({"x": "x", "y": "y", "z": "z", "a": "a", "b": "b", "c": "c"},
          {"x": "y", "y": "x", "z": "z", "a": "a", "b": "c", "c": "b"},
          {"x": "z", "y": "y", "z": "x", "a": "c", "b": "b", "c": "a"})  # fmt: skip
"""det M_2 and det M_3 are det M_1 with units exchanged: 1 with 2, and 1 with 3."""
_SIGNS = {"x": (0, None), "y": (1, None), "z": (2, None), "a": (1, 0), "b": (2, 0), "c": (2, 1)}
"""Every distance grows with the first angle named and falls with the second."""


def _upper(i: int, centre: dict, ranges: dict, slopes: dict, reach: np.ndarray) -> np.ndarray:
    role = _ROLES[i]
    value = _determinant({name: centre[source] for name, source in role.items()})[1]
    partial = _partials({name: ranges[source] for name, source in role.items()})
    moved = {source: _mul(partial[name], slopes[source]) for name, source in role.items()}
    for k in range(3):
        # The mean value theorem along the box: moving angle k by h_k changes the determinant by at most h_k max|d_k|.
        # Both parts of d_k that come from different distances are added as intervals first, so that opposite signs
        # cancel.
        total = None
        for name, (grows, falls) in _SIGNS.items():
            if k in (grows, falls):
                term = moved[name] if k == grows else (-moved[name][1], -moved[name][0])
                total = term if total is None else _add(total, term)
        assert total is not None
        value = _up(value + _up(reach * np.maximum(np.abs(total[0]), np.abs(total[1]))))
    return value


def _determinant(f: dict) -> Interval:
    """det M_1 from the six values."""
    first = _mul(f["x"], _sub(_mul(_PI, _PI), _mul(f["c"], f["c"])))
    second = _mul(_PI, _add(_mul(f["a"], f["y"]), _mul(f["b"], f["z"])))
    third = _mul(f["c"], _add(_mul(f["a"], f["z"]), _mul(f["b"], f["y"])))
    return _add(_sub(first, second), third)


def _partials(f: dict) -> dict:
    """Derivatives of det M_1 by the six values."""
    twice = (2 * f["c"][0], 2 * f["c"][1])
    return {
        "x": _sub(_mul(_PI, _PI), _mul(f["c"], f["c"])),
        "y": _sub(_mul(f["c"], f["b"]), _mul(_PI, f["a"])),
        "z": _sub(_mul(f["c"], f["a"]), _mul(_PI, f["b"])),
        "a": _sub(_mul(f["c"], f["z"]), _mul(_PI, f["y"])),
        "b": _sub(_mul(f["c"], f["y"]), _mul(_PI, f["z"])),
        "c": _sub(_add(_mul(f["a"], f["z"]), _mul(f["b"], f["y"])), _mul(twice, f["x"])),
    }
