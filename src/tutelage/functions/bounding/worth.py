"""Whether a dearer bound of a box is worth its time: learnt from the boxes bounded so far.

Boxes are sorted by the ratio of their bound to its limit. How the ratios of halves follow from those of whole boxes
says how many boxes are still to come below one of a given ratio; a dearer bound that proves it with probability p saves
p times as many cheap ones.
"""

import numpy as np

_CLASSES, _PER = 16, 2.0  # classes of ratios: one per factor of the square root of 2, proved boxes in class 0
_TRIALS = 8  # boxes of a class that are tried in any case
_SAVED = 2.0  # times its own time that a dearer bound must save: the worst boxes come first and are counted too high
_MOST = 1e5  # boxes below one box


class Worth:
    """Counts of boxes and times in seconds; all methods take ratios [B] of bounds to limits, proved where 1 or less."""

    def __init__(self) -> None:
        self._moves = np.zeros((_CLASSES, _CLASSES))
        self._tried, self._proved = np.zeros(_CLASSES), np.zeros(_CLASSES)
        self._seconds, self._boxes = np.zeros(2), np.full(2, 1e-9)  # of cheap and dear bounds

    def saw(self, whole: np.ndarray, halves: np.ndarray) -> None:
        """Ratios of halves by cheap bounds, and of the boxes that they are halves of."""
        known = np.isfinite(whole)
        np.add.at(self._moves, (_classes(whole[known]), _classes(halves[known])), 1.0)

    def tried(self, ratios: np.ndarray, proved: np.ndarray) -> None:
        """What became of boxes that were bounded again."""
        np.add.at(self._tried, _classes(ratios), 1.0)
        np.add.at(self._proved, _classes(ratios[proved]), 1.0)

    def took(self, dear: bool, seconds: float, boxes: int) -> None:
        self._seconds[int(dear)] += seconds
        self._boxes[int(dear)] += boxes

    def worth(self, ratios: np.ndarray) -> np.ndarray:
        """Which boxes [B] should be bounded again."""
        cheap, dear = self._seconds / self._boxes
        chance = self._proved / (self._tried + 1.0)
        gains = (chance * self.below() * cheap > _SAVED * dear) | (self._tried < _TRIALS)
        gains[0] = gains[-1] = False
        return gains[_classes(ratios)]

    def below(self) -> np.ndarray:
        """How many boxes are expected below one of each class, until all are proved."""
        seen = self._moves.sum(1, keepdims=True)
        share = self._moves / np.maximum(seen, 1.0)
        counts = np.where(seen[:, 0] > 0, 2.0, 0.0)
        for _ in range(60):
            counts = np.minimum(_MOST, np.where(seen[:, 0] > 0, 2.0 * (1.0 + share @ counts), 0.0))
            counts[0] = 0.0
        return counts


def _classes(ratios: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.ceil(_PER * np.log2(ratios))
    return np.clip(np.nan_to_num(steps, nan=_CLASSES - 1, posinf=_CLASSES - 1, neginf=0), 0, _CLASSES - 1).astype(int)
