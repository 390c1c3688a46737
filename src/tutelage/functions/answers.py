"""What is asked about two networks on a box."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from tutelage.printing import printed

if TYPE_CHECKING:
    from tutelage.functions.bounds.normal import Redundancy
    from tutelage.functions.comparing.relation import Relation

Rooms = tuple[Tensor, Tensor]
OnClosing = Callable[[float, float, int], None]
"""Called with the proven bound, the largest difference found and the number of open parts."""
Verdict = Literal["holds", "violated", "not decided"]
Sameness = Literal["same and related", "same, not related", "different", "not decided"]


@dataclass(frozen=True, eq=False)
class Question:
    """limits: [C], the differences allowed, infinite for outputs that are not asked about; margin: of the top class.

    follow: how many times the largest difference found the limits grow to, where the question is how far apart the
    networks are; 0 where the limits stay. With a margin the question is whether the second network has the top class
    of the first wherever that exceeds the other classes by the margin or more; the limits are then infinite.

    rooms: two [C], how far either network may be from the one it was read from; limits that do not follow are smaller
    by both.
    """

    limits: Tensor
    margin: float | None = None
    follow: float = 0.0
    rooms: Rooms | None = None

    def with_rooms(self, rooms: Rooms) -> "Question":
        """The same question about the networks that were read."""
        smaller = torch.where(self.limits < torch.inf, self.limits - (rooms[0] + rooms[1]), self.limits)
        limits = self.limits if self.follow else smaller
        return replace(self, limits=limits, rooms=rooms)

    @property
    def room(self) -> Tensor:
        """How far the difference of the networks may be from that of those that were read: [C]."""
        return torch.zeros_like(self.limits) if self.rooms is None else self.rooms[0] + self.rooms[1]

    def excess(self, first: Tensor, second: Tensor) -> Tensor:
        """How far outputs [N, C] are from a yes: [N]; above 0 the answer is no."""
        if self.margin is None:
            return ((first - second).abs() - self.limits).amax(1)
        sure = _lead(first) - self.margin
        return torch.minimum(sure, -_lead(second)).amax(1)

    def proved_by(self, bounds: Tensor) -> bool:
        """Whether bounds on the differences of outputs [C] answer with yes."""
        if self.margin is None:
            return bool((bounds <= self.limits).all())
        return bool((bounds + self.room).topk(2).values.sum() * (1 + 1e-12) <= self.margin)

    def refuted(self, first: list[Fraction], second: list[Fraction]) -> bool:
        """Whether exact outputs at one input answer with no."""
        if not self.room.isfinite().all():
            return False
        if self.margin is None:
            rows = zip(first, second, self.limits.tolist(), self.room.tolist(), strict=True)
            return any(abs(a - b) > Fraction(t) + 2 * Fraction(r) for a, b, t, r in rows if t < float("inf"))
        of_f, of_g = (0, 0) if self.rooms is None else (2 * Fraction(room.max().item()) for room in self.rooms)
        top = max(range(len(first)), key=lambda c: first[c])
        lead = first[top] - max(v for c, v in enumerate(first) if c != top)
        return lead >= Fraction(self.margin) + of_f and max(second) > second[top] + of_g


def _lead(outputs: Tensor) -> Tensor:
    """Every output minus the largest other one: [N, C]."""
    two = outputs.topk(2, dim=1).values
    return outputs - torch.where(outputs == two[:, :1], two[:, 1:], two[:, :1])


@printed
@dataclass(frozen=True, eq=False)
class Deviation:
    """Largest difference of any output that was found.

    Attributes
    ----------
    value
        Per member, [S].
    at
        Input at which it was found, [S, d].
    """

    value: Tensor
    at: Tensor


@printed
@dataclass(frozen=True, eq=False)
class Supremum:
    """Largest difference of any output of two networks.

    Attributes
    ----------
    value, at
        The difference, and the input [d] where it occurs.
    room
        How much larger it may be because of rounding.
    regions
        Number of regions examined.
    complete
        Whether all were examined; otherwise the search ended at a difference that was large enough.
    each
        [C]: bound on the difference of every output, rounding included.
    """

    value: float
    at: Tensor
    room: float
    regions: int
    complete: bool
    each: Tensor


BY_FORM = 0
"""The number of parts of a proof that compares normal forms instead of bounding parts of the domain."""


@printed
@dataclass(frozen=True, eq=False)
class Closeness:
    """Answer to a question about two networks on a bounded domain.

    Attributes
    ----------
    verdict
        "holds" (proved for every input of the domain), "violated" (at the witness) or "not decided".
    question
        The claim in one sentence.
    reason
        How the verdict was reached, in one sentence.
    domain
        The domain in words.
    at_most
        [C]: no difference of an output exceeds this anywhere on the domain; infinite where nothing was proved.
    largest
        [C]: the largest differences found.
    witness
        Input [d] that violates the claim; for a bound without limit the input of the largest difference; or None.
    boxes
        Number of boxes, or of parts with some units on one side of their kinks, that were bounded.
    leaves
        (low, high), each [N, d]: the boxes that the proof consists of, where they were kept.
    untried
        What the search for a witness had no time for: "random points", "corners", "boundaries of units", "an ascent".
    """

    verdict: Verdict
    question: str
    reason: str
    domain: str
    at_most: Tensor
    largest: Tensor
    witness: Tensor | None
    boxes: int
    leaves: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    untried: tuple[str, ...] = ()

    def _title(self) -> str:
        return f"{self.question}: {self.verdict}"

    @property
    def holds(self) -> bool:
        return self.verdict == "holds"


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

    verdict: Sameness
    reason: str
    domain: str
    bounded: bool
    tolerance: float
    difference: float
    at_most: float | None
    exact: bool
    witness: Tensor | None
    relation: "Relation | None"
    redundancies: "tuple[tuple[Redundancy, ...], tuple[Redundancy, ...]]" = ((), ())

    def _title(self) -> str:
        return f"{self.verdict} on {self.domain}"

    @property
    def same(self) -> bool:
        return self.verdict.startswith("same")
