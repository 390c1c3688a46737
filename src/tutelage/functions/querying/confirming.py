"""Whether a fold that was found is there all over the box, as a unit's of the next layer is."""

from dataclasses import dataclass

import numpy as np

from tutelage.functions.querying.known import Known, features, slopes
from tutelage.functions.querying.oracle import Oracle, QueryDraws
from tutelage.functions.querying.tracing import kinks

_FIXED = 1e-6  # share of a feature vector outside what is determined at which F is not known
_CHORDS = 400  # on which other points of a fold are looked for
_HALF, _WIDEST = 1e-3, 1e-2  # on either side of a point, as shares of the size: the least, and the most tried
_TURNING = 40  # the same in errors of a bend, so that it stands out of the noise
_CONFIRMING = 32  # such points at most
_PARTS = 16  # of a chord between which the sign of a unit is looked at
_TAKEN = 0.3  # chance that a meeting is used, so that a chord that meets a fold often does not use them all up
_AROUND = 0.5  # how far from a bend of the unit half of the chords reach, as a share of the way to the box's points
_FLAT = 1e-6  # share of |theta| below which the slope of F is too small to say where its fold is
_LEVER = 100  # how much farther off a fold may be across the box than at the place where its normal was measured
_NEAREST_USEFUL = 2e-2  # cap of nearness, as a share of the size: beyond it most bends are near most folds
_IN_NOISE = 0.75  # the share of bends asked for where noise hides some: a deeper unit's fold is there far less often
_CONFIRMED = 0.9  # share of them at which the black box must bend


@dataclass(frozen=True)
class UnitSearchSetting:
    """What the search needs to know: the box, its size, and how exact normals are."""

    low: np.ndarray
    high: np.ndarray
    size: float
    tolerance: float

    @property
    def near(self) -> float:
        """How near a fold a point must be, as a share of the size."""
        return min(_LEVER * self.tolerance, _NEAREST_USEFUL)


def confirmed(
    oracle: Oracle,
    known: Known,
    theta: np.ndarray,
    basis: np.ndarray,
    bends: np.ndarray,
    setting: UnitSearchSetting,
    draw: QueryDraws,
    error: float = 0.0,
) -> bool:
    """Whether a unit bends the black box at most points of its fold, as far as random chords of the box meet it.

    Where many lines start from one place, a deeper unit's fold that is there in one part of the box only has many
    bends. ``bends``: those of the unit [P, d], around which chords are drawn too; error: how exact noise leaves them.
    Where a unit turns the values too little for noise to show it at single points, its bends have to do.
    """
    points, slope = on_fold(known, theta, basis, bends, setting, draw.generator())
    if not len(points):
        return True
    direction = slope / np.linalg.norm(slope, axis=1, keepdims=True)
    half = max(_TURNING * error, _HALF * setting.size)
    if half > _WIDEST * setting.size:
        return True
    bent, _ = kinks(oracle, points, direction, np.full(len(points), half))
    far = np.stack([points + side * half * direction for side in (-1, 1)], axis=1)
    values = oracle.values(far.reshape(-1, points.shape[1])).reshape(len(points), 2, -1)
    # Where the values do not move across the fold at all, a later layer hides the unit: no bend is to be expected.
    moves = np.abs(values[:, 1] - values[:, 0]).max(1) > oracle.clear
    return bent.sum() >= (_CONFIRMED if oracle.noise == 0 else _IN_NOISE) * moves.sum()


def on_fold(
    known: Known,
    theta: np.ndarray,
    basis: np.ndarray,
    bends: np.ndarray,
    setting: UnitSearchSetting,
    draw: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Points [P, d] where chords of the box meet the fold of a unit, where it is determined, and its slopes there."""
    ends = draw.uniform(setting.low, setting.high, (2, _CHORDS, len(setting.low)))
    # Half of the chords stay near the unit's own bends: a unit whose fold crosses a corner of the box only would be met
    # by few others.
    near = bends[draw.integers(0, len(bends), (2, _CHORDS // 2))]
    ends[:, ::2] = near + _AROUND * (ends[:, ::2] - near)
    t = np.linspace(0, 1, _PARTS + 1)[:, None, None]
    along = features(known, ((1 - t) * ends[0] + t * ends[1]).reshape(-1, len(setting.low))) @ theta
    # Chords are looked at through the known layers alone, which costs no question to the black box.
    switched = (np.diff(np.sign(along.reshape(_PARTS + 1, -1)), axis=0) != 0) & (
        draw.random((_PARTS, _CHORDS)) < _TAKEN
    )
    place, chord = (part[:_CONFIRMING] for part in np.nonzero(switched))
    low, high = (
        ends[0, chord] + share[:, None] * (ends[1] - ends[0])[chord] for share in (t[place, 0, 0], t[place + 1, 0, 0])
    )
    side = np.sign(features(known, low) @ theta)
    for _ in range(50):  # invariant: F has the sign `side` at low and the other at high; 50 halvings reach rounding
        middle = (low + high) / 2
        same = (np.sign(features(known, middle) @ theta) == side)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    slope = slopes(known, theta, low)
    keep = fixed(features(known, low), basis) & (np.linalg.norm(slope, axis=1) > _FLAT * np.linalg.norm(theta))
    return low[keep], slope[keep]


def fixed(phi: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """At which feature vectors [N, m] F is determined: bool [N]."""
    if len(basis) in (0, phi.shape[1]):
        return np.ones(len(phi), bool)
    rest = phi - (phi @ basis.T) @ basis
    return np.linalg.norm(rest, axis=1) <= _FIXED * np.linalg.norm(phi, axis=1)
