"""What is asked about two networks on a box."""

from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Question:
    """limits: [C], the differences allowed, infinite for outputs that are not asked about; margin: of the top class.

    follow: how many times the largest difference found the limits grow to, where the question is how far apart the
    networks are; 0 where the limits stay. With a margin the question is whether the second network has the top class
    of the first wherever that exceeds the other classes by the margin or more; the limits are then infinite.
    """

    limits: Tensor
    margin: float | None = None
    follow: float = 0.0

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
        return bool(bounds.topk(2).values.sum() * (1 + 1e-12) <= self.margin)

    def refuted(self, first: list[Fraction], second: list[Fraction]) -> bool:
        """Whether exact outputs at one input answer with no."""
        if self.margin is None:
            limits = self.limits.tolist()
            asked = [(a, b, t) for a, b, t in zip(first, second, limits, strict=True) if t < float("inf")]
            return any(abs(a - b) > Fraction(t) for a, b, t in asked)
        top = max(range(len(first)), key=lambda c: first[c])
        lead = first[top] - max(v for c, v in enumerate(first) if c != top)
        return lead >= Fraction(self.margin) and max(second) > second[top]


def _lead(outputs: Tensor) -> Tensor:
    """Every output minus the largest other one: [N, C]."""
    two = outputs.topk(2, dim=1).values
    return outputs - torch.where(outputs == two[:, :1], two[:, 1:], two[:, :1])
