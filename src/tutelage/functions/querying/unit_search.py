"""The units of the next layer: bends along lines gathered into folds, each with the coefficients of its unit.

The idea. A bend with a normal is a guess at a unit. All guesses of a line are followed side by side, moved to where the
bends of other lines crowd near their fold, and judged by these: a unit of the next layer has bends wherever its fold
crosses a line, a deeper unit only in one part of the box. What a fold does not meet it cannot tell: a unit is a pair of
coefficients and a basis of what is determined of them, and pieces of one unit are merged as they are found.

What is guaranteed: nothing; a wrong unit is not read by the layers above, or leaves values unexplained. It costs about
30 values per coefficient and starting point; the search ends after so many starting points without a new unit.

Tried and worse: one distance from a fold for all bends. Wide enough for the worst normal of noisy values, it counted
bends of other folds among a unit's own, and lines through them as missed: most units of float32 were lost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tutelage.functions.querying.confirming import UnitSearchSetting, confirmed
from tutelage.functions.querying.fold_bends import LEAST, accepted, bends_of, crowded, doubtful, sharpened
from tutelage.functions.querying.known import Known, features, open_directions
from tutelage.functions.querying.lines import Lines
from tutelage.functions.querying.normals import FoldPoints, with_normals
from tutelage.functions.querying.oracle import Oracle, QueryDraws, Spent
from tutelage.functions.querying.tracing import Traced, trace

_RANK = 1e-9  # singular values below this share of the largest are rounding: larger, and few weights seem open
_NEW = 0.5  # share of a unit's bends that no unit explains so far: smaller, and the same unit is found twice
_UNCLAIMED = 0.3  # the same once all are found, where units with more bends have taken theirs
_SAME = 1e-6  # share of |phi| |theta| within which points are on the fold of a rival
_PARALLEL = 1e-12  # one less the cosine of parallel units: larger, and nearly parallel ones are taken for rivals
_MOVES = 1e-6  # share of a feature vector that counts as moving along an open weight
_SPREAD = 1e-3  # third singular value of the features of bends that vote: smaller, and parallel folds agree by chance
_ALIKE = 1e-6  # singular values below count as zero where two pieces of a fold are compared
_VOTES = 4  # bends that must agree on a weight
_BATCH = 96  # starting points at most at a time
_FIRST = 96  # starting points that no unit of an earlier round explains, tried before others
_TELLING = 16  # points by which a fold is known again
_TOGETHER = 16  # starting points at least at a time, where folds are followed


Piece = tuple[np.ndarray, np.ndarray]
"""Coefficients theta [m] of a unit and a basis [r, m] of what its fold determines."""


@dataclass(frozen=True, eq=False)
class FoundUnits:
    """K units over m features: theta [K, m], the shortest coefficients that fit their folds, and per unit an
    orthonormal basis [r, m] of what the fold determines.
    """

    theta: np.ndarray
    bases: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return len(self.theta)

    @staticmethod
    def none(features: int) -> "FoundUnits":
        """No units over so many features."""
        return FoundUnits(np.zeros((0, features)), ())

    def rewritten(self, matrix: np.ndarray) -> "FoundUnits":
        """The same units over new features, of which the old ones' coefficients are theta_old = matrix theta_new."""
        theta, bases = [], []
        for unit, basis in zip(self.theta, self.bases, strict=True):
            rows = basis @ matrix
            u, s, v = np.linalg.svd(rows, full_matrices=False)
            rank = int((s > _RANK * s[0]).sum())
            theta.append(v[:rank].T @ ((u[:, :rank].T @ (basis @ unit)) / s[:rank]))
            bases.append(v[:rank])
        return FoundUnits(np.array(theta).reshape(len(theta), matrix.shape[1]), tuple(bases))

    def united(self) -> "FoundUnits":
        """Pieces of one unit put together."""
        kept: list[tuple[np.ndarray, np.ndarray]] = []
        for i in np.argsort([-len(b) for b in self.bases], kind="stable"):
            theta, basis = self.theta[i], self.bases[i]
            for j, piece in enumerate(kept):
                both = merged(*piece, theta, basis)
                if both is not None:
                    kept[j] = both
                    break
            else:
                kept.append((theta, basis))
        return _gathered(kept, self.theta.shape[1])

    def chosen(self, some: np.ndarray) -> "FoundUnits":
        """Some of the units: bool [K]."""
        return FoundUnits(self.theta[some], tuple(b for b, yes in zip(self.bases, some, strict=True) if yes))

    @property
    def determined(self) -> np.ndarray:
        """Which units have no open coefficient: bool [K]."""
        return np.array([len(b) == self.theta.shape[1] for b in self.bases], bool)


