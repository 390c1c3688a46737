"""Removing what a network does not need, with a proof that the function stays the same or a bound on how far it moves.

Theorem 2 and Corollary 1 of Tian 2020 say why there is something to remove: units that are aligned with no teacher unit
end with no fan-out, and units aligned with the same one are co-linear.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.errors import InternalError, TutelageError
from tutelage.functions.checks import Deadline, as_network, bias, in_double, points_for, rounded_up
from tutelage.functions.evaluation import difference_with_error, with_error
from tutelage.functions.pruning.bounds import underflow
from tutelage.functions.pruning.deviation import Deviation, largest_deviation
from tutelage.functions.pruning.folding import folded
from tutelage.functions.pruning.intervals import Box, box_for, gamma
from tutelage.functions.pruning.redundancy import VALID, Step, Valid, Work, colinear, constant, idle
from tutelage.networks import Network
from tutelage.printing import printed

_EPS = 16 * torch.finfo(torch.float64).eps
"""Two weights count as equal, and a sum as cancelled, up to this share; stored weights of any precision are exact."""
_SMALLEST_SHARE, _LARGEST_SHARE = 1e-9, 2.0**-10  # of an output's variation that may be called rounding
_SAMPLES = 256  # points on which the variation is measured


@printed
@dataclass(frozen=True, eq=False)
class PruningProof:
    r"""Where the smaller network is the same function, and how far it can be off.

    Attributes
    ----------
    domain
        "all inputs", "the box", or "the points" where a step was only seen on samples.
    exact
        Whether every step keeps the function up to rounding, that of storing new weights included.
    bound
        [S]: no output differs by more at any point of the box; without a box, by no more than this times
        :math:`\max(1, |x|_\infty)`. None where there is no bound. It is a bound on the functions of the stored weights
        in exact arithmetic; evaluating either network adds rounding.
    boxed
        Whether there is a box.
    """

    domain: Valid
    exact: bool
    bound: Tensor | None
    boxed: bool

    def __str__(self) -> str:
        if self.bound is None:
            return "the same on the points; elsewhere nothing is proved: give a box for a bound"
        where = "over the box" if self.boxed else "times max(1, |x|), over all inputs"
        if not self.bound.any():
            return f"equal: no output differs {'over the box' if self.boxed else 'for any input'}"
        kind = "equal up to rounding" if self.exact else "changed"
        return f"{kind}: no output differs by more than {rounded_up(self.bound.max().item())} {where}"


@printed
@dataclass(frozen=True, eq=False)
class Pruning:
    """A smaller network, the steps that led to it, and the proof.

    Attributes
    ----------
    network
        As wide as the widest member; narrower members are filled up with units that contribute nothing.
    widths
        int64 [S, L-1]: hidden units that each member needs.
    kept
        int64 [S, width] per hidden layer: the unit of the original, -1 for filling.
    steps
        What was removed, merged or folded, and why.
    proof
        Where the function is kept, and how far it can be off.
    deviation
        Largest difference found by search.
    seen
        Units that were always (or never) active on the points, without proof, and were kept.
    """

    network: Network
    widths: Tensor
    kept: tuple[Tensor, ...]
    steps: tuple[Step, ...]
    proof: PruningProof
    deviation: Deviation
    seen: tuple[Step, ...] = ()

    def _title(self) -> str:
        return f"{len(self.steps)} units removed or merged; {self.proof}"


def prune(
    network: Network,
    points: Tensor | None = None,
    box: tuple | Box | None = None,
    tolerance: float = 0.0,
    *,
    on_samples: bool = False,
    seconds: float | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Pruning:
    """Remove units without changing the function, with a proof.

    Idle and constant units are removed, co-linear ones merged, linear ones folded into the next layer. With tolerance 0
    and without ``on_samples`` a step is made only if all steps together provably change no output by more than
    rounding: a small share of how much that output varies, the rounding of the stored weights included.

    Parameters
    ----------
    network
        S members.
    points
        Inputs [S, N, d] or [N, d]: units that never or always fire on them are reported.
    box
        (low, high), inputs that matter, each a number or [d]; default: all inputs.
    tolerance
        Above 0, units also count as idle when fan-out times weights is at most this share of the layer's largest, and
        as co-linear when weights scaled to length 1 differ by at most this.
    on_samples
        Whether to remove units on the evidence of the points alone.
    seconds
        Time limit; the steps made so far are then the result.
    on_progress
        Called with the share of units removed.

    Returns
    -------
    Pruning

    Examples
    --------
    >>> w = torch.tensor([[[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]]], dtype=torch.float64)
    >>> small = prune(Network((w, torch.tensor([[[1.0], [1.0], [0.0]]], dtype=torch.float64))))
    >>> small.network.widths, [(s.unit, s.action, s.reason) for s in small.steps]
    ((2, 1, 1), [(2, 'removed', 'no fan-out'), (0, 'merged', 'co-linear with unit 1')])
    """
    if not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise TutelageError(f"tolerance must be a number from 0 to below 1, got {tolerance!r}")
    if on_samples and points is None:
        raise TutelageError("on_samples=True needs points: pass the inputs to look at")
    deadline = Deadline(seconds)
    network = as_network(network)
    double = in_double(network)
    if double.biases is None:
        double = replace(double, biases=tuple(bias(double, layer) for layer in range(double.depth)))
    shown = None if points is None else points_for(double, points)
    work = Work(double, box_for(double, box), shown, tolerance, _EPS, on_samples, network.dtype)
    work.slack = 4 * underflow(double, work.box)
    work.allowed = _allowed(double, _searched(work), network.dtype)
    total = max(1, sum(network.widths[1:-1]) * network.members)
    while not deadline.passed and _pass(work):
        if on_progress:
            on_progress(len(work.steps) / total)
    return _finished(network, double, work)


def _allowed(network: Network, box: Box, dtype: torch.dtype) -> Tensor:
    """How far outputs may move and the function still count as equal up to rounding: [S, C].

    A share of how much an output varies over the box, which is small even where the precision is coarse, and some
    roundings of its value in float64.
    """
    share = min(_LARGEST_SHARE, max(_SMALLEST_SHARE, 2.0**10 * torch.finfo(dtype).eps))
    value, error = with_error(network, box.sample(_SAMPLES))
    spread = ((value - error).amax(1) - (value + error).amin(1)).clamp_min(0)
    size = (value.abs() - error).amax(1).clamp_min(0)
    return share * spread + 32 * _EPS * size


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
    bound = work.moved.amax(1) * (1 + gamma(4 * sum(original.widths) + 16 * original.depth))
    proof = PruningProof(
        max((s.valid for s in work.steps), key=VALID.index, default="all inputs"),
        all(s.exact for s in work.steps) and bool(bound.isfinite().all()),
        bound if bound.isfinite().all() else None,
        work.box.bounded,
    )
    found = largest_deviation(double, small, _searched(work), work.points)
    _hold_against(proof, double, small, found)
    return Pruning(
        result.to(device=original.device),
        torch.stack([alive.sum(1) for alive in work.alive], dim=1)
        if work.alive
        else torch.zeros(original.members, 0, dtype=torch.int64),
        kept,
        tuple(sorted(work.steps, key=lambda s: (s.member, s.layer))),
        proof,
        found,
        _seen(work),
    )


def _hold_against(proof: PruningProof, before: Network, after: Network, found: Deviation) -> None:
    """Raise an internal error if the search found a difference above the proven bound."""
    if proof.bound is None:
        return
    gap, error = difference_with_error(before, after, found.at.unsqueeze(1))
    size = 1.0 if proof.boxed else found.at.abs().amax(1).clamp_min(1)
    above = (gap - error).amax((1, 2)) > proof.bound * size
    if above.any():
        member = int(above.nonzero()[0])
        raise InternalError(
            f"pruning proved that no output differs by more than {proof.bound[member]:.3g}, "
            f"but a search found a difference of {found.value[member]:.3g}"
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
