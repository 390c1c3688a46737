"""What a study is, and which there are. Adding a study adds a file to a group and edits no other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from matplotlib.figure import Figure

from tutelage.errors import TutelageError, unknown
from tutelage.lab.experiment import Experiment
from tutelage.measures.registry import Axis
from tutelage.papers import PAPERS
from tutelage.studies.claims import Check, Claim

Scale = Literal["smoke", "quick", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "quick", "paper")


FRESH = 10_000
"""Seeds from here on were never used to choose a threshold."""


def fresh_seeds(scale: Scale, count: int) -> range:
    """Seeds of so many members; at paper scale ones that no rehearsal has used.

    For studies whose thresholds were fixed after a rehearsal: their verdicts come from other members.

    >>> list(fresh_seeds("quick", 3)), list(fresh_seeds("paper", 3))
    ([0, 1, 2], [10000, 10001, 10002])
    """
    first = FRESH if scale == "paper" else 0
    return range(first, first + count)


@dataclass(frozen=True)
class Plan:
    """A study at one scale: the experiments to compute, the figure drawn from their results, the claims judged on them.

    figure, claims: pure functions of what ``view`` makes of the results in seconds (default: the results themselves);
    numbers: a function that makes one table of the same, or the axis whose table, at every recorded step, holds the
    numbers behind the figure.
    """

    experiments: Sequence[Experiment]
    figure: Callable[[Any], Figure]
    claims: Sequence[Claim | Check]
    numbers: Axis | Callable[[Any], pa.Table]
    view: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Study:
    """One figure, table or theorem of a paper: its place, what it shows, and the plan at each scale."""

    name: str
    paper: str
    figure: str
    title: str
    shows: str
    plan: Callable[[Scale], Plan]


STUDIES: dict[str, Study] = {}


def source(paper: str, figure: str) -> str:
    """Paper and place of a study; a bare number is a figure's. Papers of a plugin are named by their key.

    >>> source("tian2020", "5"), source("tian2019", "Thm 5"), source("my2026", "2")
    ('Tian 2020, Fig. 5', 'Tian 2019, Thm 5', 'my2026, Fig. 2')
    """
    label = PAPERS[paper].label if paper in PAPERS else paper
    return f"{label}, {'Fig. ' if figure[0].isdigit() else ''}{figure}"


def study(name: str, *, paper: str, figure: str, shows: str) -> Callable[[Callable[[Scale], Plan]], Study]:
    """Register a function from scale to plan as a study; the first line of its docstring is the study's title.

    shows: one sentence on what the paper's figure shows.
    """

    def register(plan: Callable[[Scale], Plan]) -> Study:
        known = STUDIES.get(name)
        if known is not None and known.plan.__module__ != plan.__module__:
            raise TutelageError(f"there is a study '{name}' already: give the new one another name")
        title = (plan.__doc__ or name).strip().splitlines()[0].rstrip(".")
        STUDIES[name] = Study(name, paper, figure, title, shows, plan)
        return STUDIES[name]

    return register


def find(name: str) -> Study:
    """The study of that name."""
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    return STUDIES[name]
