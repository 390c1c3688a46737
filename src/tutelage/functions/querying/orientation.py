"""Which side of its fold a unit is active on.

A unit k above a layer reads sum_i alpha_ki |u_i| + beta_k z + const with beta_k = sum_i s_i alpha_ki w_i + (what units
that are always active add): linear equations in the signs s. The signs that leave fewest units always active are taken.

Weights that a unit's own fold leaves open, and how the units above tell them.

Where the fold of unit k never meets the part of the box in which a direction g of its input moves, the weight p along g
stays open: u_k has one sign there, sigma. Any p that keeps this sign gives the same |u_k| up to a multiple of g, which
the units above carry in what they read of the layer's input. A reader with coefficient alpha_k of |u_k| then has
alpha_k ((s_k + sigma) p - sigma p') g in its linear part, with p' the weight taken in place of p: linear equations in
the signs s and one number per open weight, whatever the number of readers.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from tutelage.functions.querying.known import Known, Layer, open_directions
from tutelage.functions.querying.unit_search import FoundUnits

_RANK = 1e-9  # singular values and shares below are rounding: equations and open weights are exact where folds are
_PRESENT = 1e-6  # share of an equation below which a sign does not occur in it: the folds are known to about 1e-7
_SIGN = 1e-2  # how far from -1 and 1 a solution of consistent equations may be: a wrong reader gives any number
_READS = 1e-4  # share of a reader's coefficients above which it depends on a unit whose side is known
_BEYOND = 1.2  # how much more than needed an open weight is taken, so that no fold appears between the samples
_SLACK = 10  # tolerances that readers together may leave: errors of many folds add up
_SEARCHED = 18  # signs left open by linear equations that are tried out
_STARTS = 4  # readers from which those that agree are gathered
_ALL = 11  # signs of which all choices are tried where some units are always active


@dataclass(frozen=True, eq=False)
class OpenWeights:
    """Q open weights: unit int [Q], direction [Q, m] over the features the unit reads, side [Q] of the unit where the
    direction moves (-1 or 1), and the weight taken in place [Q].
    """

    unit: np.ndarray
    direction: np.ndarray
    side: np.ndarray
    taken: np.ndarray

    def __len__(self) -> int:
        return len(self.unit)


def nothing_open(features: int) -> OpenWeights:
    """No open weights of units that read so many features."""
    return OpenWeights(np.zeros(0, int), np.zeros((0, features)), np.zeros(0), np.zeros(0))


def filled(known: Known, units: FoundUnits, phi: np.ndarray) -> tuple[np.ndarray, OpenWeights]:
    """Coefficients theta [K, m] of units whose open weights add no fold at samples phi [N, m], and these weights."""
    theta, rows = units.theta.copy(), []
    for k, basis in enumerate(units.bases):
        if len(basis) == theta.shape[1]:
            continue
        for direction in open_directions(known, basis):
            g = phi @ direction
            moving = np.abs(g) > _RANK * np.linalg.norm(phi, axis=1)
            if not moving.any():
                continue
            base = phi[moving] @ theta[k]
            g = g[moving]
            # The side is read off where the direction moves least, at which the weight taken so far, 0, is nearly
            # right.
            nearest = np.argsort(np.abs(g))[: max(1, len(g) // 10)]
            side = 1.0 if np.sign(base[nearest]).sum() >= 0 else -1.0
            wanting = np.where(side * base < 0, -side * base / g, 0.0)
            taken = _BEYOND * side * max(0.0, float((side * wanting).max()))
            theta[k] += taken * direction
            rows.append((k, direction, side, taken))
    if not rows:
        return theta, nothing_open(theta.shape[1])
    return theta, OpenWeights(*(np.array(column) for column in zip(*rows, strict=True)))


@dataclass(frozen=True, eq=False)
class Block:
    """Equations a s + p q = y of one reader in the signs s [n] and in what open weights add, q [Q].

    a: [R, n], p: [R, Q], y: [R]. Units whose |u| is hidden, bool [n], have the sign side [n] all along the fold (0: not
    known) and no equation here; in (columns, rest), equations in all coefficients of the reader that are free,
    units [n, Q and 1], they have their own.
    """

    a: np.ndarray
    p: np.ndarray
    y: np.ndarray
    hidden: np.ndarray
    side: np.ndarray
    columns: np.ndarray
    known: np.ndarray
    added: np.ndarray
    right: np.ndarray


def by_readers(w: np.ndarray, alpha: np.ndarray, beta: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Signs [n] with beta = (alpha * signs) w^T up to a matrix of low rank, and that matrix [K, r].

    w: [r, n]; alpha: [K, n]; beta: [K, r].

    >>> w, alpha, signs = np.array([[1.0, 0.5], [0.2, 1.0]]), np.array([[2.0, 3.0]]), np.array([1.0, -1.0])
    >>> by_readers(w, alpha, (alpha * signs) @ w.T, 1e-9)[0]
    array([ 1., -1.])
    """
    n = w.shape[1]
    system = np.einsum("ki,qi->kqi", alpha, w).reshape(-1, n)
    right = beta.ravel()
    signs = _solved(system, right, tolerance)
    rest = beta - (alpha * signs) @ w.T
    if np.linalg.norm(rest) > tolerance * (np.linalg.norm(beta) + np.linalg.norm(system)) and min(rest.shape) > 1:
        signs = _fewest(w, alpha, beta, signs)
        rest = beta - (alpha * signs) @ w.T
    return signs, rest


