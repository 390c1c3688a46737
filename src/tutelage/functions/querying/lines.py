"""Lines through the box of a black box, with all bends along them."""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from tutelage import draws
from tutelage.functions.querying.breakpoints import bends
from tutelage.functions.querying.oracle import Oracle

_SHRUNK = (1.0, 1.0, 0.5, 0.25)  # boxes that points are drawn in, in turn
_OUTWARDS = (1.0, 0.1, 1.0, 1.0)  # powers of the distance from the middle: small ones draw points to the corners


@dataclass(frozen=True, eq=False)
class Lines:
    """The knots (bends and ends) of lines, in order along each: points [K, d], line int [K], values [K, C],
    and how far a bend may be from its point by the noise of the values, error [K].
    """

    points: np.ndarray
    line: np.ndarray
    values: np.ndarray
    error: np.ndarray

    @cached_property
    def bend(self) -> np.ndarray:
        """Which knots are bends, not ends of their line: bool [K]."""
        same = self.line[1:] == self.line[:-1]
        return np.r_[False, same] & np.r_[same, False]

    def pieces(self, flat: float) -> np.ndarray:
        """Knots k such that k and k + 1 end a straight piece along which values change by more than flat: int [J]."""
        moved = np.abs(self.values[1:] - self.values[:-1]).max(1, initial=0)
        return np.flatnonzero((self.line[1:] == self.line[:-1]) & (moved > flat))

    def joined(self, more: "Lines") -> "Lines":
        """Both together; the lines of the second are numbered after those of the first."""
        later = more.line + (self.line.max(initial=-1) + 1)
        return Lines(
            np.concatenate([self.points, more.points]),
            np.concatenate([self.line, later]),
            np.concatenate([self.values, more.values]),
            np.concatenate([self.error, more.error]),
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields, to be stored."""
        return {f.name: np.ascontiguousarray(getattr(self, f.name)) for f in fields(self)}


def no_lines(oracle: Oracle) -> Lines:
    """No line at all, of a black box."""
    return Lines(np.zeros((0, oracle.inputs)), np.zeros(0, dtype=int), np.zeros((0, oracle.outputs)), np.zeros(0))


def look_along(oracle: Oracle, start: np.ndarray, direction: np.ndarray) -> Lines:
    """The segments from start to start + direction with their bends: [M, d] each."""
    met = bends(oracle, start, direction)
    line = np.r_[met.line, np.arange(len(start)), np.arange(len(start))]
    t = np.r_[met.t, np.zeros(len(start)), np.ones(len(start))]
    error = np.r_[met.error, np.zeros(2 * len(start))] * np.linalg.norm(direction, axis=1)[line]
    order = np.lexsort((t, line))
    points = start[line[order]] + t[order][:, None] * direction[line[order]]
    return Lines(points, line[order], oracle.values(points), error[order])


def sample(low: np.ndarray, high: np.ndarray, count: int, seed: int, stream: str, start: int = 0) -> np.ndarray:
    """Points start .. start+count-1 of a stream, in turn uniform in a box, near its corners, and uniform in the same
    box shrunk around its middle to a half and a quarter, so that what happens far out and in the middle is seen too:
    [count, d].
    """
    d = len(low)
    unit = 2 * draws.uniforms(draws.keys([seed], stream), count * d, start * d).numpy().reshape(count, d) - 1
    kind = np.arange(start, start + count) % len(_SHRUNK)
    unit = np.sign(unit) * np.abs(unit) ** np.take(_OUTWARDS, kind)[:, None]
    return (low + high) / 2 + unit * (high - low) / 2 * np.take(_SHRUNK, kind)[:, None]
