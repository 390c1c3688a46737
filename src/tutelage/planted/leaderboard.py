"""Methods side by side: what is computed at each scale, and one entry per method with intervals over members."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.planted.cases import CASES, TRAINED
from tutelage.planted.difficulty import DIALS, Difficulty, sweep
from tutelage.planted.experiment import PlantedScores, PlantedStudents
from tutelage.planted.registry import find
from tutelage.planted.scores import RECALLS

Scale = Literal["smoke", "quick", "paper"]

BASES: dict[Scale, Difficulty] = {
    "smoke": Difficulty(units=3, inputs=5, steps=300, samples=100),
    "quick": Difficulty(),
    "paper": Difficulty(),
}
"""The difficulty from which the dials are turned."""
MEMBERS: dict[Scale, int] = {"smoke": 3, "quick": 8, "paper": 32}
TURNED: dict[Scale, tuple[str, ...]] = {
    "smoke": ("steps",),
    "quick": ("decay", "width_factor", "noise", "samples"),
    "paper": tuple(DIALS),
}
"""The dials that are turned where none is named."""
POSSIBLE = {"count_bias": (-np.inf, np.inf), "gain": (-1.0, 1.0)}
"""Least and greatest value of a score; the others are shares."""
_FILE = "leaderboard.json"


@dataclass(frozen=True)
class Summary:
    """Mean of a score over members with its 95 % interval, None where there is none, and the number of members."""

    mean: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Entry:
    """What is known of a method.

    Attributes
    ----------
    method, sees
        Its name, and what it may look at.
    scores
        Summaries by score, for the trained students of the base difficulty; "invariance" among them.
    cases
        Summaries of recall by case.
    curves
        Value and summary of recall at every point, by dial.
    precision
        Mean precision at every recall from 0 to 1.
    """

    method: str
    sees: str
    scores: dict[str, Summary] = field(default_factory=dict)
    cases: dict[str, Summary] = field(default_factory=dict)
    curves: dict[str, list[tuple[Any, Summary]]] = field(default_factory=dict)
    precision: list[float | None] = field(default_factory=list)


@dataclass(frozen=True)
class Board:
    """The experiments behind the entries of a leaderboard: the base with every case, and one per point of a dial.

    Attributes
    ----------
    scale
        Size of the test bed.
    base
        Students at the base difficulty.
    points
        Dial, value and students of every point of the power curves.
    seconds
        Time limit for one call of a method of a user.
    """

    scale: str
    base: PlantedStudents
    points: tuple[tuple[str, Any, PlantedStudents], ...]
    seconds: float = 60.0

    def scored(self, name: str) -> list[PlantedScores]:
        """The experiments of one method: the base, then the points."""
        whole = PlantedScores(students=self.base, method=name, cases=self.base.cases, seconds=self.seconds)
        points = [PlantedScores(students=s, method=name, seconds=self.seconds) for _, _, s in self.points]
        return [whole, *points]

    def students(self) -> list[PlantedStudents]:
        """All students, each once."""
        every = [self.base, *(students for _, _, students in self.points)]
        return list({students.hash: students for students in every}.values())

    def entry(self, name: str, results: Sequence[Any]) -> Entry:
        """The entry of a method from the results of :meth:`scored`."""
        base, *points = results
        every = self.base.cases
        place = every.index(TRAINED)
        scores = {n: summary(_members(base[n][:, place]), n) for n in _told(base)}
        scores["invariance"] = summary(_members(base["invariance"]), "invariance")
        cases = {case: summary(_members(base["recall"][:, c]), "recall") for c, case in enumerate(every)}
        curves: dict[str, list[tuple[Any, Summary]]] = {}
        for (dial, value, _), result in zip(self.points, points, strict=True):
            curves.setdefault(dial, []).append((value, summary(_members(result["recall"][:, 0]), "recall")))
        curve = _members(base["curve"][:, place].swapaxes(1, 2).reshape(-1, base["curve"].shape[2]))
        precision = _members(curve.reshape(len(base["recall"]), -1).T)
        told = [None if np.isnan(p) else float(p) for p in precision]
        assert len(told) == len(RECALLS)
        return Entry(name, find(name).sees, scores, cases, curves, told)


def board(
    scale: Scale,
    dials: Mapping[str, Sequence[Any]] | None = None,
    seconds: float = 60.0,
    seeds: Sequence[int] | None = None,
    cases: Sequence[str] = CASES,
) -> Board:
    """What is computed at a scale.

    Parameters
    ----------
    scale
        "smoke" (seconds, proves nothing), "quick" (minutes) or "paper".
    dials
        Values by dial; default: those of the scale.
    seconds
        Time limit for one call of a method of a user.
    seeds
        Seeds of the members; default: as many as the scale has.
    cases
        Cases in which the students of the base difficulty are given; "trained" must be among them.

    Returns
    -------
    Board
        ``board(...).scored(name)`` are the experiments of a method.

    Examples
    --------
    >>> [experiment.kind for experiment in board("smoke", {"decay": (0.0, 2.0)}).scored("pca")]
    ['planted-scores', 'planted-scores', 'planted-scores']
    """
    turned = {dial: DIALS[dial] for dial in TURNED[scale]} if dials is None else dials
    chosen, base = tuple(range(MEMBERS[scale]) if seeds is None else seeds), BASES[scale]
    points = tuple(
        (dial, value, PlantedStudents(difficulty=difficulty, seeds=chosen))
        for dial, value, difficulty in sweep(base, turned)
    )
    return Board(scale, PlantedStudents(difficulty=base, seeds=chosen, cases=tuple(cases)), points, seconds)


def summary(values: np.ndarray, name: str) -> Summary:
    """Mean and interval over members, whose scores are independent: [S], NaN where one has none."""
    from tutelage.studies.intervals import mean_interval  # the studies know this package

    finite = values[np.isfinite(values)]
    if not len(finite):
        return Summary(None, None, None, 0)
    least, most = POSSIBLE.get(name, (0.0, 1.0))
    interval = mean_interval(finite, (least, most))
    if interval is None:
        return Summary(float(finite.mean()), None, None, len(finite))
    # the mean lies within what is possible, so an interval that is cut there holds it as often as before
    return Summary(float(finite.mean()), max(interval.low, least), min(interval.high, most), len(finite))


def _told(result: Any) -> Iterator[str]:
    from tutelage.planted.scores import SCORES

    return (name for name in SCORES if name in result.arrays)


def _members(values: np.ndarray) -> np.ndarray:
    """Mean over the layers of each member: [S, L] -> [S]; NaN where no layer has a value."""
    count = np.isfinite(values).sum(1)
    return np.where(count > 0, np.nansum(values, axis=1) / np.maximum(count, 1), np.nan)


def ranked(entries: Sequence[Entry]) -> list[Entry]:
    """Entries by recall, then by average precision, the best first."""

    def key(entry: Entry) -> tuple[float, ...]:
        return tuple(-(entry.scores[name].mean or 0.0) for name in ("recall", "average_precision"))

    return sorted(entries, key=lambda entry: (*key(entry), entry.method))


def write(folder: Path, board: Board, entries: Sequence[Entry]) -> Path:
    """Add entries to the leaderboard of a folder; those of another scale or difficulty are replaced as a whole."""
    path = folder / _FILE
    about = {"scale": board.scale, "students": board.base.hash, "dials": _dials(board)}
    kept = {entry.method: entry for entry in read(path) if _about(path) == about}
    every = ranked(list((kept | {entry.method: entry for entry in entries}).values()))
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(about | {"entries": [asdict(entry) for entry in every]}, indent=1))
    return path


def read(path: Path) -> list[Entry]:
    """The entries of a leaderboard file, none where there is no file."""
    if not path.exists():
        return []
    try:
        return [_entry(values) for values in json.loads(path.read_text())["entries"]]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TutelageError(f"{path} is no leaderboard ({error}): remove it and run again") from None


def _about(path: Path) -> dict[str, Any]:
    return {name: value for name, value in json.loads(path.read_text()).items() if name != "entries"}


def _dials(board: Board) -> list[list[Any]]:
    return [[dial, value] for dial, value, _ in board.points]


def _entry(values: dict[str, Any]) -> Entry:
    tables = {name: {n: Summary(**s) for n, s in values[name].items()} for name in ("scores", "cases")}
    curves = {dial: [(value, Summary(**s)) for value, s in points] for dial, points in values["curves"].items()}
    return Entry(values["method"], values["sees"], **tables, curves=curves, precision=values["precision"])