def by_equations(
    layer: Layer, open_weights: OpenWeights, theta: np.ndarray, bases: tuple[np.ndarray, ...], tolerance: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Signs [n] of a layer, and what its open weights add to its readers [Q], or None if nothing explains all readers.

    theta: readers [K, m], which may be known in part only; bases: per reader rows [r, m] of what is determined. Where
    a reader's coefficient of |u_i| is open, u_i has one sign all along its fold and adds a multiple of u_i: it is left
    free, as is the reader's bias.
    """
    blocks = _blocks(layer, open_weights, theta, bases)
    n = layer[0].shape[1]
    system, y = _system(blocks)
    a, p = system[:, :n], system[:, n:]
    u, s, _ = np.linalg.svd(p, full_matrices=True)
    # What open weights add is unknown: equations are projected on what they cannot change, signs are solved there, and
    # the rest tells the open weights afterwards.
    clear = u[:, int((s > _RANK * max(1.0, s.max(initial=0.0))).sum()) :].T
    signs = _solved(clear @ a, clear @ y, tolerance)
    more = np.linalg.lstsq(p, y - a @ signs, rcond=_RANK)[0] if p.shape[1] else np.zeros(0)
    rest = a @ signs + p @ more - y
    return (signs, more) if np.linalg.norm(rest) <= _SLACK * tolerance * _scale(theta, bases) else None


@dataclass(frozen=True, eq=False)
class Agreement:
    """Signs [n] of a layer, what its open weights add to its readers [Q], and which readers agree: bool [K]."""

    signs: np.ndarray
    more: np.ndarray
    readers: np.ndarray


def agreement(
    layer: Layer, open_weights: OpenWeights, theta: np.ndarray, bases: tuple[np.ndarray, ...], tolerance: float
) -> Agreement | None:
    """The only signs that explain some of the readers, and which ones, or None where readers leave signs open.

    Folds of deeper units that were taken for readers do not agree, and are left out. theta, bases: as in by_equations.
    """
    blocks = _blocks(layer, open_weights, theta, bases)
    # Greedy from a few starts, any of which may be a deeper unit and no reader; a set that agrees and holds more than
    # half of all readers ends the search.
    order = sorted((k for k in range(len(blocks)) if len(blocks[k].y)), key=lambda k: -len(blocks[k].y))
    best, most = None, 0
    # invariant: `chosen` are readers that no contradiction shows between; readers with most equations come first
    for first in order[:_STARTS]:
        chosen: list[int] = []
        for k in (first, *order):
            if k not in chosen and not _contradictory([blocks[i] for i in (*chosen, k)], tolerance):
                chosen.append(k)
        solution = _only([blocks[i] for i in chosen], tolerance) if len(chosen) > most else None
        if solution is not None:
            best, most = Agreement(*solution, np.isin(np.arange(len(blocks)), chosen)), len(chosen)
        if 2 * most > len(order):
            break
    return best


def _contradictory(blocks: list[Block], tolerance: float) -> bool:
    """Whether no signs solve the equations, as far as these determine them."""
    system, y = _system(blocks)
    present = np.linalg.norm(system, axis=0) > _PRESENT
    solution, _, rank, _ = np.linalg.lstsq(system[:, present], y, rcond=_PRESENT)
    if np.linalg.norm(system[:, present] @ solution - y) > _SLACK * tolerance * np.linalg.norm(y):
        return True
    signs = solution[: int(present[: len(blocks[0].hidden)].sum())]
    return rank == present.sum() and bool(np.abs(np.abs(signs) - 1).max(initial=0.0) > _SIGN)


def _only(blocks: list[Block], tolerance: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Signs and additions by open weights if the equations have one solution, and more of them than unknowns."""
    system, y = _system(blocks)
    n = len(blocks[0].hidden)
    present = np.linalg.norm(system, axis=0) > _PRESENT
    if (
        not present[n:].all()
        or len(y) <= present.sum()
        or np.linalg.matrix_rank(system[:, present], rtol=_PRESENT) < present.sum()
    ):
        return None
    signs = np.zeros(n)
    solution = np.linalg.lstsq(system[:, present], y, rcond=_PRESENT)[0]
    signs[present[:n]] = np.where(solution[: int(present[:n].sum())] < 0, -1.0, 1.0)
    a, p = system[:, :n], system[:, n:]
    more = np.linalg.lstsq(p, y - a @ signs, rcond=_RANK)[0]
    if np.linalg.norm(a @ signs + p @ more - y) > _SLACK * tolerance * np.linalg.norm(y):
        return None
    signs[~present[:n]] = _by_sides(blocks, signs, more)[~present[:n]]
    return (signs, more) if signs.all() else None


def _by_sides(blocks: list[Block], signs: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Signs [n] of units that are of one sign on all folds of the readers, 0 where these do not tell: such a unit is
    active on that side if a reader depends on it there.
    """
    out = np.zeros(len(signs))
    for block in blocks:
        rest = block.right - block.known @ signs - block.added @ more
        size = np.maximum(np.linalg.norm(block.columns, axis=0), 1e-300)
        _, s, v = np.linalg.svd(block.columns / size, full_matrices=True)
        open_part = np.square(v[int((s > _PRESENT).sum()) :]).sum(0)
        reads = np.linalg.lstsq(block.columns / size, rest, rcond=_PRESENT)[0]
        for place, unit in enumerate(np.flatnonzero(block.hidden)):
            if block.side[unit] and open_part[place] < _RANK:
                active = abs(reads[place]) > _READS * np.linalg.norm(block.right)
                out[unit] = block.side[unit] if active else out[unit] or -block.side[unit]
    return out


def _system(blocks: list[Block]) -> tuple[np.ndarray, np.ndarray]:
    """All equations: [R, n + Q] and [R]."""
    system = [np.concatenate([block.a, block.p], axis=1) for block in blocks]
    return np.concatenate(system), np.concatenate([block.y for block in blocks])


def _blocks(layer: Layer, open_weights: OpenWeights, theta: np.ndarray, bases: tuple[np.ndarray, ...]) -> list[Block]:
    """The equations that each reader gives."""
    w, b = layer
    if len(open_weights):
        full = np.concatenate([w, b[None]])
        np.subtract.at(full.T, open_weights.unit, open_weights.taken[:, None] * open_weights.direction)
        w, b = full[:-1], full[-1]
    return [_block(w, b, open_weights, reader, rows) for reader, rows in zip(theta, bases, strict=True)]


def _block(w: np.ndarray, b: np.ndarray, open_weights: OpenWeights, theta: np.ndarray, rows: np.ndarray) -> Block:
    n = w.shape[1]
    linear, extra = rows[:, n:-1] @ w + rows[:, -1:] * b, rows[:, n:] @ open_weights.direction.T
    hidden = 1.0 - np.square(rows[:, :n]).sum(0) > _RANK
    alpha = np.where(hidden, 0.0, theta[:n])
    free = np.concatenate([linear[:, hidden], extra[:, hidden[open_weights.unit]], rows[:, -1:]], axis=1)
    u, s, _ = np.linalg.svd(free, full_matrices=True)
    clear = u[:, int((s > _RANK).sum()) :].T
    known, added, right = linear * alpha, extra * alpha[open_weights.unit], rows @ theta - rows[:, :n] @ alpha
    size = np.linalg.norm(np.concatenate([np.ones((1, n)), w, b[None]]), axis=0)
    ways = [np.linalg.norm(rows[:, :n] - side * linear, axis=0) < _PRESENT * size for side in (1.0, -1.0)]
    side = np.where(hidden, ways[0] * 1.0 - ways[1] * 1.0, 0.0)
    return Block(clear @ known, clear @ added, clear @ right, hidden, side, free, known, added, right)


def _scale(theta: np.ndarray, bases: tuple[np.ndarray, ...]) -> float:
    return float(sum(np.square(rows @ reader).sum() for reader, rows in zip(theta, bases, strict=True))) ** 0.5


def _fewest(w: np.ndarray, alpha: np.ndarray, beta: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The signs whose rest has the smallest sum of roots of singular values: all of few, else by single flips."""

    def rank(trials: np.ndarray) -> np.ndarray:
        rest = beta - (alpha * trials[:, None]) @ w.T
        return np.sqrt(np.linalg.svd(rest, compute_uv=False)).sum(1)

    n = len(signs)
    if n <= _ALL:
        trials = 1 - 2.0 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
        return trials[rank(trials).argmin()]
    now = float(rank(signs[None])[0])
    for _ in range(2 * n):
        trials = signs * (1 - 2 * np.eye(n))
        each = rank(trials)
        if each.min() >= now:
            break
        signs, now = trials[each.argmin()], float(each.min())
    return signs


def _solved(system: np.ndarray, right: np.ndarray, tolerance: float) -> np.ndarray:
    """Signs that solve the equations, by least squares or, where these leave some open, by trying those out."""
    n = system.shape[1]
    free = np.linalg.lstsq(system, right, rcond=_RANK)[0]
    rounded = np.where(free < 0, -1.0, 1.0)
    allowed = tolerance * (np.linalg.norm(system) + np.linalg.norm(right))
    if np.linalg.norm(system @ rounded - right) <= allowed:
        return rounded
    s, v = np.linalg.svd(system, full_matrices=True)[1:]
    rank = int((s > _RANK * s[0]).sum()) if len(s) else 0
    if not 0 < n - rank <= _SEARCHED:
        return rounded
    kernel = v[rank:].T  # every solution is free + kernel c; n - rank chosen entries fix c
    pivots = _independent_rows(kernel)
    trials = 1 - 2.0 * ((np.arange(1 << len(pivots))[:, None] >> np.arange(len(pivots))) & 1)
    c = np.linalg.solve(kernel[pivots], (trials - free[pivots]).T)
    all_signs = free[:, None] + kernel @ c
    return np.where(all_signs[:, np.abs(np.abs(all_signs) - 1).max(0).argmin()] < 0, -1.0, 1.0)


def _independent_rows(matrix: np.ndarray) -> np.ndarray:
    """As many rows as there are columns, far from dependent: by QR with pivoting."""
    return qr(matrix.T, pivoting=True, mode="r")[1][: matrix.shape[1]]
