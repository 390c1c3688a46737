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
    """The answer to the question whether two networks are the same function.

    verdict: "same and related" (by permutation and positive scaling, over all inputs), "same, not related",
    "different" (at the witness) or "not decided"; reason: in a sentence or two; domain: in words.
    Same means that no output differs by more than the tolerance anywhere on the domain; over all inputs differences
    are divided by max(1, |x|), the largest coordinate. tolerance: the largest of all outputs or, for "different", that
    at the witness. difference: the largest one known, the supremum over the domain where ``exact``; at_most: the
    smallest number that provably no difference exceeds, or None; witness: an input [d] where they differ by more than
    the tolerance there.
    redundancies: units of each network that do nothing, as far as they were looked for.
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
