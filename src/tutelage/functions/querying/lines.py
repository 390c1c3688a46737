"""Lines through the box of a black box, with all bends along them, from values alone.

A piece of a line with two or more values on either side of a single bend gives both linear parts by least squares, and
so the bend, where they meet, to the precision of the values; pieces with several bends are cut in two until each has
one. A line of P bends takes about 20 values per bend and 150 more. Guaranteed is nothing between two values: bends that
undo one another there are not seen, which is why units are confirmed and networks tried on fresh points.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.functions.querying.oracle import Oracle

_POINTS = 9  # values on one piece of a line
_PIECES = 16  # pieces a long line is first cut into
_MOST = 2048  # unresolved pieces per line beyond which the function is not taken for piecewise linear
_ASIDE = 0.1415926535  # cuts lie beside round numbers, where bends are more likely than elsewhere
_SHORTEST = 1e-10  # pieces below this share of the line are left alone


@dataclass(frozen=True, eq=False)
class Bends:
    """All bends met along M lines start + t direction, 0 < t < 1, sorted along each line.

    line: int [P], t: [P]; error: of t by the noise of the values, [P]; before, after: t of the neighbouring bend or end
    of the line, [P] each.
    """

    line: np.ndarray
    t: np.ndarray
    error: np.ndarray
    before: np.ndarray
    after: np.ndarray


def bends(oracle: Oracle, start: np.ndarray, direction: np.ndarray, pieces: int = _PIECES) -> Bends:
    """Find all bends along lines start + t direction, t in [0, 1]; start, direction: [M, d].

    pieces: how many each line is first cut into.
    """
    lines = len(start)
    cuts = np.r_[0.0, (np.arange(1, pieces) + _ASIDE) / pieces, 1.0]
    line, low = np.repeat(np.arange(lines), pieces), np.tile(cuts[:-1], lines)
    length, located = np.tile(np.diff(cuts), lines), []
    # invariant: bends found and pieces left to cut together hold all bends that show in nine values; every pass halves
    # the length of the pieces left, so that 30 passes reach the shortest
    while len(line):
        t = low[:, None] + length[:, None] * np.linspace(0, 1, _POINTS)
        values = _along(oracle, start, direction, line, t)
        at, ends, single, several = _judge(values, oracle.allowed)
        wrong = np.flatnonzero(single)[_hidden(oracle, start, direction, line, low, length, at, ends, single)]
        single[wrong], several[wrong] = False, True
        located.append((line[single], (low + length * at)[single]))
        if several.sum() > _MOST * lines:
            raise TutelageError(
                "the black box is not piecewise linear, or has more bends than can be told apart: along a line it "
                f"bends in more than {_MOST} places"
            )
        several &= length > _SHORTEST
        line, first = np.repeat(line[several], 2), length[several] * (0.5 + _ASIDE / 8)
        low = np.stack([low[several], low[several] + first], axis=1).ravel()
        length = np.stack([first, length[several] - first], axis=1).ravel()
    return _refined(oracle, start, direction, *(np.concatenate(part) for part in zip(*located, strict=True)))


def _along(oracle: Oracle, start: np.ndarray, direction: np.ndarray, line: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Values at t [P, K] of the lines: [P, K, C]."""
    points = start[line][:, None] + t[..., None] * direction[line][:, None]
    return oracle.values(points.reshape(-1, start.shape[1])).reshape(*t.shape, oracle.outputs)


