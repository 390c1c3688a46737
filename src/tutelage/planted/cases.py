"""The cases of the test bed: in which form students are given to a method."""

from collections.abc import Callable, Sequence

from tutelage.errors import unknown
from tutelage.networks import Network
from tutelage.planted import rewriting

TRAINED, UNTRAINED = "trained", "untrained"
_REWRITTEN: dict[str, Callable[[Network, Sequence[int]], Network]] = {
    "duplicates": rewriting.with_duplicates,
    "dead": rewriting.with_dead_units,
    "decoys": rewriting.with_decoys,
    "permuted": rewriting.permuted,
    "scaled": rewriting.scaled,
    "split": rewriting.split,
    "superposed": rewriting.superposed,
}
CASES = (TRAINED, UNTRAINED, *_REWRITTEN)
"""Students as trained; at their start (chance); with planted duplicates, dead units or decoys; and the same function
with other weights."""

SAME = ("dead", "decoys", "permuted", "scaled", "split", "superposed")
"""Cases in which the students are the same function as those trained."""
UNCHANGED = ("permuted", "scaled", "split")
"""Cases of which a method should give the answer that it gives for the trained students."""


def applies(case: str, activation: str) -> bool:
    """Whether students of an activation can be given in this case.

    >>> applies("superposed", "relu"), applies("superposed", "tanh")
    (True, False)
    """
    wanted = {"dead": ("relu",), "scaled": rewriting.SCALED + rewriting.ODD, "superposed": rewriting.FIVEFOLD}
    return case not in wanted or activation in wanted[case]


def in_case(case: str, trained: Network, start: Network, seeds: Sequence[int]) -> Network:
    """The students in one of the ``CASES``: pure functions of the seeds.

    Parameters
    ----------
    case
        One of ``CASES``.
    trained, start
        The students after and before training.
    seeds
        One per member; they decide what is drawn.

    Returns
    -------
    Network
        As many members.
    """
    if case not in CASES:
        raise unknown("case", case, CASES)
    if case in _REWRITTEN:
        return _REWRITTEN[case](trained, seeds)
    return trained if case == TRAINED else start