def find_units(
    oracle: Oracle,
    known: Known,
    lines: Lines,
    free: np.ndarray,
    setting: UnitSearchSetting,
    draw: QueryDraws,
    attempts: int,
    units: FoundUnits | None = None,
    enough: Callable[[FoundUnits], bool] | None = None,
    tried: np.ndarray | None = None,
    first: np.ndarray | None = None,
    rivals: "Rivals | None" = None,
) -> tuple[FoundUnits, np.ndarray]:
    """Units over the features of the known layers, those already there first, and the knots left unexplained.

    free: which knots are bends that no known unit explains, bool [K]; attempts: starting points in a row without a new
    unit before the search ends; enough: whether the units found so far suffice; tried: knots that led to nothing,
    bool [K], to which those that were tried are added; first: knots to start from before others, bool [K]; rivals:
    which of parallel units to believe.
    """
    phi = features(known, lines.points)
    pieces: list[Piece] = [] if units is None else list(zip(units.theta, units.bases, strict=True))
    bends, free = free.copy(), free.copy()
    for theta, basis in pieces:
        free &= ~bends_of(known, lines, phi, theta, basis, setting)
    tried = np.zeros(len(free), bool) if tried is None else tried
    first = np.zeros(len(free), bool) if first is None else first.copy()
    followed, barren = np.zeros(len(free), bool), 0
    while barren < attempts and (free & ~tried).any():
        # invariant: `pieces` are units or parts of units that passed every test, `free` are the bends that lie on none
        # of their folds, and each pass tries at least one knot for the first time, so that it ends
        waiting = free & ~tried & first
        urgent = waiting.any()
        start = _next_starts(lines, waiting if urgent else free & ~tried, _TOGETHER if known.layers else 1)
        tried[start] = True
        if urgent and (first & tried).sum() > _FIRST:
            first[:] = False
        try:
            folds = with_normals(oracle, known, lines, start)
            doubt = partial(doubtful, lines, phi, setting)
            traced = trace(oracle, known, folds, setting.low, setting.high, draw, doubt) if len(folds) else None
        except Spent:
            break  # the units found so far are the answer
        before = len(pieces), sum(len(b) for _, b in pieces)
        if traced is not None:
            _take(oracle, known, lines, phi, setting, pieces, free, folds, traced, draw)
            followed[folds.knot[traced.sound]] = True
        if (len(pieces), sum(len(b) for _, b in pieces)) != before:
            barren = 0
        elif not urgent:
            barren += len(start)
        if enough is not None and pieces and enough(_gathered(pieces, phi.shape[1])):
            break
    tried &= ~followed  # with more lines or more units they may be taken
    kept = _distinct(known, lines, phi, pieces, setting, Rivals() if rivals is None else rivals)
    if len(kept) < len(pieces):  # the bends of those left out are for deeper layers
        for theta, basis in kept:
            bends &= ~bends_of(known, lines, phi, theta, basis, setting)
        free = bends
    return _gathered(kept, phi.shape[1]), free


def explained(known: Known, lines: Lines, units: FoundUnits, setting: UnitSearchSetting) -> np.ndarray:
    """Which knots lie on the fold of one of the units: bool [K]."""
    phi, out = features(known, lines.points), np.zeros(len(lines.points), bool)
    for theta, basis in zip(units.theta, units.bases, strict=True):
        out |= bends_of(known, lines, phi, theta, basis, setting)
    return out