def _fit(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """The least-squares line through the values first .. last of a piece: what takes all values [K] to the line's at
    these places, padded with zeros [K, K], and to its value at place 0 and its rise per place [2, K].
    """
    design = np.stack([np.ones(_POINTS), np.arange(_POINTS)], axis=1)
    used = ((design[:, 1] >= first) & (design[:, 1] <= last))[:, None]
    solve = np.linalg.pinv(design * used) * used.T
    return used * design @ solve, solve


def _judge(values: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of pieces with values [P, K, C]: where the lines of both ends meet (share of the piece), these lines as (value,
    rise, rise) at the meeting place, and which pieces seem to have one bend, which several.

    Every way to cut the values in two is tried, with a least-squares line on either side: the one with the smallest
    rest is taken. error: of a value; what is left of it by a fit is at most error times the row sums of the fit's rest.
    """
    p, c = len(values), values.shape[2]
    flat = values.transpose(1, 0, 2).reshape(_POINTS, -1)

    def rest(fit: np.ndarray) -> tuple[np.ndarray, float]:
        off = np.eye(_POINTS) - fit
        return np.abs((off @ flat).reshape(_POINTS, p, c)).max((0, 2)), float(np.abs(off).sum(1).max())

    smallest, bound = rest(_fit(0, _POINTS)[0])
    straight = smallest <= error * bound
    cut, off = np.zeros(p, int), np.full(p, np.inf)
    for j in range(1, _POINTS - 2):
        each, bound = rest(_fit(0, j)[0] + _fit(j + 1, _POINTS)[0])
        better = each / bound < off
        cut[better], off[better] = j, (each / bound)[better]
    sides = np.zeros((2, p, 2, c))
    for j in range(1, _POINTS - 2):
        mine = cut == j
        for side, solve in enumerate((_fit(0, j)[1], _fit(j + 1, _POINTS)[1])):
            sides[side, mine] = solve @ values[mine]
    gap, slope = (sides[1] - sides[0]).transpose(1, 0, 2)
    best = np.abs(slope).argmax(1)[:, None]
    slope = np.take_along_axis(slope, best, 1)[:, 0]
    at = -np.take_along_axis(gap, best, 1)[:, 0] / np.where(slope == 0, 1, slope)
    slack = np.minimum(0.05 + 4 * error / np.maximum(np.abs(slope), 1e-300), 0.5)
    # a line through two values alone fits them whatever they are: a bend beyond the inner one is not seen by it
    low, high = np.maximum(cut - slack, 1 + slack), np.minimum(cut + 1 + slack, _POINTS - 2 - slack)
    single = (off <= error) & (at > low) & (at < high) & ~straight
    rises = sides[:, :, 1] * (_POINTS - 1)
    meeting = sides[0, :, 0] + at[:, None] * sides[0, :, 1]
    return at / (_POINTS - 1), np.stack([meeting, *rises], axis=1), single, ~straight & ~single


def _hidden(oracle, start, direction, line, low, length, at, ends, single) -> np.ndarray:
    """Which of the pieces that seem to have one bend have several between two neighbouring values: bool [P]."""
    cell = at[single] * (_POINTS - 1) % 1.0
    to_left, to_right = -cell / (_POINTS - 1), (1 - cell) / (_POINTS - 1)
    steps = np.stack([0.6 * to_left, 0.2 * to_left, 0.03 * to_left, 0.03 * to_right, 0.2 * to_right, 0.6 * to_right], 1)
    places = low[single][:, None] + length[single][:, None] * (at[single][:, None] + steps)
    values = _along(oracle, start, direction, line[single], places)
    meeting, left, right = (ends[single][:, j : j + 1] for j in range(3))
    expected = meeting + steps[..., None] * np.where(steps[..., None] < 0, left, right)
    return (np.abs(values - expected) > 9 * oracle.allowed).any((1, 2))


def _refined(oracle: Oracle, start: np.ndarray, direction: np.ndarray, line: np.ndarray, t: np.ndarray) -> Bends:
    """The bends in order, each located again from values that lie as far apart as its neighbours allow."""
    order = np.lexsort((t, line))
    line, t = line[order], t[order]
    before, after = _neighbours(line, t)
    left, right = t - before, after - t
    at = np.stack([t - 0.9 * left, t - 0.1 * left, t + 0.1 * right, t + 0.9 * right], axis=1)
    values = _along(oracle, start, direction, line, at)
    slopes = [(values[:, j + 1] - values[:, j]) / (at[:, j + 1] - at[:, j])[:, None] for j in (0, 2)]
    turn = slopes[1] - slopes[0]
    best = np.abs(turn).argmax(1)[:, None]
    here = [values[:, j] + slopes[j // 2] * (t - at[:, j])[:, None] for j in (0, 2)]
    turn, gap = (np.take_along_axis(a, best, 1)[:, 0] for a in (turn, here[1] - here[0]))
    moved = -gap / np.where(turn == 0, 1, turn)
    sound = np.abs(moved) < 0.05 * np.minimum(left, right)
    t = np.where(sound, t + moved, t)
    return Bends(line, t, oracle.rounding / np.maximum(np.abs(turn), 1e-300), *_neighbours(line, t))


def _neighbours(line: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bend before and after each on its line, or the line's ends."""
    same = line[1:] == line[:-1]
    return np.r_[0.0, np.where(same, t[:-1], 0.0)][: len(t)], np.r_[np.where(same, t[1:], 1.0), 1.0][-len(t) or 1 :]


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
