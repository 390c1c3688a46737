"""What the statements of Phuong 2021, chapter 3 look at: a course of the flow, and what its data are, worked out
once.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.certificates.registry import Function, Subject
from tutelage.errors import TutelageError
from tutelage.margins.datasets import LAWS
from tutelage.margins.flow import NONE, MarginFlow, balanced_start, flow
from tutelage.margins.losses import Loss, loss_of
from tutelage.margins.max_margin import MaxMargins, max_margins
from tutelage.margins.orthogonal import Separability, separability
from tutelage.margins.sectors import extremal_sectors

SAME, CROSS = "least inner product within a class", "greatest inner product across classes"
BALANCED = 1e-12
"""Of a unit's length: within this the start counts as balanced."""


@dataclass(frozen=True, eq=False)
class MarginScene:
    """A course, and what is asked of its data again and again."""

    course: MarginFlow

    @property
    def members(self) -> int:
        return self.course.data.members

    @property
    def loss(self) -> Loss:
        return loss_of(self.course.loss)

    @cached_property
    def separability(self) -> Separability:
        return separability(self.course.data)

    @cached_property
    def sectors(self) -> tuple[Tensor, Tensor]:
        return extremal_sectors(self.course.data)

    @cached_property
    def margins(self) -> MaxMargins | str:
        """The max-margin vectors, or why there are none."""
        try:
            return max_margins(self.course.data)
        except TutelageError as error:
            return str(error)

    def separable(self, s: int) -> tuple[Condition, ...]:
        """Orthogonal separability of one member's data (Phuong 2021, eq. 3.1)."""
        pairs = self.separability
        same, cross = (tuple(pair[s].tolist()) for pair in (pairs.worst_same, pairs.worst_cross))
        counts = int(pairs.same_violations[s]), int(pairs.cross_violations[s])
        return (
            check(
                "same-class pairs that are not acute", counts[0], "<=", 0, f"{SAME} {pairs.same[s]:.3g}, pair {same}"
            ),
            check(
                "cross-class pairs that are acute", counts[1], "<=", 0, f"{CROSS} {pairs.cross[s]:.3g}, pair {cross}"
            ),
        )

    def balanced(self, s: int) -> Condition:
        """|a_j| = |w_j| at the first record of one member."""
        length = self.course.w[0, s].norm(dim=1)
        off = (self.course.a[0, s].abs() / length.clamp_min(1e-300) - 1).abs()
        return check("imbalance at the first record", float(off.max()), "<=", BALANCED, f"unit {int(off.argmax())}")

    def exponential(self) -> Condition:
        """The limits want a loss with an exponential tail."""
        return check("exponential tail of the loss", float(self.loss.exponential_tail), ">=", 1, self.course.loss)

    def grouped(self, s: int) -> Condition:
        """Lemma 3.1 has come true: every unit of one member is in J_0, J_+ or J_-."""
        outside = (self.course.groups[s] == NONE).nonzero().flatten().tolist()
        return check("units outside J_0, J_+ and J_-", len(outside), "<=", 0, f"units {outside}" if outside else "")

    def margins_exist(self) -> tuple[Condition, ...]:
        """A condition that is not met where there are no max-margin vectors, and nothing otherwise."""
        if isinstance(self.margins, MaxMargins):
            return ()
        return (check("both classes have a max margin", 0, ">=", 1, self.margins),)


def out_of_reach(why: str = "not evaluated, since there are no max-margin vectors") -> Condition:
    """A conclusion that was not looked up."""
    return unknown("conclusion", why)


def without_limit(scene: MarginScene) -> list[Finding]:
    """Findings where there are no max-margin vectors, and so no limit to look at."""
    part = Part("the limit", (), out_of_reach())
    return [Finding([part], (*scene.separable(s), *scene.margins_exist())) for s in range(scene.members)]


def _example(
    *,
    data: str = "cones",
    dimension: int = 3,
    units: int = 20,
    scale: float = 1e-4,
    seed: int = 0,
    log_time: float = 300.0,
) -> tuple[MarginFlow]:
    """A flow from a small balanced start to t = exp(log_time)."""
    points = LAWS[data]([seed], dimension=dimension)
    times = [-math.inf, *(t for t in (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 10.0, 30.0, 100.0) if t < log_time), log_time]
    return (flow(points, balanced_start([seed], units, dimension, scale), times),)


MARGINS = Subject(
    "margins",
    about="a flow of two-layer networks on labelled points (MarginFlow, or MarginScene)",
    accepts=lambda *about: len(about) == 1 and isinstance(about[0], MarginFlow | MarginScene),
    scenes=lambda about: [(0, about if isinstance(about, MarginScene) else MarginScene(about))],
    example=_example,
)


def margin_certificate(name: str, *, source: str) -> Any:
    """Register a function (scene, *, options) -> one finding per member."""
    return MARGINS.certificate(name, source=f"Phuong 2021, {source}")


__all__ = ["MARGINS", "Function", "margin_certificate"]
