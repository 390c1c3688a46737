"""Boxes that are not proved yet, the most doubtful first."""

import numpy as np

_START = 1024


class Frontier:
    """Boxes [N, d] with the bounds [N, C] of the box each was cut from, and how doubtful that is [N].

    >>> frontier = Frontier(1, 1)
    >>> frontier.add(np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]]), np.ones((2, 1)), np.array([3.0, 5.0]))
    >>> frontier.take(1)[0].item(), len(frontier)
    (1.0, 1)
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inputs, self._used = inputs, 0
        self._rows = np.empty((_START, 2 * inputs + outputs + 1))

    def __len__(self) -> int:
        return self._used

    def add(self, low: np.ndarray, high: np.ndarray, bounds: np.ndarray, doubt: np.ndarray) -> None:
        rows = np.concatenate([low, high, bounds, doubt[:, None]], axis=1)
        while self._used + len(rows) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._used : self._used + len(rows)] = rows
        self._used += len(rows)

    def take(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Remove the most doubtful boxes: low, high [n, d] and bounds [n, C]."""
        rows = self._rows[: self._used]
        if count < self._used:
            chosen = np.argpartition(rows[:, -1], self._used - count)[self._used - count :]
        else:
            chosen = np.arange(self._used)
        taken = rows[chosen]
        kept = np.ones(self._used, dtype=bool)
        kept[chosen] = False
        holes = chosen[chosen < self._used - len(chosen)]  # the last rows fill the holes
        last = np.arange(self._used - len(chosen), self._used)
        rows[holes] = rows[last[kept[last]]]
        self._used -= len(chosen)
        d = self.inputs
        return taken[:, :d].copy(), taken[:, d : 2 * d].copy(), taken[:, 2 * d : -1]

    def bounds(self) -> np.ndarray:
        """Largest bound per output of all boxes: [C]."""
        return self._rows[: self._used, 2 * self.inputs : -1].max(0)
