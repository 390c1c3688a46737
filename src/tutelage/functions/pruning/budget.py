"""Units removed within a budget: as many as the proven change of the outputs allows, the cheapest first.

A unit becomes the constant in the middle of its range on the box. What that can do to the outputs is bounded by half
the range, times the absolute weights on every way up. The bounds of single steps add up to more than all of them do
together, so the difference of the two networks is bounded as a whole now and then, which makes room for more.

Guaranteed is the proven bound, not that as many units go as could: the order is greedy. Each pass bounds all units of a
layer at once, from ranges and gains that are at hand.
"""

import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.bounds.branch_units import branch
from tutelage.functions.checks import bias, rounded_up
from tutelage.functions.layers.joint import apart
from tutelage.functions.pruning.redundancy import Work
from tutelage.functions.relaxations import activated
from tutelage.functions.rounding import EPS, gamma
from tutelage.networks import Network

_ROUNDS = 6  # of removing units and bounding the difference as a whole


def spend(original: Network, work: Work, within: float, deadline: Deadline) -> None:
    """Remove units as long as no output provably moves by more than ``within`` on the box."""
    for _ in range(_ROUNDS):
        before = len(work.steps)
        while not deadline.passed and work.attempt(
            lambda: any(_remove(work, layer, within) for layer in _cheapest(work, within))
        ):
            pass
        if len(work.steps) == before or deadline.passed:
            return
        work.attempt(lambda: _bound_anew(original, work, deadline))


def _bound_anew(original: Network, work: Work, deadline: Deadline) -> bool:
    """Bound the difference as a whole, which makes room for more."""
    work.moved = torch.minimum(work.moved, _as_a_whole(original, work, deadline))
    return True


def _costs(work: Work, layer: int) -> tuple[Tensor, Tensor, Tensor]:
    """What replacing each unit of a layer (from 1) by a constant moves: the constants [S, n], the pre-activations above
    [S, n, n_above] and the outputs [S, n, C]."""
    low, high = activated(work.network, work.view.known[layer - 1])
    middle = torch.where(low == high, low, 0.5 * low + 0.5 * high)
    v, above = work.network.weights[layer], bias(work.network, layer)
    half = torch.maximum(high - middle, middle - low) * (1 + 4 * EPS)
    size = (middle.unsqueeze(2) * v).abs() + above.abs().unsqueeze(1)
    rounding = (gamma(v.shape[1]) + torch.finfo(work.dtype).eps) * size
    delta = half.unsqueeze(2) * v.abs() + rounding
    alive = work.alive[layer - 1]
    return middle, delta, work.cost(layer, delta, alive, alive)


def _cheapest(work: Work, within: float) -> list[int]:
    """The layers that have a unit to spare, the one with the cheapest unit first."""
    least = []
    for layer in range(1, work.network.depth):
        cost = (_costs(work, layer)[2] + work.moved.unsqueeze(1)).amax(2)
        best = cost.masked_fill(~work.alive[layer - 1], torch.inf).min().item()
        least.append((best, layer))
    return [layer for cost, layer in sorted(least) if cost <= within]


def _remove(work: Work, layer: int, within: float) -> bool:
    """Remove the cheapest units of a layer whose costs together stay within half of what is left; whether any did."""
    middle, delta, cost = _costs(work, layer)
    alive = work.alive[layer - 1]
    worst = cost.amax(2).masked_fill(~alive, torch.inf)
    order = worst.argsort(1)
    summed = cost.gather(1, order.unsqueeze(2).expand_as(cost)).cumsum(1).nan_to_num(torch.inf, torch.inf)
    left = (within - work.moved).unsqueeze(1)
    # Half of what is left at a time: the cheapest units of another layer may be cheaper than the rest of these, and
    # costs of the layers are bounded anew in between. A single unit may take all of it, or nothing would go at the end.
    fits = (summed * (1 + gamma(alive.shape[1])) <= 0.5 * left).all(2)
    fits[:, 0] |= (summed[:, 0] * (1 + gamma(1)) <= left[:, 0]).all(1)
    gone = torch.zeros_like(alive).scatter(1, order, fits) & alive & (worst < torch.inf)
    if not gone.any():
        return False
    w, b, v, above = work.arrays(layer)
    summed = above + torch.einsum("sn,snc->sc", middle.masked_fill(~gone, 0), v)
    joined = work.stored(summed)
    if not ((joined - summed).abs() <= torch.finfo(work.dtype).eps * summed.abs()).all():
        return False  # overflow, or numbers so small that their rounding is not relative
    low, high = activated(work.network, work.view.known[layer - 1])
    work.tell(
        layer,
        cost.masked_fill(~gone.unsqueeze(2), 0),
        gone,
        torch.ones_like(gone, dtype=torch.int64),
        torch.zeros_like(gone),
        "removed",
        lambda s, k: f"varies by no more than {rounded_up((high - low)[s, k].item())}, within the budget",
    )
    work.put(layer, w, b, v, joined, gone, delta.masked_fill(~gone.unsqueeze(2), 0).sum(1))
    return True


def _as_a_whole(original: Network, work: Work, deadline: Deadline) -> Tensor:
    """A bound on the difference of both networks over the box from linear bounds of it: [S, C]."""
    bounds = torch.full_like(work.moved, torch.inf)
    if work.network.activation != "relu":
        return bounds
    eye = torch.eye(original.outputs, dtype=torch.float64)
    objectives = torch.cat([eye, -eye])
    never = torch.full((len(objectives),), -torch.inf, dtype=torch.float64)
    for member in range(original.members):
        pair = original[member], work.network[member]
        both = branch(
            apart(*pair), work.box.low[member], work.box.high[member], objectives, never, deadline, stop=lambda: True
        ).bounds
        rounded = EPS * sum(bias(n, n.depth - 1)[0].abs() for n in pair)
        largest = torch.maximum(both[: original.outputs], both[original.outputs :]).clamp_min(0)
        bounds[member] = (largest + rounded) * (1 + 4 * EPS)
    return bounds.nan_to_num(torch.inf, torch.inf)
