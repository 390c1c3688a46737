"""Folds followed across the folds of known units, where they bend: what each bend tells of a unit's coefficients.

The fold of a unit of the next layer is where its form F = n . x + c vanishes, and F changes by a multiple beta of u_j
where the fold of a known unit j is crossed. Where beta = theta . kappa_j follows from what is known of the unit's
coefficients theta, the crossing needs no question; elsewhere one point of the fold beyond tells it. All folds are
followed side by side.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tutelage.functions.querying.known import Known, Region, features, kappas, pushed, region, unit_slopes
from tutelage.functions.querying.lines import bends
from tutelage.functions.querying.normals import FoldPoints, moving_axes
from tutelage.functions.querying.oracle import Oracle, QueryDraws

_DIRECTIONS = 24  # drawn at every step, besides those towards units not crossed so far
_SOLVED = 1e-7  # singular values of the first equations below this share of the largest leave a direction open
_GAP = 1e-6  # least way between two crossings: nearer ones happen at once as far as values tell
_VANISHED = 1e-12  # squared length of a normal beyond a crossing that is none
_LENGTH = 1e-9  # least length of a direction along a fold
_BEFORE_NEXT = 0.3  # of the way from a crossing to the next one that is gone beyond it
_SCATTER = 0.3  # of directions towards a unit: straight ones fail again where they failed once
_AT_HALF = 0.05  # half width, as a share of the step, in which the second bend is looked for half as far beyond
_SMALLER = 0.2  # by which the surroundings of a bend shrink where its sides are bent
_CHECKED = 6  # crossings between checks whether a fold can be one of the next layer
_STEPS = 300  # crossings at most
_BARREN = 50  # crossings in a row that tell nothing new before a fold is left
_FAILURES = 2  # more failed crossings than this and a quarter of the good ones: the fold is of a deeper unit
_REACH = 6.0  # how far to look for the fold beyond a crossing, in steps beyond it
_STEP = 0.004  # largest step beyond a crossing, as a share of the box's side; noise makes it longer
_SHALLOW = 1e-4  # least room beyond a crossing that is measured, as a share of the box's side
_NEAR = 0.01  # how near a bend must be to where it is expected, as a share of what is seen around it
_NEW = 1e-4  # share of a crossing's kappa that must be new for the crossing to tell something
_NEW_IN_NOISE, _NEW_AT_MOST = 1e4, 1e-2  # the same per noise: the error of a coefficient is divided by this share


@dataclass(frozen=True, eq=False)
class Traced:
    """P folds: coefficients theta [P, m], the shortest that fit; basis [P, R, m] of what is determined, padded with
    zeros; rank int [P]; sound bool [P]: whether the fold went on wherever it was followed.
    """

    theta: np.ndarray
    basis: np.ndarray
    rank: np.ndarray
    sound: np.ndarray


Doubt = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""theta [P, m] and basis [P, R, m] of partly known units -> which of them cannot be units of the next layer: [P]."""


def trace(
    oracle: Oracle,
    known: Known,
    folds: FoldPoints,
    low: np.ndarray,
    high: np.ndarray,
    draw: QueryDraws,
    doubt: Doubt | None = None,
) -> Traced:
    """Follow the folds through P points as far as they tell more of their units' coefficients."""
    if not known.layers:
        theta = np.concatenate([folds.normals, -(folds.normals * folds.points).sum(1)[:, None]], axis=1)
        p, m = theta.shape
        return Traced(theta, np.zeros((p, 0, m)), np.full(p, m), np.ones(p, bool))
    return _Tracing(oracle, known, folds, low, high, draw).done(doubt)


