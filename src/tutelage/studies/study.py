"""What a study is, and which there are. Adding a study adds a file to a group and edits no other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal

import pyarrow as pa
from matplotlib.figure import Figure

from tutelage.errors import TutelageError, unknown
from tutelage.lab.experiment import Experiment
from tutelage.measures.registry import Axis
from tutelage.papers import PAPERS
from tutelage.printing import printed
from tutelage.studies.claims import Check, Claim
from tutelage.studies.judging import undecidable

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


@printed
@dataclass(frozen=True)
class Plan:
    """A study at one scale: what to compute, and what to make of the results.

    Parameters
    ----------
    experiments
        What to compute.
    figure
        Pure function that draws the figure, in seconds.
    claims
        Claims judged on the results.
    numbers
        The table of the numbers behind the figure: by default the records of the view, or the arrays of the results, as
        they are; an axis of measures for the table of these; or a function of the view.
    view
        From the results to what ``figure``, ``claims`` and ``numbers`` take; by default the results themselves.
    """

    experiments: Sequence[Experiment]
    figure: Callable[[Any], Figure]
    claims: Sequence[Claim | Check]
    numbers: Axis | Callable[[Any], pa.Table] | None = None
    view: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Study:
    """One figure, table or theorem of a paper.

    Attributes
    ----------
    name
        Name for ``tutelage reproduce``.
    paper
        Key of :data:`tutelage.papers.PAPERS`.
    figure
        Number of the figure, or "Thm 5", "Table E.1".
    title
        One line.
    shows
        One sentence on what the paper's figure shows.
    plan
        From a scale to the :class:`Plan`.
    """

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
    """Decorator that registers a function from a scale to a :class:`Plan` as a study.

    The first line of the function's docstring is the title of the study.

    Parameters
    ----------
    name
        Name for ``tutelage reproduce``.
    paper
        Key of :data:`tutelage.papers.PAPERS`, or a key of your own.
    figure
        Number of the figure, or "Thm 5", "Table E.1".
    shows
        One sentence on what the paper's figure shows.

    Returns
    -------
    callable
        The decorator; it returns the :class:`Study`.
    """

    def register(plan: Callable[[Scale], Plan]) -> Study:
        known = STUDIES.get(name)
        if known is not None and known.plan.__module__ != plan.__module__:
            raise TutelageError(f"there is a study '{name}' already: give the new one another name")
        title = (plan.__doc__ or name).strip().splitlines()[0].rstrip(".")
        STUDIES[name] = Study(name, paper, figure, title, shows, _decidable(plan))
        return STUDIES[name]

    return register


def _decidable(plan: Callable[[Scale], Plan]) -> Callable[[Scale], Plan]:
    """The same function, which does not return a plan at paper scale with a claim that its members cannot decide."""

    @wraps(plan)
    def checked(scale: Scale) -> Plan:
        planned = plan(scale)
        members = sum(experiment.members for experiment in planned.experiments)
        for claim in planned.claims if scale == "paper" else ():
            if undecidable(claim, members):
                raise TutelageError(
                    f"no outcome of {members} members can decide the claim '{claim.sentence}': plan more members, or "
                    "measure a share or a mean per member instead of an outcome"
                )
        return planned

    return checked


def find(name: str) -> Study:
    """Study by name.

    Parameters
    ----------
    name
        A key of :data:`STUDIES`.

    Returns
    -------
    Study
        A :class:`~tutelage.TutelageError` names the nearest study if there is none of that name.
    """
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    return STUDIES[name]
