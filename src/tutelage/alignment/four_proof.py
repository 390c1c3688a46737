r"""Conjecture 5.5 of Zhu et al. 2021 for m = 4 and f(theta) = sin theta + (pi - theta) cos theta, proved on boxes of
angles.

As :mod:`.interval_proof` does for three students: the hypercube of all angles is cut into sixteen again and again, a
box with :math:`0 < \theta_1 < \dots < \theta_4 < 2\pi` is *proved* when det M_2 or det M_3 is below 0 all over it, by
its value at the middle and the greatest of its derivatives. Sets with :math:`\theta_1 + \theta_4 \ge 2\pi` are
mirrored ones and left *outside*; boxes with two neighbours within :math:`2\pi / 2^k` all over are *excluded*. What is
left at the finest level stays *open*: this is a proof on a share of the domain, and says which. Upper bounds have to
lie below minus ``SLACK``, so that the coarse whole numbers of :mod:`.four_checker` can confirm them.
"""

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tutelage.alignment._four_loops import uppers
from tutelage.alignment.interval_proof import EXCLUDED, LOWEST_SLOPE, OPEN, OUTSIDE, PROVED, ROOT, SPLIT
from tutelage.errors import TutelageError

SLACK = 0.1
CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class FourProof:
    """Codes of all boxes of four angles, level by level; children of split boxes follow in the order of parents.

    Codes are those of :mod:`.interval_proof`, 2 and 3 being proved by det M_2 and det M_3; margin: k.
    """

    margin: int
    levels: tuple[np.ndarray, ...]

    def counts(self) -> dict[str, int]:
        every = np.concatenate(self.levels)
        names = {"proved": (2, 3), "excluded": (EXCLUDED,), "outside": (OUTSIDE,), "open": (OPEN,)}
        return {name: int(np.isin(every, codes).sum()) for name, codes in names.items()}

    @property
    def share(self) -> float:
        """Of the volume of all ordered sets, what proved boxes with their mirror images surely cover.

        Boxes that are cut by the border of the ordered sets, or by that of the mirrored ones, count for nothing.
        """
        total, corners = 0.0, np.zeros((1, 4), np.int64)
        for level, codes in enumerate(self.levels):
            size = 1 << level
            inner = (np.diff(corners, axis=1) > 0).all(1) & (corners[:, 0] + corners[:, 3] + 2 <= size)
            total += int((inner & ((codes == 2) | (codes == 3))).sum()) / size**4
            corners = children(corners[codes == SPLIT])
        return total * 2 * math.factorial(4)

    @property
    def digest(self) -> str:
        return hashlib.sha256(bytes([4, self.margin]) + b"".join(level.tobytes() for level in self.levels)).hexdigest()

    def save(self, path: Path) -> None:
        """As an npz without pickles."""
        lengths = np.array([len(level) for level in self.levels], np.int64)
        np.savez_compressed(path, margin=np.array(self.margin), lengths=lengths, codes=np.concatenate(self.levels))


def load(path: Path) -> FourProof:
    """A proof from its file; nothing in it is trusted before the checker has seen it."""
    with np.load(path, allow_pickle=False) as held:
        return FourProof(int(held["margin"]), tuple(np.split(held["codes"], np.cumsum(held["lengths"])[:-1])))


def children(corners: np.ndarray) -> np.ndarray:
    """Lower corners of the sixteen halves of boxes, in units of the finer level: int64 [B, 4] -> [16 B, 4]."""
    offsets = np.stack(np.meshgrid(*([[0, 1]] * 4), indexing="ij"), -1).reshape(16, 4)
    return (2 * corners[:, None] + offsets).reshape(-1, 4)


def prove_four(margin: int = 4, finest: int = 5) -> FourProof:
    """Branch and bound down to boxes of side 2 pi / 2^finest, outside the neighbourhood 2 pi / 2^margin.

    >>> prove_four(4, 5).counts()["proved"] > 100
    True
    """
    if not 2 <= margin <= 8 or not 2 <= finest <= 8:
        raise TutelageError(f"margin and finest level run from 2 to 8, not {margin} and {finest}")
    corners, levels = np.zeros((1, 4), np.int64), []
    for level in range(finest + 1):
        parts = [_codes(corners[k : k + CHUNK], level, margin) for k in range(0, len(corners), CHUNK)]
        codes = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
        if level == finest:
            codes[codes == SPLIT] = OPEN
        levels.append(codes)
        corners = children(corners[codes == SPLIT])
    return FourProof(margin, tuple(levels))


def _codes(corners: np.ndarray, level: int, margin: int) -> np.ndarray:
    """uint8 [B]; positions are exact integers in units of the level."""
    size = 1 << level
    low, high = corners.T, corners.T + 1
    most = [high[0], high[1] - low[0], high[2] - low[1], high[3] - low[2], size - low[3]]
    codes = np.zeros(len(corners), np.uint8)
    for gap in most:
        codes[gap << margin <= size] = EXCLUDED
    for k in range(3):
        codes[low[k] >= high[k + 1]] = OUTSIDE
    codes[low[0] + low[3] >= size] = OUTSIDE
    ask = np.flatnonzero(codes == SPLIT)
    if level >= 3 and len(ask):
        found = upper_bounds(corners[ask], level)
        codes[ask] = np.where(found.min(1) < -SLACK, PROVED + 1 + found.argmin(1), SPLIT)
    return codes


def upper_bounds(corners: np.ndarray, level: int) -> np.ndarray:
    """Of det M_2 and det M_3 on boxes: [B, 2]."""
    half = 1 << level
    angles = np.arange(2 * half + 1) * (math.pi / half)
    near = np.minimum(angles, 2 * math.pi - angles)
    near[half] = math.pi
    value = np.sin(near) + (math.pi - near) * np.cos(near)
    slope = np.where(np.arange(2 * half + 1) <= half, -1, 1) * (math.pi - near) * np.sin(near)
    out = np.empty((len(corners), 2))
    turn = int(ROOT[0] / (math.pi / half))
    uppers(np.ascontiguousarray(corners), half, value, slope, turn, LOWEST_SLOPE, math.pi / half, out)
    return out