class _Tracing:
    """The state of folds that are followed."""

    def __init__(self, oracle, known, folds, low, high, draw) -> None:
        self.oracle, self.known, self.low, self.high, self.draw = oracle, known, low, high, draw.generator()
        self.x, self.n = folds.points.copy(), folds.normals.copy()
        p, d = self.x.shape
        self.m = known.count(d)
        self.good, self.failed, self.barren = np.zeros(p, int), np.zeros(p, int), np.zeros(p, int)
        self.blocked = np.zeros((p, int(known.first[-1])), bool)  # units where the fold was not found beyond
        self._begin(folds)

    def _begin(self, folds: FoldPoints) -> None:
        """Equations of the first region: the form of F there is the normal."""
        p, d = self.x.shape
        # A unit's form n . x + c is theta times the affine forms of the features: one equation per direction in which
        # these move, and one for the point itself, at which F vanishes.
        axes = moving_axes(self.known, self.x)
        axes = np.broadcast_to(np.eye(d), (p, d, d)) if axes is None else axes
        slope = pushed(self.known, region(self.known, self.x), axes)[1]
        scale = np.maximum(np.abs(self.x).max(1), 1.0)[:, None, None]
        rows = np.concatenate([slope, features(self.known, self.x)[:, None] / scale], axis=1)
        right = np.concatenate([np.einsum("prd,pd->pr", axes, self.n), np.zeros((p, 1))], axis=1)
        u, s, v = np.linalg.svd(rows, full_matrices=False)
        sound = s > _SOLVED * s[:, :1]
        share = np.where(sound, np.einsum("pjr,pj->pr", u, right) / np.where(sound, s, 1.0), 0.0)
        self.theta = np.einsum("pr,prm->pm", share, v)
        self.basis = np.zeros((p, self.m, self.m))
        self.rank = sound.sum(1)
        self.basis[:, : s.shape[1]] = v * sound[..., None]

    def done(self, doubt: Doubt | None) -> Traced:
        # invariant: theta is right on the span of the first `rank` rows of its basis, and x lies on its fold; a
        # crossing adds a row or leaves both as they are
        for step in range(_STEPS):
            active = np.flatnonzero(self._going())
            if not len(active):
                break
            if doubt is not None and step % _CHECKED == _CHECKED - 1:
                self.failed[active[doubt(self.theta[active], self.basis[active])]] = _STEPS
            self._step(active)
        return Traced(self.theta, self.basis, self.rank, self._sound())

    def _sound(self) -> np.ndarray:
        return self.failed <= _FAILURES + self.good // 4

    def _going(self) -> np.ndarray:
        return (self.rank < self.m) & self._sound() & (self.barren < _BARREN)

    def _step(self, active: np.ndarray) -> None:
        """One crossing of every active fold: the next known fold that tells something new, if one is near."""
        at = region(self.known, self.x[active])
        kappa = kappas(self.known, at, self.x.shape[1])
        new = self._new(active, kappa)
        size = np.linalg.norm(kappa, axis=2)
        share = min(max(_NEW, _NEW_IN_NOISE * self.oracle.rounding / max(self.oracle.largest, 1e-300)), _NEW_AT_MOST)
        fresh = np.linalg.norm(new, axis=2) > share * np.maximum(size, 1e-300)
        plan = self._plan(active, at, fresh)
        self.barren[active] += 1
        good = np.isfinite(plan.first)
        active, plan = active[good], plan.chosen(good)
        kappa, new = (a[np.flatnonzero(good), plan.unit] for a in (kappa, new))
        tells = fresh[np.flatnonzero(good), plan.unit]
        slope = unit_slopes(self.known, Region(at.units[good], at.gates[good]), plan.unit)
        rise = np.sign((slope * plan.direction).sum(1))
        beta = rise * (self.theta[active] * kappa).sum(1)
        on_fold = self.x[active] + plan.first[:, None] * plan.direction
        if tells.any():
            some = np.flatnonzero(tells)
            measured, beyond = _beyond(self, active[some], plan.chosen(some), slope[some])
            beta[some] = measured
            met = np.isfinite(measured)
            on_fold[some[met]] = beyond[met]
            self.good[active[some[met]]] += 1
            self.failed[active[some[~met]]] += 1
            self.blocked[active[some[~met]], plan.unit[some[~met]]] = True
            self._learn(active[some[met]], kappa[some[met]], new[some[met]], (rise * beta)[some[met]])
        self._move(active, plan, slope, beta, on_fold)

    def _new(self, active: np.ndarray, kappa: np.ndarray) -> np.ndarray:
        """The part of every kappa [P, K, m] outside what is determined."""
        basis = self.basis[active]
        for _ in range(2):  # Gram-Schmidt loses digits once and is exact to rounding done twice
            kappa = kappa - (kappa @ basis.transpose(0, 2, 1)) @ basis
        return kappa

    def _learn(self, who: np.ndarray, kappa: np.ndarray, new: np.ndarray, value: np.ndarray) -> None:
        """theta . kappa = value for some folds."""
        size = np.linalg.norm(new, axis=1)
        rest = value - (self.theta[who] * kappa).sum(1)
        self.theta[who] += new * (rest / size**2)[:, None]
        self.basis[who, self.rank[who]] = new / size[:, None]
        self.rank[who] += 1
        self.barren[who] = 0
        self.blocked[who] = False

    def _plan(self, active: np.ndarray, at: Region, fresh: np.ndarray) -> "_Plan":
        """A direction for every fold, its first crossing and the step to take beyond."""
        x, n = self.x[active], self.n[active]
        p = len(x)
        unit_n = n / np.maximum(np.linalg.norm(n, axis=1), 1e-300)[:, None]
        move, target = self._directions(active, at, fresh)
        move -= (move * unit_n[:, None]).sum(-1, keepdims=True) * unit_n[:, None]
        length = np.linalg.norm(move, axis=-1, keepdims=True)
        move /= np.maximum(length, 1e-300)
        rate = pushed(self.known, at, move)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            time = -at.units[:, None] / rate
            ends = np.where(move > 0, (self.high - x[:, None]) / move, (self.low - x[:, None]) / move)
        time = np.where((time > 0) & np.isfinite(time), time, np.inf)
        wall = np.where(np.isfinite(ends) & (move != 0), ends, np.inf).min(-1)
        unit = time.argmin(2)
        first = np.take_along_axis(time, unit[..., None], 2)[..., 0]
        to_target = np.take_along_axis(time, target[..., None], 2)[..., 0]
        np.put_along_axis(time, unit[..., None], np.inf, 2)
        gap = np.minimum(time.min(2), wall) - first
        with np.errstate(invalid="ignore"):  # where nothing is crossed: inf times a rate of 0, and not possible below
            depth = gap * np.abs(np.take_along_axis(rate, unit[..., None], 2)[..., 0])
        possible = (first < wall) & (gap > _GAP) & (length[..., 0] > _LENGTH)
        open_units = fresh & ~self.blocked[active]
        telling = (
            np.take_along_axis(open_units, unit, 1) & possible & (gap > _SHALLOW * float((self.high - self.low).mean()))
        )
        possible &= ~np.take_along_axis(fresh, unit, 1) | telling
        soon = 1 / (1e-3 + np.where(np.isfinite(to_target), to_target, np.inf))
        chance = np.abs(self.draw.standard_normal(first.shape))
        # A crossing that tells something comes before any other, the deepest room beyond it first; else the walk goes
        # on, by chance, towards a unit that would tell something.
        score = np.where(telling, 1e6 + np.minimum(depth, 1e3), np.where(possible, 1e-3 + chance * soon, -1.0))
        best = score.argmax(1)
        rows = np.arange(p)
        ok = score[rows, best] >= 0
        return _Plan(
            move[rows, best],
            unit[rows, best],
            np.where(ok, first[rows, best], np.inf),
            np.where(ok, _BEFORE_NEXT * gap[rows, best], 0.0),
        )

    def _directions(self, active: np.ndarray, at: Region, fresh: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Directions [P, T, d]: some at random, some towards known folds that would tell something; and their aims."""
        p, d = self.x[active].shape
        wanted = fresh + 1e-3 * self.draw.random(fresh.shape)
        count = min(_DIRECTIONS, fresh.shape[1])
        aim = np.argsort(-wanted, axis=1)[:, :count]
        flat = Region(np.repeat(at.units, count, 0), np.repeat(at.gates, count, 0))
        slope = unit_slopes(self.known, flat, aim.ravel()).reshape(p, count, d)
        towards = -np.sign(np.take_along_axis(at.units, aim, 1))[..., None] * slope
        towards /= np.maximum(np.linalg.norm(towards, axis=-1, keepdims=True), 1e-300)
        move = self.draw.standard_normal((p, _DIRECTIONS + count, d)) / d**0.5
        move[:, _DIRECTIONS:] *= _SCATTER
        move[:, _DIRECTIONS:] += towards
        return move, np.concatenate([aim[:, np.arange(_DIRECTIONS) % count], aim], axis=1)

    def _move(
        self, active: np.ndarray, plan: "_Plan", slope: np.ndarray, beta: np.ndarray, on_fold: np.ndarray
    ) -> None:
        """Go on beyond the crossing, where the fold has the new form; stay where that leaves the expected region.

        on_fold: points [P, d] of the fold at the crossing or a little beyond.
        """
        with np.errstate(invalid="ignore"):
            n = self.n[active] + beta[:, None] * slope
        size = np.square(n).sum(1)
        ahead = plan.direction - n * ((n * plan.direction).sum(1) / np.where(size > 0, size, 1.0))[:, None]
        x = on_fold + plan.beyond[:, None] * ahead
        before, after = region(self.known, self.x[active]), region(self.known, np.nan_to_num(x))
        expected = before.gates.copy()
        rows = np.arange(len(active))
        expected[rows, plan.unit] = after.gates[rows, plan.unit]
        there = (after.gates == expected).all(1) & (after.gates[rows, plan.unit] != before.gates[rows, plan.unit])
        inside = ((x >= self.low) & (x <= self.high)).all(1)
        good = np.isfinite(beta) & there & inside & (size > _VANISHED)
        self.x[active[good]], self.n[active[good]] = x[good], n[good]


@dataclass(frozen=True, eq=False)
class _Plan:
    """Per fold: direction [P, d], known unit crossed first int [P], distance to it [P], step beyond it [P]."""

    direction: np.ndarray
    unit: np.ndarray
    first: np.ndarray
    beyond: np.ndarray

    def chosen(self, some: np.ndarray) -> "_Plan":
        return _Plan(self.direction[some], self.unit[some], self.first[some], self.beyond[some])


def _beyond(walk: _Tracing, who: np.ndarray, plan: _Plan, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The multiple of each crossed unit's slope that the normal gains, [B], NaN where no fold is found beyond, and a
    point of the fold there, [B, d].

    The fold is looked for along lines parallel to the crossed fold; a bend is the fold's where half as far beyond the
    crossing another lies at half the distance. Both together tell the slope, whatever the error of the crossing.
    """
    n, v = walk.n[who], plan.direction
    w = slope / np.maximum(np.linalg.norm(slope, axis=1), 1e-300)[:, None]
    across = n - (n * w).sum(1)[:, None] * w
    size = np.linalg.norm(across, axis=1)
    across /= np.maximum(size, 1e-300)[:, None]
    noisy = min(max(1.0, 1e11 * walk.oracle.rounding / max(walk.oracle.largest, 1e-300)), 10.0)
    step = np.minimum(plan.beyond, noisy * _STEP * float((walk.high - walk.low).mean()))
    meeting = walk.x[who] + plan.first[:, None] * v
    middle = meeting + step[:, None] * v
    reach = np.minimum(_REACH * step, _room(middle, across, walk.low, walk.high))
    out, points = np.full(len(who), np.nan), middle.copy()
    usable = np.flatnonzero((size > 1e-6 * np.linalg.norm(n, axis=1)) & (reach > _NEAR * step))
    if not len(usable):
        return out, points
    start = middle[usable] - reach[usable, None] * across[usable]
    met = bends(walk.oracle, start, 2 * reach[usable, None] * across[usable], pieces=2)
    owner = usable[met.line]
    moved = reach[owner] * (2 * met.t - 1)
    half = meeting[owner] + 0.5 * step[owner, None] * v[owner] + 0.5 * moved[:, None] * across[owner]
    # The second bend, half as far beyond, is at half the distance if both lie on the fold; another fold that passes by
    # is not.
    same, offset = kinks(walk.oracle, half, across[owner], _AT_HALF * step[owner])
    owner, moved, offset = owner[same], moved[same], offset[same]
    # Two bends that both fit leave open which is the fold's: nothing is learnt, and the crossing counts as failed.
    alone = np.bincount(owner, minlength=len(who))[owner] == 1
    owner, moved, offset = owner[alone], moved[alone], offset[alone]
    rate = (slope[owner] * v[owner]).sum(1)
    turned = (moved - (0.5 * moved + offset)) / (0.5 * step[owner])
    out[owner] = -turned * size[owner] / rate
    points[owner] += moved[:, None] * across[owner]
    return out, points


def _room(at: np.ndarray, n: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far one can go from a point along n and against it without leaving the box: [B]."""
    with np.errstate(divide="ignore"):
        return (np.minimum(high - at, at - low) / np.abs(n)).min(1)


def kinks(oracle: Oracle, points: np.ndarray, direction: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether the black box bends near points [N, d] along directions, bool [N], and how far from them, [N].

    Near is within a hundredth of half [N]; where the sides of a bend are bent themselves, half is made smaller.
    """
    yes, offset = np.zeros(len(points), bool), np.zeros(len(points))
    left, half = np.arange(len(points)), half.copy()
    # invariant: `left` are points whose sides are bent within `half`; four sizes end a hundredth of it
    for _ in range(4):
        if not len(left):
            break
        steps = half[left][:, None] * np.array([-1.0, -0.5, -_NEAR, _NEAR, 0.5, 1.0])
        at = points[left][:, None] + steps[..., None] * direction[left][:, None]
        y = oracle.values(at.reshape(-1, points.shape[1])).reshape(len(left), 6, -1)
        before, after = y[:, 1] - y[:, 0], y[:, 5] - y[:, 4]  # over half of half
        bent = np.stack([y[:, 2] - y[:, 1] - (1 - 2 * _NEAR) * before, y[:, 4] - y[:, 3] - (1 - 2 * _NEAR) * after])
        clean = np.abs(bent).max((0, 2)) <= 2 * oracle.allowed
        best = np.abs(after - before).argmax(1)[:, None]
        turn, gap = (
            np.take_along_axis(a, best, 1)[:, 0] for a in (after - before, (y[:, 4] - after) - (y[:, 1] + before))
        )
        good = clean & (np.abs(turn) > 5 * oracle.allowed)
        yes[left[good]] = True
        offset[left[good]] = (-gap / np.where(turn == 0, 1.0, turn) * 0.5 * half[left])[good]
        left = left[~clean]
        half[left] *= _SMALLER
    return yes, offset