def _gathered(pieces: list[Piece], features: int) -> FoundUnits:
    return FoundUnits(np.array([t for t, _ in pieces]).reshape(len(pieces), features), tuple(b for _, b in pieces))


def _take(
    oracle,
    known,
    lines: Lines,
    phi,
    setting,
    pieces: list[Piece],
    free: np.ndarray,
    folds: FoldPoints,
    traced: Traced,
    draw,
):
    """Add the units that were followed to those found, and take their bends from those left over, both in place."""
    # Folds that were followed farthest first: the pieces of others are then merged with them, not the other way round.
    order = np.lexsort((folds.error, -traced.rank))
    for i in order[traced.sound[order]]:
        theta, basis = traced.theta[i], traced.basis[i][: traced.rank[i]]
        theta = crowded(known, lines, phi, theta, basis, setting, folds.error[i])
        theta = sharpened(known, lines, phi, theta, basis, setting)
        mine = accepted(oracle, known, lines, phi, theta, basis, setting)
        basis = basis if len(basis) else np.eye(len(theta))
        place = len(pieces)
        for j, piece in enumerate(pieces):
            both = merged(*piece, theta, basis, 10 * setting.tolerance)
            if both is not None and accepted(oracle, known, lines, phi, *both, setting) is not None:
                place, (theta, basis) = j, both
                break
        if place == len(pieces):  # not a piece of a unit: one of its own, with bends that no other explains
            if mine is None or (mine & free).sum() < max(1, _NEW * mine.sum()):
                continue
            error = float(np.median(lines.error[mine]))
            if not confirmed(oracle, known, theta, basis, lines.points[mine], setting, draw, error):
                continue
        elif len(basis) == len(pieces[place][1]):
            continue
        free &= ~bends_of(known, lines, phi, theta, basis, setting)
        pieces[place : place + 1] = [(theta, basis)]
    for j, piece in enumerate(pieces):
        voted = _voted(known, phi[free], *piece, setting.tolerance)
        if voted is not None and accepted(oracle, known, lines, phi, *voted, setting) is not None:
            pieces[j] = voted
            free &= ~bends_of(known, lines, phi, *voted, setting)


def _distinct(
    known: Known, lines: Lines, phi: np.ndarray, pieces: list[Piece], setting: UnitSearchSetting, rivals: "Rivals"
) -> list[Piece]:
    """The units without those whose bends belong to units that are known better, and without all but one of parallel
    ones: the others are deeper units that see no other unit of this layer.
    """
    bends = [bends_of(known, lines, phi, *piece, setting) for piece in pieces]
    claimed = np.zeros(len(phi), bool)
    kept: list[int] = []
    doubted = [rivals.doubted(known, theta) for theta, _ in pieces]
    # better known units first: invariant, `claimed` are the bends of those kept
    for i in sorted(range(len(pieces)), key=lambda i: (doubted[i], -len(pieces[i][1]), -int(bends[i].sum()))):
        like = [j for j in kept if parallel(pieces[i], pieces[j])]
        if like:
            rivals.believed += [lines.points[bends[j]][:_TELLING] for j in like if not doubted[j]]
            continue
        if (bends[i] & ~claimed).sum() >= max(LEAST, _UNCLAIMED * bends[i].sum()):
            kept.append(i)
            claimed |= bends[i]
    return [pieces[i] for i in sorted(kept)]


@dataclass(eq=False)
class Rivals:
    """Of two units of a layer that are parallel one may be deeper and see the other alone; the bends do not tell which.

    doubts: units not to be believed where they have a rival, each as some points of its fold [P, d]; believed: those
    that were, in spite of one.
    """

    doubts: tuple[np.ndarray, ...] = ()
    believed: list[np.ndarray] = field(default_factory=list)

    def doubted(self, known: Known, theta: np.ndarray) -> bool:
        """Whether the fold of a unit passes through the points of one that is doubted."""
        for points in self.doubts:
            phi = features(known, points)
            if (np.abs(phi @ theta) < _SAME * np.linalg.norm(phi, axis=1) * np.linalg.norm(theta)).all():
                return True
        return False


