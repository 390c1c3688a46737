"""The search of an identification in rounds: more lines, units from their bends, and a trial on fresh points."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.functions.querying.confirming import UnitSearchSetting
from tutelage.functions.querying.lines import Lines, look_along, no_lines, sample
from tutelage.functions.querying.oracle import Oracle, QueryDraws, Spent
from tutelage.functions.querying.peeling import Memory, Peeled, peel
from tutelage.functions.querying.polish import outputs as outputs_of

_FORMAT = "tutelage-identification-3"
_ASKED_AGAIN = 64  # stored points at which the black box must still give the stored values
_ROUNDED = 1e-9  # share of the largest value by which answers in batches of other sizes may differ
_EXACT = 1e-7  # a smaller unexplained share means that all folds are found
_UNEXPLAINED = 10  # the same in multiples of the noise: all weights fitted leave about half the noise
_PER_NOISE = 1e4  # error of normals over that of values: differences over a hundredth of the box lose two digits twice
_LOOSEST = 1e-3  # cap of that error: normals that are worse are made exact by bends, or not used
_BAD = 1e-2  # share of the largest error above which a point starts a line
_PARTS = 12  # share of the lines that is tried first
_NEARLY = 0.1  # with a smaller unexplained share, few lines at a time are added where the rest is largest
_TRIALS = 4_000  # fresh points on which what is found is tried after every round
_LAST = 20_000  # the same once all seems explained
_RIVALS = 2  # units with a parallel rival whose rival is tried in their place, a round


@dataclass(eq=False)
class SearchRounds:
    """A search under way: the lines asked so far, the best reconstruction, and points [B, d] it does not explain.

    low, high: the box; most: largest number of hidden layers; checkpoint, about: where answers are kept, of which call.
    """

    asked: Oracle
    low: np.ndarray
    high: np.ndarray
    most: int
    seed: int
    checkpoint: str | Path | None
    about: dict[str, Any]
    pool: Lines | None = None
    lines: int = 0
    peeled: Peeled | None = None
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self.pool, self.lines = _resumed(self.checkpoint, self.about, self.asked)
        self.bad = np.zeros((0, self.asked.inputs))
        self.draw = QueryDraws(self.seed)

    @property
    def bends(self) -> int:
        """Fold points seen."""
        return 0 if self.pool is None else int(self.pool.bend.sum())

    @property
    def explained(self) -> bool:
        """Whether the network that was found explains all values that it was compared with."""
        return self.peeled is not None and not len(self.bad)

    def run(self, lines: int, widths: tuple[int, ...] | None, progress: Callable[[float], None] | None) -> None:
        """Rounds until all is explained, all lines are asked, or a limit is reached."""
        target = max(self.lines, lines // _PARTS, 1)
        # invariant: `peeled` is the best network of all rounds, by its largest error on fresh points
        while True:
            try:
                peeled = self._round(target)
            except Spent:
                return
            if progress:
                progress(self.lines / (lines + 1))
            if (not len(self.bad) and _wide_enough(peeled, widths)) or self.asked.spent or self.lines >= lines:
                return
            target = min(lines, self.lines + lines // 24 + 1 if peeled.unexplained < _NEARLY else 2 * self.lines)

    def _round(self, target: int) -> Peeled:
        """Ask along more lines, and keep the better of what they tell and what was found before."""
        asked, low, high, seed = self.asked, self.low, self.high, self.seed
        if target > self.lines:
            start, end = _chords(self.bad, low, high, target - self.lines, self.lines, seed)
            more = look_along(asked, start, end - start)
            self.pool, self.lines = more if self.pool is None else self.pool.joined(more), target
            _keep(self.checkpoint, self.about, self.pool, self.lines, asked)
        assert self.pool is not None
        now, before = self._peeled(), self.peeled
        # By what was fitted first, since a comparison on fresh points may not be affordable any more.
        if before is None or now.unexplained < before.unexplained:
            self.peeled = now  # stays if no time is left to compare
        else:
            now, before = before, now
        peeled, self.bad = _better(asked, before, now, low, high, _TRIALS, self.lines, seed)
        self.peeled = peeled
        if not len(self.bad):  # all seems explained: a last look for what is rare
            peeled, self.bad = _better(asked, before, peeled, low, high, _LAST, self.lines, seed)
            self.peeled = peeled
        return peeled

    def _peeled(self) -> Peeled:
        """What the lines tell; where that is not all, and one of parallel units was believed, also with the other."""
        asked, pool = self.asked, self.pool
        assert pool is not None
        setting = _setting(asked, pool, self.low, self.high)

        def tell(memory: Memory) -> Peeled:
            return peel(asked, pool, setting, self.draw, enough(asked), self.most, self.seed, memory)

        now = tell(self.memory)
        believed = [(depth, unit) for depth, rivals in self.memory.rivals.items() for unit in rivals.believed]
        for depth, unit in believed[:_RIVALS]:
            if now.unexplained <= enough(asked) or asked.spent:
                break
            other = self.memory.doubting(depth, unit)
            instead = tell(other)
            if instead.unexplained < now.unexplained:
                self.memory, now = other, instead
                break  # its own rivals are for the next round
        return now

    def result(self) -> Peeled:
        """The best reconstruction; where no time was left to look for a unit, the affine function that fits best."""
        if self.peeled is not None:
            return self.peeled
        none = no_lines(self.asked)
        setting = _setting(self.asked, none, self.low, self.high)
        return peel(self.asked, none, setting, self.draw, enough(self.asked), 0, self.seed)


def enough(asked: Oracle) -> float:
    """The unexplained share at which the search ends."""
    return max(_EXACT, _UNEXPLAINED * asked.noise / max(asked.largest, 1e-300))


def _better(
    asked: Oracle, before: Peeled | None, now: Peeled, low, high, count: int, first: int, seed: int
) -> tuple[Peeled, np.ndarray]:
    """Of two reconstructions the one with the smaller largest error at fresh points, and the points [B, d] where it is
    more than a share of that error, if the error is more than all units explain.
    """
    trial = sample(low, high, count, seed, f"worst {count}", first * count)
    values = asked.values(trial)
    peeled, rest = now, np.abs(values - outputs_of(now.layers, trial)).max(1)
    if before is not None and before is not now:
        other = np.abs(values - outputs_of(before.layers, trial)).max(1)
        if other.max() < rest.max():
            peeled, rest = before, other
    if rest.max() <= 10 * enough(asked) * max(float((values - values.mean(0)).std()), asked.rounding):
        return peeled, trial[:0]
    return peeled, trial[np.argsort(-rest)][: int((rest > _BAD * rest.max()).sum())]


def _chords(bad: np.ndarray, low, high, count: int, first: int, seed: int):
    """Ends [count, d] of chords of the box; every second one starts at a point that the units found do not explain."""
    start = sample(low, high, count, seed, "chord starts", first)
    end = sample(low, high, count, seed, "chord ends", first)
    # Lines through points that are not explained meet the missing fold; the other half keeps looking everywhere.
    if len(bad):
        start[::2] = np.resize(bad, (len(start[::2]), len(low)))
    return start, end


def _setting(asked: Oracle, pool: Lines, low: np.ndarray, high: np.ndarray) -> UnitSearchSetting:
    """Tolerances from the rounding or noise of the values, over steps of a hundredth of the box."""
    size = float(np.linalg.norm(high - low)) / 2
    spread = max(float(pool.values.std()) if len(pool.values) else 0.0, 1e-300)
    return UnitSearchSetting(low, high, size, min(max(_EXACT, _PER_NOISE * asked.noise / spread), _LOOSEST))


def _wide_enough(peeled: Peeled, widths: tuple[int, ...] | None) -> bool:
    units = [w.shape[1] - p for (w, _), p in zip(peeled.layers[:-1], peeled.passing, strict=True)]
    return widths is None or all(f >= w for f, w in zip(units, widths, strict=False))


def _keep(path: str | Path | None, about: dict[str, Any], pool: Lines, lines: int, asked: Oracle) -> None:
    """Write what was asked so far; the file is complete or absent."""
    if path is None:
        return
    text = json.dumps(about | {"format": _FORMAT, "lines": lines, "queries": asked.queries, "largest": asked.largest})
    write_atomically(Path(path), to_bytes(pool.arrays(), metadata={"tutelage": text}))


def _resumed(path: str | Path | None, about: dict[str, Any], asked: Oracle) -> tuple[Lines | None, int]:
    """The fold points of an earlier call with the same settings, about the same function."""
    if path is None or not Path(path).exists():
        return None, 0
    try:
        with safe_open(path, framework="np") as file:
            kept = json.loads((file.metadata() or {}).get("tutelage", "{}"))
            if kept.get("format") != _FORMAT or any(kept.get(k) != v for k, v in about.items()):
                raise TutelageError(
                    f"{path} is not a checkpoint of this call: give another file, or the settings it has"
                )
            pool = Lines(**{f.name: file.get_tensor(f.name) for f in fields(Lines)})
    except (SafetensorError, OSError) as error:
        raise TutelageError(f"{path} is not a checkpoint ({error}): give another file") from None
    asked.queries, asked.largest = kept["queries"], kept["largest"]
    with suppress(Spent):
        _ask_again(path, pool, asked)
    return pool, kept["lines"]


def _ask_again(path: str | Path, pool: Lines, asked: Oracle) -> None:
    """Raise an error where the black box no longer gives the stored values."""
    some = slice(None, None, len(pool.points) // _ASKED_AGAIN + 1)
    apart = float(np.abs(asked.values(pool.points[some]) - pool.values[some]).max(initial=0.0))
    if apart > 2 * asked.noise + _ROUNDED * asked.largest:
        raise TutelageError(
            f"{path} has the answers of another function, which differ by up to {apart:.2g}: give another checkpoint, "
            "or remove this one"
        )
