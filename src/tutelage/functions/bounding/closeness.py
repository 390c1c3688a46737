"""The record of an answer about two networks on a bounded domain."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from tutelage.functions.comparing.wording import in_words
from tutelage.functions.search import Hunt
from tutelage.printing import printed

Verdict = Literal["holds", "violated", "not decided"]

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


def closeness_of(
    hunt: Hunt,
    words: str,
    at_most: Tensor,
    proved: bool,
    parts: int,
    leaves: tuple[np.ndarray, np.ndarray] | None,
) -> Closeness:
    """The answer in words, from what a search and bounds [C] came to."""
    verdict: Verdict = "violated" if hunt.refuted else "holds" if proved else "not decided"
    reason = {
        "violated": "an input was found that violates it, beyond any rounding",
        "holds": "one is the other with units moved, scaled, removed or merged, up to rounding"
        if parts == BY_FORM
        else f"proved on {parts:,} parts"
        if parts > 1
        else "proved by bounds on the whole domain",
        "not decided": f"{parts:,} parts were bounded, and some are left: more time or a smaller domain may help"
        if parts > 1
        else "bounds on the whole domain leave it open: more time or a smaller domain may help"
        if parts
        else "the time did not suffice for a bound: more time may help",
    }[verdict]
    if hunt.untried and verdict == "not decided":
        reason += f"; the search had no time for {', '.join(hunt.untried)}"
    witness = hunt.at if hunt.refuted or hunt.question.follow else None
    largest = torch.minimum(hunt.largest, at_most)  # what a search finds above the bound is rounding
    return Closeness(
        verdict, words, reason, in_words(hunt.domain), at_most, largest, witness, parts, leaves, tuple(hunt.untried)
    )
