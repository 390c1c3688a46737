"""The record of a comparison of two networks."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from tutelage.functions.comparing.normal import Redundancy
from tutelage.functions.comparing.relation import Relation
from tutelage.printing import printed

Verdict = Literal["same and related", "same, not related", "different", "not decided"]


@printed
@dataclass(frozen=True, eq=False)
class Comparison:
    """Answer to the question whether two networks are the same function.

    *Same* means that no output differs by more than the tolerance anywhere on the domain; over all inputs, differences
    are divided by max(1, |x|) with the largest coordinate |x|.

    Attributes
    ----------
    verdict
        "same and related" (by permutation and positive scaling, over all inputs), "same, not related", "different" (at
        the witness) or "not decided".
    reason
        One or two sentences.
    domain, bounded
        The domain in words, and whether it is bounded.
    tolerance
        Largest tolerance of all outputs; for "different", that at the witness.
    difference
        Largest difference known; the supremum over the domain where ``exact``.
    at_most
        Smallest number that provably no difference exceeds, or None.
    exact
        Whether ``difference`` is the supremum, up to rounding.
    witness
        Input [d] at which the networks differ by more than the tolerance, or None.
    relation
        Permutation and scales that relate the networks, where they were looked for.
    redundancies
        Units of each network that contribute nothing, as far as they were looked for.
    """

    verdict: Verdict
    reason: str
    domain: str
    bounded: bool
    tolerance: float
    difference: float
    at_most: float | None
    exact: bool
    witness: Tensor | None
    relation: Relation | None
    redundancies: tuple[tuple[Redundancy, ...], tuple[Redundancy, ...]] = ((), ())

    def _title(self) -> str:
        return f"{self.verdict} on {self.domain}"

    @property
    def same(self) -> bool:
        return self.verdict.startswith("same")
