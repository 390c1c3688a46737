"""The differences of two networks with sparse layers bounded on a box: intervals first, then backwards where time
allows."""

from dataclasses import dataclass, field

import numpy as np

from tutelage.deadline import Deadline
from tutelage.functions.bounds._sparse_ranges import LinesAround, Ranges, by_intervals, lines_around
from tutelage.functions.bounds.backward_pairs import Rows, chosen, combined, upper_bounds
from tutelage.functions.bounds.intervals import Middle, after, around
from tutelage.functions.layers.sparse import LayerPair
from tutelage.functions.relaxations import Ends

_CHUNK = 2_000_000  # entries of the coefficients that are substituted at a time
_SHARE = 0.85  # of the time for the ranges of hidden units


@dataclass
class BoxBounds:
    """Bounds on one box; layers: of both networks; low, high: [d].

    ranges: of every layer that was bounded so far; refined: how many units were bounded backwards.
    """

    layers: list[LayerPair]
    low: np.ndarray
    high: np.ndarray
    ranges: list[Ranges] = field(default_factory=list)
    refined: int = 0
    _lines: list[LinesAround] = field(default_factory=list)
    _sizes: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    def work(self, deadline: Deadline | None) -> None:
        """Ranges of all layers; hidden units that may bend are bounded backwards until the deadline, None for none."""
        below: tuple[Middle, Middle] = around(self.low, self.high), around(np.zeros_like(self.low), self.low * 0)
        self.ranges, self._lines, self._sizes = [], [], []
        for number, layer in enumerate(self.layers):
            (f, d) = below
            self._sizes.append((np.abs(f[0]) + f[1], np.abs(d[0]) + d[1]))
            ranges = by_intervals(layer, f, d)
            if number and number < len(self.layers) - 1 and deadline is not None:
                ranges = self._better(number, ranges, deadline)
            self.ranges.append(ranges)
            if number < len(self.layers) - 1:
                self._lines.append(lines_around(layer, ranges))
                below = after(ranges.f, ranges.d, layer.left_f, layer.left_g)

    def _better(self, number: int, ranges: Ranges, deadline: Deadline) -> Ranges:
        """Ranges with those of units that may bend made narrower: first of f, then of d where f still bends."""
        layer = self.layers[number]
        units = np.flatnonzero(~ranges.straight(layer))
        ranges = Ranges(self._both(number, ranges.f, units, False, deadline), ranges.d, layer.positive_g)
        units = np.flatnonzero(~ranges.straight(layer))
        return Ranges(ranges.f, self._both(number, ranges.d, units, True, deadline), layer.positive_g)

    def _both(self, number: int, known: Ends, units: np.ndarray, of_d: bool, deadline: Deadline) -> Ends:
        low, high = known[0].copy(), known[1].copy()
        per = max(1, _CHUNK // max(1, self.layers[number].terms * 8))
        for start in range(0, len(units), per):
            if deadline.passed:
                break
            some = units[start : start + per]
            width = self.layers[number].wf.shape[0]
            high[some] = np.minimum(high[some], self._upper(number, chosen(width, some, of_d, 1.0)))
            low[some] = np.maximum(low[some], -self._upper(number, chosen(width, some, of_d, -1.0)))
            self.refined += len(some)
        return low, high

    def _upper(self, number: int, rows: Rows) -> np.ndarray:
        return upper_bounds(self.layers[: number + 1], self._lines, rows, self.low, self.high, self._sizes)

    def differences(self) -> np.ndarray:
        """Bounds [C] on the differences of the outputs."""
        top, eye = self.ranges[-1], np.eye(self.layers[-1].wf.shape[0])
        simple = np.maximum(np.abs(top.d[0]), np.abs(top.d[1]))
        rows = combined(np.concatenate([eye, -eye]), np.zeros((2 * len(eye), len(eye))))
        both = self._upper(len(self.layers) - 1, rows)
        bounds = np.maximum(np.maximum(both[: len(eye)], both[len(eye) :]), 0.0)
        least = np.minimum(simple, bounds)
        return np.where(np.isnan(least), np.inf, least)

    def leads(self, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Upper bounds [C - 1] of every other output minus output ``top``, of f and of g = f - d."""
        count = self.layers[-1].wf.shape[0]
        eye = np.eye(count)
        apart = np.delete(eye - eye[top], top, 0)
        none = np.zeros_like(apart)
        both = self._upper(len(self.layers) - 1, combined(np.concatenate([none, -apart]), np.concatenate([apart] * 2)))
        return both[: count - 1], both[count - 1 :]


def bounded(layers: list[LayerPair], low: np.ndarray, high: np.ndarray, deadline: Deadline, enough) -> BoxBounds:
    """Bounds on a box: without and, where ``enough`` of these says no, with hidden units bounded backwards."""
    box = BoxBounds(layers, low, high)
    box.work(None)
    if enough(box) or deadline.passed:
        return box
    share = None if deadline.seconds is None else max(0.0, deadline.left * _SHARE)
    box.work(Deadline(share))
    return box
