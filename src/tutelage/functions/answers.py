"""What is asked about two networks, and the one record in which every answer comes."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import InternalError
from tutelage.functions.checks import rounded_up
from tutelage.functions.rounding import values
from tutelage.networks import Network, SparseNetwork
from tutelage.printing import printed

if TYPE_CHECKING:
    from tutelage.functions.bounds.normal import Redundancy
    from tutelage.functions.comparing.relation import Relation

Rooms = tuple[Tensor, Tensor]
OnClosing = Callable[[float, float, int], None]
"""Called with the proven bound, the largest difference found and the number of open parts."""
Verdict = Literal["same and related", "same, not related", "different", "holds", "violated", "not decided"]
SAME = "both are the same function"
"""The question of :func:`same_function`."""


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


BY_FORM = 0
"""The number of parts of a proof that compares normal forms instead of bounding parts of the domain."""


@printed
@dataclass(frozen=True, eq=False)
class Answer:
    r"""Answer to a question about two networks on a domain: what holds there, and how far that is proved.

    Attributes
    ----------
    verdict
        Whether they are the same function: "same and related" (by permutation and positive scaling, over all inputs),
        "same, not related" or "different" (at the witness). A claim about a bounded domain: "holds" (proved for every
        input) or "violated" (at the witness). Or "not decided".
    question
        The question in one sentence.
    reason
        How the verdict was reached, in one or two sentences.
    domain, bounded
        The domain in words, and whether it is bounded. Over all inputs, differences are divided by
        :math:`\max(1, |x|_\infty)`.
    at_most
        [C]: no difference of an output exceeds this anywhere on the domain; infinite where nothing was proved.
    largest
        [C]: the largest differences found.
    witness
        Input [d] that violates the claim, or at which the networks differ by more than the tolerance; for a bound
        without limit the input of the largest difference; or None.
    outputs
        [C] of both networks at the witness, in float64.
    exact
        Whether the largest difference found is the largest there is, up to rounding.
    tolerance
        Differences up to this count as equal: the largest of all outputs, or that at the witness of "different"; None
        where the question has a limit of its own.
    relation
        Permutation and scales that relate the networks, where they were looked for.
    redundancies
        Units of each network that contribute nothing, as far as they were looked for.
    parts
        Number of boxes, or of parts with some units on one side of their kinks, that were bounded.
    leaves
        (low, high), each [N, d]: the boxes that the proof consists of, where they were kept.
    untried
        What the search for a witness had no time for: "random points", "corners", "boundaries of units", "an ascent".
    seconds
        Time that the answer took.
    """

    verdict: Verdict
    question: str
    reason: str
    domain: str
    at_most: Tensor
    largest: Tensor
    witness: Tensor | None = None
    bounded: bool = True
    outputs: tuple[Tensor, Tensor] | None = None
    exact: bool = False
    tolerance: float | None = None
    relation: "Relation | None" = None
    redundancies: "tuple[tuple[Redundancy, ...], tuple[Redundancy, ...]]" = ((), ())
    parts: int = 0
    leaves: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    untried: tuple[str, ...] = ()
    seconds: float = 0.0

    def _title(self) -> str:
        return f"{self.question}: {self.verdict} on {self.domain}"

    @property
    def holds(self) -> bool:
        return self.verdict == "holds"

    @property
    def same(self) -> bool:
        return self.verdict.startswith("same")

    @property
    def difference(self) -> float:
        """The largest difference found of any output."""
        return self.largest.max().item()

    @property
    def bound(self) -> float | None:
        """The smallest number that provably no difference of any output exceeds, or None."""
        most = self.at_most.max().item()
        return most if most < torch.inf else None

    def completed(self, first: Network | SparseNetwork, second: Network | SparseNetwork, since: float) -> "Answer":
        """With the outputs of both networks at the witness, and the time since a moment of the monotonic clock."""
        at, both = self.witness, None
        if at is not None:
            both = values(first, at[None])[0], values(second, at[None])[0]
        return replace(self, outputs=both, seconds=time.monotonic() - since)


def held_against(at_most: Tensor, gap: Tensor, error: Tensor) -> None:
    """Raise an internal error where differences found [C], known up to an error, exceed what was proved [C]."""
    if (gap - error > at_most).any():
        worst = int((gap - error - at_most).argmax())
        raise InternalError(
            f"output {worst} was proved to differ by at most {rounded_up(at_most[worst].item())}, but a search found a "
            f"difference of {gap[worst].item():.3g}"
        )
