r"""The exact largest difference of two networks, over a bounded domain or over all inputs.

Over all inputs the measure is :math:`|a(x) - b(x)| / \max(1, |x|_\infty)`. With x = y / t the difference becomes
:math:`t\,(a - b)(y/t)`, which is a network of (y, t) without biases that is also defined at infinity, t = 0; the
measure is its size where max(t, |y|) = 1: on 2 d + 1 faces of a box, each a bounded domain in d dimensions.

A function that is affine on every region takes its extremes at vertices: the answer is exact up to the rounding of
vertices, which is in the room. The number of regions grows like (units)^d in d dimensions: this is for few inputs.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.functions.bounds.ranges import bounds, gains, reach, rounding, underflow
from tutelage.functions.checks import bias
from tutelage.functions.domain import Domain, box
from tutelage.functions.layers.joint import apart, homogeneous
from tutelage.functions.pieces.regions import BUDGET, Regions, enumerate_regions
from tutelage.functions.pieces.slices import slice_network
from tutelage.functions.rounding import ROUNDING, gamma
from tutelage.networks import Network, outputs
from tutelage.printing import printed

_BUDGETS = (1_000, 8_000, 64_000, 512_000, 4_096_000)  # regions, tried in turn where there is a time limit
_LONGER = 8  # times as long a budget takes as the one before
_COARSER = (1, 16, 256)  # times the rounding error: tried in turn where boundaries are too close to be told apart


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


def upper_bound(first: Network, second: Network, domain: Domain | None) -> Tensor:
    """Numbers that the difference of each output does not exceed, from intervals: [C]; cheap, and often far off."""
    both = apart(first, second)
    if domain is None:
        both, low = homogeneous(both), torch.full((1, first.inputs + 1), -1.0, dtype=torch.float64)
        low[:, -1] = 0
        around = Domain(low, torch.ones_like(low))
    else:
        around = domain.stacked()
    known = bounds(both, around)
    low, high = known[-1]
    # The weights of the difference are rounded where activations or depths were made alike.
    rounded = rounding(both, both.map(lambda a: a * (1 + gamma(0))), reach(both, around, known))
    most = torch.maximum(-low, high) + rounded + underflow(both, around)
    return most[0].nan_to_num(torch.inf, torch.inf).clamp_min(0)


def supremum(
    first: Network,
    second: Network,
    domain: Domain | None,
    budget: int = BUDGET,
    enough: float = torch.inf,
    deadline: Deadline | None = None,
) -> Supremum:
    """Largest difference of two networks over a domain, or over all inputs relative to max(1, |x|).

    Parameters
    ----------
    first, second
        Networks with one member each.
    domain
        None for all inputs.
    budget
        Largest number of regions.
    enough
        End the search over all inputs at a difference above this.
    deadline
        Time limit.

    Returns
    -------
    Supremum
        Exact up to ``room``.

    Raises
    ------
    TutelageError
        Beyond the budget or the deadline, and where boundaries of units are too close to be told apart.
    """
    both = apart(first, second)
    deadline = deadline or Deadline(None)
    if domain is not None:
        largest = _within_time(both, domain, budget, deadline)
        return Supremum(largest.value, largest.at, largest.room, largest.regions, True, largest.each)
    whole = homogeneous(both)
    best: Supremum | None = None
    for origin, axes, face in _faces(first.inputs):
        largest = _within_time(slice_network(whole, origin, axes), face, budget, deadline)
        largest = replace(largest, at=origin + largest.at @ axes)
        best = largest if best is None else _larger(best, largest)
        if best.value > enough:
            return replace(best, at=_finite(whole, best.at), complete=False)
    assert best is not None
    return replace(best, at=_finite(whole, best.at))


def _larger(first: Supremum, second: Supremum) -> Supremum:
    """Two parts of a domain together."""
    larger = second if second.value > first.value else first
    each, room = torch.maximum(first.each, second.each), max(first.room, second.room)
    return replace(larger, each=each, room=room, regions=first.regions + second.regions)


def _within_time(both: Network, domain: Domain, budget: int, deadline: Deadline) -> Supremum:
    """The supremum over one domain; with a deadline, for budgets that grow while time is left for the next one."""
    if deadline.seconds is None:
        return _over(both, domain, budget)
    # Enumeration cannot be stopped half-way with a bound, so that a limit is kept by asking for few regions first. A
    # budget takes about eight times as long as the one before, so that all attempts that failed cost a seventh of the
    # last.
    for part in (*(b for b in _BUDGETS if b < budget), budget):
        begin = time.monotonic()
        if deadline.passed:
            raise TutelageError(f"the {deadline.seconds:g} seconds for it were over")
        try:
            return _over(both, domain, part)
        except TutelageError:
            if part == budget:
                raise
        if _LONGER * (time.monotonic() - begin) > deadline.left:
            raise TutelageError(
                f"{part:,} regions did not suffice, and the {deadline.seconds:g} seconds for it are nearly over"
            )
    raise AssertionError


def _faces(d: int) -> Iterator[tuple[Tensor, Tensor, Domain]]:
    """Faces of the box |y| <= 1, 0 <= t <= 1 on which max(t, |y|) = 1: an origin, directions, where along these."""
    eye = torch.eye(d + 1, dtype=torch.float64)
    yield eye[d], eye[:d], box(-1, 1, dimension=d)
    low, high = -torch.ones(d, dtype=torch.float64), torch.ones(d, dtype=torch.float64)
    low[-1] = 0
    for i in range(d):
        others = eye[[k for k in range(d + 1) if k != i]]
        for side in (1, -1):
            yield side * eye[i], others, box(low, high)


def _finite(whole: Network, place: Tensor | None) -> Tensor:
    """An input for a point (y, t); at infinity one far out, where the measure is nearly that of the limit."""
    assert place is not None
    y, t = place[:-1], place[-1]
    if t > 0:
        return y / t
    # The limit at infinity is not reached by any input; one with 99 % of it shows the difference as well.
    wanted = 0.99 * outputs(whole, place[None]).abs().max()
    for power in range(1, 60):
        t = y.new_tensor(0.5**power)
        if outputs(whole, torch.cat([y, t[None]])[None]).abs().max() >= wanted:
            return y / t
    return y


def _over(both: Network, domain: Domain, budget: int) -> Supremum:
    """The largest size of any output over a domain, from the vertices of all regions."""
    regions, times = _regions(both, domain, budget)
    sizes = outputs(both, regions.vertices)[0].abs()  # what is affine on every region is largest at a vertex
    room = _room(both, domain, times * ROUNDING)
    at = regions.vertices[sizes.amax(1).argmax()]
    return Supremum(float(sizes.max()), at, room.max().item(), len(regions), True, sizes.amax(0) + room)


def _regions(both: Network, domain: Domain, budget: int) -> tuple[Regions, int]:
    last: TutelageError | None = None
    for times in _COARSER:
        try:
            return enumerate_regions(both, domain, budget, times * ROUNDING), times
        except TutelageError as error:
            # A coarser zero merges boundaries that rounding cannot tell apart. What that may hide is in the room, which
            # grows with it: two answers at most lie between exact and 256 times as coarse.
            if "rounding" not in str(error):
                raise
            last = error
    assert last is not None
    raise last


def _room(both: Network, domain: Domain, relative: float) -> Tensor:
    r"""What taking small pre-activations for 0 can hide, for each output: [C].

    Twice :math:`\sum_l e_l G_l`, errors of units times gains.

    On a region whose unit is at least -e at all corners the unit is at least -e throughout, so that the affine map of
    the region is off by no more than e times the gain, there and at the corners.
    """
    around = domain.stacked()
    sizes = reach(both, around, bounds(both, around))
    error = relative * sizes[0]
    total = torch.zeros(1, both.outputs, dtype=torch.float64)
    for layer, gain in enumerate(gains(both)):
        w = both.weights[layer].abs()
        step = torch.bmm(sizes[layer].unsqueeze(1), w).squeeze(1) + bias(both, layer).abs()
        error = torch.bmm(error.unsqueeze(1), w).squeeze(1) + max(relative, w.shape[1] * 2.0**-52) * step
        total = total + torch.bmm(error.unsqueeze(1), gain).squeeze(1)
    return (2 * total[0] + underflow(both, around)).nan_to_num(torch.inf, torch.inf)
