"""Looking for a counterexample to Conjecture 5.5 of Zhu et al. 2021: at random, and uphill. For f of relu alone.

Both report what was proved. At random, a set counts as settled when a witness shows that some det M_i is not positive
(:mod:`._determinant_loops`); what float64 leaves open goes to :func:`.determinants.signs`. Uphill, the smallest
rho_i = det M_i / det M is made as large as it gets among angles that keep a distance: without one, sets approach
coincident angles, where it is 0.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from tutelage import draws
from tutelage.alignment._determinant_loops import search, settle
from tutelage.alignment.angular import named
from tutelage.alignment.determinants import checked, matrices, ratios, separation, signs
from tutelage.errors import TutelageError

ROOM = 1 << 12
"""Sets that float64 leaves open in one block, at most, that are looked at again."""
BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Searched:
    """sets looked at; reopened: not settled by float64; unsettled: nor by more digits; positive: counterexamples."""

    m: int
    sets: int
    reopened: int
    unsettled: int
    positive: np.ndarray


def random_search(
    m: int, sets: int, seed: int = 0, threads: int = 2, on_progress: Callable[[float], None] = lambda share: None
) -> Searched:
    """Search for a counterexample to Conjecture 5.5 of Zhu et al. 2021 among random angle sets, each decided by proof.

    Parameters
    ----------
    m
        Number of students; angles are uniform on the circle.
    sets
        Number of angle sets.
    seed
        Of the draws.
    threads
        Cores to use.
    on_progress
        Called with the share done.

    Returns
    -------
    Searched

    Examples
    --------
    >>> result = random_search(4, 1000)
    >>> result.unsettled, len(result.positive)
    (0, 0)
    """
    if m < 2 or sets < 1 or threads < 1:
        raise TutelageError(f"a search needs m of at least 2 and one set and one thread, not {m}, {sets} and {threads}")
    key = np.uint64(draws.keys([seed], f"angle sets of {m}").numpy().view(np.uint64)[0])
    starts = range(0, sets, BLOCK)

    def block(begin: int) -> tuple[int, np.ndarray]:
        left = np.zeros(ROOM, np.int64)
        count = int(search(key, begin, min(begin + BLOCK, sets), m, left))
        return count, left[:count]

    reopened, numbers = 0, list[np.ndarray]()
    with ThreadPoolExecutor(threads) as pool:
        for done, (count, left) in enumerate(pool.map(block, starts), start=1):
            reopened += count
            numbers.append(left)
            on_progress(done / len(starts))
    again = np.concatenate(numbers)
    if not len(again):
        return Searched(m, sets, 0, 0, np.zeros((0, m)))
    angles = random_angles(m, again, seed)
    proved = signs(angles)
    unsettled = reopened - int((proved.nonpositive | proved.counterexample).sum())
    return Searched(m, sets, reopened, unsettled, angles[proved.counterexample])


def random_angles(m: int, numbers: np.ndarray, seed: int = 0) -> np.ndarray:
    """The angle sets of these numbers, as the search draws them: [S] -> [S, m]."""
    key = draws.keys([seed], f"angle sets of {m}")
    rows = [draws.uniforms(key, m, start=int(s) * m)[0].numpy() for s in numbers]
    return 2 * math.pi * np.stack(rows)


def settled(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether float64 has a witness for each set [S, m], and its smallest rho_i: bool [S], float [S]."""
    angles = checked(angles)
    out, least = np.zeros(len(angles), np.bool_), np.zeros(len(angles))
    settle(np.ascontiguousarray(angles), out, least)
    return out, least


@dataclass(frozen=True, eq=False)
class Climbed:
    """The highest of all starts: its angles [m], min_i rho_i there, the bound on its error, and what is proved of it.

    values: min_i rho_i at the end of every start [S].
    """

    m: int
    angles: np.ndarray
    value: float
    error: float
    proved_negative: bool
    values: np.ndarray

    @property
    def multiple(self) -> float:
        """The value over its numerical error: below -1 the sign is proved in float64."""
        return self.value / self.error


def climb(m: int, starts: int = 256, steps: int = 2000, distance: float = 0.1, seed: int = 0) -> Climbed:
    """Search for a counterexample to Conjecture 5.5 of Zhu et al. 2021 by hill climbing on min_i rho_i.

    Parameters
    ----------
    m
        Number of students.
    starts
        Random starts; each tries random moves and keeps improvements.
    steps
        Moves per start.
    distance
        Smallest distance between angles.
    seed
        Of the starts.

    Returns
    -------
    Climbed
    """
    if m < 2 or (m + 1) * distance >= 2 * math.pi:
        raise TutelageError(f"{m} students and a teacher do not fit on the circle at a distance of {distance:g}")
    keys = draws.keys(range(seed, seed + starts), f"climb of {m}")
    free = 2 * math.pi - (m + 1) * distance
    gaps = -np.log(draws.uniforms(keys, m + 1).numpy())
    gaps = distance + free * gaps / gaps.sum(1, keepdims=True)
    angles = np.cumsum(gaps, axis=1)[:, :m]
    value, length = settled(angles)[1], np.full(starts, 0.3)
    for step in range(steps):
        move = draws.normals(keys, m, start=(step + 1) * 2 * m).numpy()
        tried = np.mod(angles + length[:, None] * move, 2 * math.pi)
        tried = np.where(tried >= 2 * math.pi, 0.0, tried)
        height = settled(tried)[1]
        # Each start is a (1 + 1) evolution: its move grows by half after a success and shrinks by a tenth after a
        # failure, which holds its length steady where one move in five succeeds.
        better = (separation(tried)[0] >= distance) & (height > value)
        angles, value = np.where(better[:, None], tried, angles), np.where(better, height, value)
        length = np.clip(length * np.where(better, 1.5, 0.9), 1e-9, 1.0)
    best = int(value.argmax())
    rho, bound = ratios(*matrices(angles[best : best + 1]), named("relu").error)
    least = int(rho[0].argmin())
    proved = bool(signs(angles[best : best + 1]).nonpositive[0])
    return Climbed(m, np.sort(angles[best]), float(rho[0, least]), float(bound[0, least]), proved, value)
