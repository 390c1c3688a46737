"""The search for the largest difference of two stacks of networks.

Samples first, then an ascent from the best of each member. A lower bound, with no promise how near: it is there to hold
proofs against.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.deadline import NEVER, Deadline, rows_at_a_time
from tutelage.functions.checks import points_for
from tutelage.functions.domain import Domain
from tutelage.functions.search.hunt import ascent, gradient
from tutelage.networks import Network, outputs
from tutelage.printing import printed

_STARTS = 16  # points a member's ascent starts from


_CLIMB = 40  # steps of an ascent


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


def largest_deviation(
    first: Network, second: Network, box: Domain, points: Tensor | None = None, deadline: Deadline = NEVER
) -> Deviation:
    """Search for the largest difference of two networks: samples of a box and given points, then local ascent.

    Parameters
    ----------
    first, second
        Networks with S members each.
    box
        Inputs; unbounded sides are sampled near 0.
    points
        Further starting points [S, N, d] or [N, d].
    deadline
        When to end; a first few points are looked at within any.

    Returns
    -------
    Deviation
        A lower bound on the largest difference.
    """
    tried = box.sample(1024)
    if points is not None:
        tried = torch.cat([tried, points_for(first, points)], dim=1)
    rows = max(_STARTS, rows_at_a_time(sum(w.numel() for w in first.weights)))
    parts: list[Tensor] = []
    for part in tried.split(rows, dim=1):
        if parts and deadline.passed:
            break
        parts.append(_difference(first, second, part))
    difference = torch.cat(parts, dim=1)
    tried = tried[:, : difference.shape[1]]
    # Members climb side by side, each from its own best points: one product of matrices per step for all.
    best = difference.topk(min(_STARTS, tried.shape[1]), dim=1)
    x = tried.gather(1, best.indices.unsqueeze(2).expand(-1, -1, tried.shape[2]))
    value, x = _climb(first, second, box, x, best.values, deadline)
    top = value.argmax(1, keepdim=True)
    at = x.gather(1, top.unsqueeze(2).expand(-1, -1, x.shape[2]))
    return Deviation(value.gather(1, top).squeeze(1), at.squeeze(1))


def _difference(first: Network, second: Network, x: Tensor) -> Tensor:
    return (outputs(first, x) - outputs(second, x)).abs().nan_to_num(0.0).amax(2)  # 0 where both overflow


def _climb(
    first: Network, second: Network, box: Domain, x: Tensor, value: Tensor, deadline: Deadline
) -> tuple[Tensor, Tensor]:
    low, high = box.low.unsqueeze(1), box.high.unsqueeze(1)

    def look(points: Tensor) -> Tensor:
        return _difference(first, second, points)

    def into(points: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(points, low), high)

    step = (high - low).expand_as(x) / 4
    x, value = ascent(x, value, step, _CLIMB, look, lambda at: gradient(look, at), into, lambda: deadline.passed)
    return value, x