def parallel(first: Piece, second: Piece) -> bool:
    """Whether two units with all coefficients known differ in their biases alone."""
    a, b = first[0][:-1], second[0][:-1]
    both = len(first[1]) == len(second[1]) == len(first[0])
    return both and bool(abs(a @ b) > (1 - _PARALLEL) * np.linalg.norm(a) * np.linalg.norm(b))


def merged(
    theta: np.ndarray, basis: np.ndarray, other: np.ndarray, more: np.ndarray, alike: float = _ALIKE
) -> Piece | None:
    """What two pieces of a fold, each with what it determines, tell together, or None if they are not of one unit.

    Both determine a unit up to scale. Where what they determine has two dimensions or more in common, they agree there
    up to scale only if the unit is the same.
    """
    m = len(theta)
    if len(basis) == m and len(more) == m:
        return None
    # By dimensions: two subspaces of ranks r and s that span t have r + s - t in common. One common dimension is the
    # scale alone, which any two units share.
    everything = np.linalg.svd(np.concatenate([basis, more]), compute_uv=False)
    known = int((everything > alike).sum())
    if len(basis) + len(more) - known < 2:
        return None
    across = [_without(rows, vector) for rows, vector in ((basis, theta), (more, other))]
    _, s, v = np.linalg.svd(np.concatenate(across), full_matrices=True)
    rank = int((s > alike).sum())
    if rank != known - 1:
        return None
    # what is open to both is orthogonal to all that is known; the unit is the one direction left
    _, s, v = np.linalg.svd(np.concatenate([basis, more]), full_matrices=False)
    span = v[:known]
    inside = np.concatenate(across) @ span.T
    unit = np.linalg.svd(inside, full_matrices=True)[2][-1] @ span
    return unit * np.sign(unit @ theta + 1e-300) * np.linalg.norm(theta), span


def _without(basis: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the part of a row space that is orthogonal to theta."""
    inside = basis @ theta
    turn = np.linalg.svd(inside[None] / np.linalg.norm(inside), full_matrices=True)[2][1:]
    return turn @ basis


def _voted(known: Known, phi: np.ndarray, theta: np.ndarray, basis: np.ndarray, tolerance: float) -> Piece | None:
    """A unit with one more coefficient: the one with which its fold passes through several bends left over, or None.

    phi: features [N, m] at the bends left over.
    """
    if len(basis) == len(theta) or not len(phi):
        return None
    directions = open_directions(known, basis)
    parts = phi @ directions.T
    moving = np.abs(parts) > _MOVES * np.linalg.norm(phi, axis=1)[:, None]
    for j, direction in enumerate(directions):
        some = moving[:, j] & (moving.sum(1) == 1)
        weight = -(phi[some] @ theta) / parts[some, j]
        order = np.argsort(weight)
        weight, voters = weight[order], phi[some][order]
        near = weight[_VOTES - 1 :] - weight[: len(weight) - _VOTES + 1] if len(weight) >= _VOTES else np.zeros(0)
        together = np.flatnonzero(near <= tolerance * np.abs(theta).max())
        # where one or two features move, folds of other units may agree by being parallel
        agree = [
            a
            for a in together
            if np.linalg.svd(voters[a : a + _VOTES], compute_uv=False)[2:3].min(initial=1.0) > _SPREAD
        ]
        if agree:
            rows = direction - (direction @ basis.T) @ basis
            rows /= np.linalg.norm(rows)
            return theta + weight[agree[0] + 1] * direction, np.concatenate([basis, rows[None]])
    return None


def _next_starts(lines: Lines, waiting: np.ndarray, least: int) -> np.ndarray:
    """Waiting knots of the lines that have most of them, at least so many where there are: those of one line belong
    to different folds, or nearly so.
    """
    knots = np.flatnonzero(waiting)
    count = np.bincount(lines.line[knots])
    order = np.argsort(-count, kind="stable")
    enough = order[: 1 + int(np.searchsorted(np.cumsum(count[order]), least))]
    return knots[np.isin(lines.line[knots], enough)][:_BATCH]
