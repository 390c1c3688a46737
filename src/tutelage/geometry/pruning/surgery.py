"""Removing what a network does not need, with a proof that the function stays the same or a bound on how far it moves.

Theorem 2 and Corollary 1 of seed 000 say why there is something to remove: units that are aligned with no teacher unit
end with no fan-out, and units aligned with the same one are co-linear.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.errors import Refusal
from tutelage.geometry.checks import bias, in_double, points_for
from tutelage.geometry.pruning.bounds import bounds
from tutelage.geometry.pruning.deviation import Deviation, largest_deviation, reach, rounding
from tutelage.geometry.pruning.folding import folded
from tutelage.geometry.pruning.intervals import Box, box_for, gamma
from tutelage.geometry.pruning.redundancy import VALID, Step, Valid, Work, colinear, constant, idle
from tutelage.networks import Network


@dataclass(frozen=True, eq=False)
class Proof:
    r"""Where the smaller network is the same function, and how far it can be off.

    domain: "all inputs", "the box", or "the points" when a step was only seen on samples; exact: whether every step
    keeps the function but for rounding; bound: [S], or None where there is none. With a box no output differs by more
    than the bound at any of its points; without, by no more than :math:`\mathrm{bound} \cdot \max(1, |x|_\infty)`.
    That is said of the functions; evaluating either of them adds rounding of its own.
    """

    domain: Valid
    exact: bool
    bound: Tensor | None
    boxed: bool

    def __str__(self) -> str:
        if self.bound is None:
            return "the same on the points; elsewhere nothing is proved: give a box for a bound"
        kind = "equal but for rounding" if self.exact else "changed"
        where = "over the box" if self.boxed else "times max(1, |x|), over all inputs"
        return f"{kind}: no output differs by more than {self.bound.max():.2g} {where}"


@dataclass(frozen=True, eq=False)
class Pruning:
    """A smaller network, what was done to get it, and how sure it is.

    network: as wide as the widest member; narrower members are filled up with units that do nothing. widths: int64
    [S, L-1], hidden units a member needs; kept: int64 [S, width] a hidden layer, the unit of the original that stands
    there (-1 for filling). deviation: the largest difference found by search. seen: units that were always (never)
    active on the points, without proof, and were left.
    """

    network: Network
    widths: Tensor
    kept: tuple[Tensor, ...]
    steps: tuple[Step, ...]
    proof: Proof
    deviation: Deviation
    seen: tuple[Step, ...] = ()


def prune(
    network: Network,
    points: Tensor | None = None,
    box: tuple | Box | None = None,
    tolerance: float = 0.0,
    *,
    on_samples: bool = False,
) -> Pruning:
    """The same function with fewer units: idle and constant ones removed, co-linear ones merged, linear ones folded.

    box: (low, high) inputs that matter, each a number or [d]; without, steps must hold for all inputs. tolerance: 0 for
    steps that change nothing but rounding; else units also count as idle when fan-out times weights is at most this
    share of the layer's largest, and as co-linear when weights scaled to length 1 differ by at most this. points
    [S, N, d] or [N, d]: units that never or always fire on them are told, and with on_samples removed.

    >>> w = torch.tensor([[[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]]], dtype=torch.float64)
    >>> small = prune(Network((w, torch.tensor([[[1.0], [1.0], [0.0]]], dtype=torch.float64))))
    >>> small.network.widths, [(s.unit, s.action, s.reason) for s in small.steps]
    ((2, 1, 1), [(2, 'removed', 'no fan-out'), (0, 'merged', 'co-linear with unit 1')])
    """
    if not 0 <= tolerance < 1:
        raise Refusal(f"a tolerance is a share in [0, 1), not {tolerance}")
    if on_samples and points is None:
        raise Refusal("removing what is only seen on samples needs points to see it on")
    double = in_double(network)
    if double.biases is None:
        double = replace(double, biases=tuple(bias(double, layer) for layer in range(double.depth)))
    shown = None if points is None else points_for(double, points)
    eps = 16 * torch.finfo(network.dtype).eps
    work = Work(double, box_for(double, box), shown, tolerance, eps, on_samples)
    while _pass(work):
        pass
    return _finished(network, double, work)


def _pass(work: Work) -> bool:
    """The first step that finds something in some layer, cheap and telling ones first; whether any did."""
    layers = range(1, work.network.depth)
    return (
        any(constant(work, layer) for layer in layers)
        or any(idle(work, layer) for layer in reversed(layers))
        or any(colinear(work, layer) for layer in layers)
        or any(folded(work, layer) for layer in reversed(layers))  # from above: folding changes the signs above it
    )


def _finished(original: Network, double: Network, work: Work) -> Pruning:
    """The result, in the precision of the original."""
    small, kept = _compressed(work)
    if original.biases is None and not any(b.any() for b in small.biases or ()):
        small = replace(small, biases=None)
    result = small.to(dtype=original.dtype)
    again = result.to(dtype=torch.float64)
    known = bounds(again, work.box) if work.box.bounded else ()
    moved = work.moved + rounding(small, again, reach(again, work.box, known))
    bound = moved.amax(1) * (1 + gamma(sum(original.widths)))
    return Pruning(
        result.to(device=original.device),
        torch.stack([alive.sum(1) for alive in work.alive], dim=1) if work.alive else torch.zeros(original.members, 0),
        kept,
        tuple(sorted(work.steps, key=lambda s: (s.member, s.layer))),
        Proof(
            max((s.valid for s in work.steps), key=VALID.index, default="all inputs"),
            all(s.exact for s in work.steps),
            bound if bound.isfinite().all() else None,
            work.box.bounded,
        ),
        largest_deviation(double, again, _searched(work), work.points),
        _seen(work),
    )


def _compressed(work: Work) -> tuple[Network, tuple[Tensor, ...]]:
    """The units that are left, side by side, and which they were; a layer without any keeps one that does nothing."""
    weights, biases, kept = list(work.network.weights), list(work.network.biases or ()), []
    for layer, alive in enumerate(work.alive):
        width = max(1, int(alive.sum(1).max()))
        order = (~alive).int().argsort(dim=1, stable=True)[:, :width]
        into, out = weights[layer], weights[layer + 1]
        weights[layer] = into.gather(2, order.unsqueeze(1).expand(-1, into.shape[1], -1))
        weights[layer + 1] = out.gather(1, order.unsqueeze(2).expand(-1, -1, out.shape[2]))
        biases[layer] = biases[layer].gather(1, order)
        kept.append(torch.where(alive.gather(1, order), order, -1))
    return replace(work.network, weights=tuple(weights), biases=tuple(biases)), tuple(kept)


def _searched(work: Work) -> Box:
    """Where deviations are looked for: the box, or around the points, or -1 to 1."""
    if work.box.bounded:
        return work.box
    if work.points is not None:
        return Box(work.points.amin(1), work.points.amax(1))
    return Box(-torch.ones_like(work.box.low), torch.ones_like(work.box.low))


def _seen(work: Work) -> tuple[Step, ...]:
    """Units left that never or always fire on the points."""
    found = []
    for layer in range(1, work.network.depth):
        u = work.view.on_points(layer)
        if u is None or work.network.activation == "linear":
            continue
        for words, same in (("never active on the points", u <= 0), ("always active on the points", u > 0)):
            for member, unit in (same.all(1) & work.alive[layer - 1]).nonzero().tolist():
                found.append(Step(member, layer, unit, "seen", words, "the points", None, False))
    return tuple(found)
