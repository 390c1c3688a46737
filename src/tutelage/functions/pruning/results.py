"""What pruning returns: the smaller network, where its units come from, the steps, and the proof."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.deadline import NEVER
from tutelage.errors import InternalError
from tutelage.functions.checks import rounded_up
from tutelage.functions.domain import Domain
from tutelage.functions.pruning.normalising import Names, Normalised
from tutelage.functions.pruning.redundancy import VALID, Step, Valid, Work
from tutelage.functions.pruning.stability import Decided
from tutelage.functions.rounding import difference_with_error, gamma
from tutelage.functions.search.stacks import Deviation, largest_deviation
from tutelage.networks import Network, outputs
from tutelage.printing import printed


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
class Samples:
    """How a network and its pruned version agree on given samples.

    Attributes
    ----------
    count
        Number of samples.
    same_class
        int64 [S]: samples on which both have the same top class; None for one output.
    largest
        [S]: largest difference of any output on any sample.
    """

    count: int
    same_class: Tensor | None
    largest: Tensor

    def __str__(self) -> str:
        if self.same_class is None:
            return f"no output differs by more than {rounded_up(self.largest.max().item())} on {self.count:,} samples"
        least = int(self.same_class.min())
        on = f"all {self.count:,} samples" if least == self.count else f"{least:,} of {self.count:,} samples"
        return f"agrees on the top class on {on}"


@printed
@dataclass(frozen=True, eq=False)
class Pruning:
    """A smaller network, the steps that led to it, and the proof.

    Attributes
    ----------
    network
        As wide as the widest member; narrower members are filled up with units that contribute nothing. It may have
        fewer layers than the original.
    widths
        int64 [S, L-1]: hidden units that each member needs.
    kept
        int64 [S, width] per hidden layer: the unit of the original, -1 for filling and for new units.
    steps
        What was removed, merged or folded, and why.
    proof
        Where the function is kept, and how far it can be off.
    deviation
        Largest difference found by search.
    seen
        Units that were always (or never) active on the points, without proof, and were kept.
    layers
        int64 [S, width] per hidden layer: the layer of the original that the unit was in, from 1; -1 as in ``kept``.
    samples
        How both networks agree on the points, where points were given.
    decided
        How the units of every member and hidden layer were decided on the box; empty without a box.
    cut_short
        The time limit in seconds, where it ended the search for units to remove; None where nothing was left to try.
    """

    network: Network
    widths: Tensor
    kept: tuple[Tensor, ...]
    steps: tuple[Step, ...]
    proof: PruningProof
    deviation: Deviation
    seen: tuple[Step, ...] = ()
    layers: tuple[Tensor, ...] = ()
    samples: Samples | None = None
    decided: tuple[Decided, ...] = ()
    cut_short: float | None = None

    def _title(self) -> str:
        return f"{len(self.steps)} units removed or merged; {self.proof}{self.limit}"

    @property
    def limit(self) -> str:
        """What a time limit left open, as the end of a sentence; nothing where it left nothing."""
        if self.cut_short is None:
            return ""
        return f"; the time limit of {self.cut_short:g} seconds ended the search, so that more units may be redundant"


def finished(
    original: Network, double: Network, work: Work, numbers: tuple[int, ...], joining: Tensor, built: Normalised | None
) -> Pruning:
    """The result, in the precision of the original.

    numbers: the layer that each hidden layer was; joining: [S, C], how far joining layers has moved the outputs; built:
    the networks built again from their normal forms, if that is the result.
    """
    joined = _joined(double, numbers, joining)
    small, origins = _compressed(work) if built is None else (built.network, built.names)
    if original.biases is None and not any(b.any() for b in small.biases or ()):
        small = replace(small, biases=None)
    bound = work.moved.amax(1) * (1 + gamma(4 * sum(original.widths) + 16 * original.depth))
    proof = PruningProof(
        max((s.valid for s in work.steps), key=VALID.index, default="all inputs"),
        all(s.exact for s in work.steps) and bool(bound.isfinite().all()),
        bound if bound.isfinite().all() else None,
        work.box.bounded,
    )
    inside = None if work.points is None else _into(work.box, work.points)
    # Every proof is held against a search: a difference above the bound is an error of this library, not of the user.
    deviation = largest_deviation(double, small, searched(work.box, inside), inside, work.deadline or NEVER)
    _hold_against(proof, double, small, deviation)
    widths, kept, layers = _origins(small, origins, numbers)
    steps = joined + [replace(s, layer=numbers[s.layer - 1]) for s in work.steps]
    named = {(m, *name) for m, rows in enumerate(origins) for row in rows for name in row if name}
    on_points = [s for s in _seen(work) if (s.member, s.layer, s.unit) in named]
    return Pruning(
        small.to(dtype=original.dtype).to(device=original.device),
        widths,
        kept,
        tuple(sorted(steps, key=lambda s: (s.member, s.layer))),
        proof,
        deviation,
        tuple(replace(s, layer=numbers[s.layer - 1]) for s in on_points),
        layers,
        None if work.points is None else _on_samples(double, small, work.points),
    )


def _into(box: Domain, points: Tensor) -> Tensor:
    """Points moved to the nearest ones of the box, outside of which nothing is proved."""
    return torch.minimum(torch.maximum(points, box.low.unsqueeze(1)), box.high.unsqueeze(1))


def _on_samples(before: Network, after: Network, points: Tensor) -> Samples:
    a, b = outputs(before, points), outputs(after, points)
    same = None if before.outputs == 1 else (a.argmax(2) == b.argmax(2)).sum(1)
    return Samples(points.shape[1], same, (a - b).abs().amax((1, 2)))


def _hold_against(proof: PruningProof, before: Network, after: Network, deviation: Deviation) -> None:
    """Raise an internal error if the search found a difference above the proven bound."""
    if proof.bound is None:
        return
    gap, error = difference_with_error(before, after, deviation.at.unsqueeze(1))
    size = 1.0 if proof.boxed else deviation.at.abs().amax(1).clamp_min(1)
    above = (gap - error).amax((1, 2)) > proof.bound * size
    if above.any():
        member = int(above.nonzero()[0])
        raise InternalError(
            f"pruning proved that no output differs by more than {proof.bound[member]:.3g}, "
            f"but a search found a difference of {deviation.value[member]:.3g}"
        )


def _joined(double: Network, numbers: tuple[int, ...], moved: Tensor) -> list[Step]:
    """The units of layers that were joined with the one above before the first step."""
    reason, bound = "split, and put together by the layer above", moved.max().item()
    gone = sorted(set(range(1, double.depth)) - set(numbers))
    return [
        Step(0, layer, unit, "rewritten", reason, "all inputs", bound, True)
        for layer in gone
        for unit in range(double.widths[layer])
    ]


def _compressed(work: Work) -> tuple[Network, Names]:
    """The units that are left, side by side, and which they were; a layer without any keeps one that does nothing."""
    weights, biases = list(work.network.weights), list(work.network.biases or ())
    names: list[list] = [[] for _ in range(work.network.members)]
    for layer, alive in enumerate(work.alive):
        width = max(1, int(alive.sum(1).max()))
        # A stable sort keeps units in their order; members with fewer units are filled up with units that do nothing.
        order = (~alive).int().argsort(dim=1, stable=True)[:, :width]
        into, out = weights[layer], weights[layer + 1]
        weights[layer] = into.gather(2, order.unsqueeze(1).expand(-1, into.shape[1], -1))
        weights[layer + 1] = out.gather(1, order.unsqueeze(2).expand(-1, -1, out.shape[2]))
        biases[layer] = biases[layer].gather(1, order)
        for member, mask in enumerate(alive):
            names[member].append(tuple((layer + 1, k) for k in mask.nonzero().flatten().tolist()))
    return replace(work.network, weights=tuple(weights), biases=tuple(biases)), tuple(map(tuple, names))


def _origins(
    small: Network, origins: Names, numbers: tuple[int, ...]
) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Widths [S, L-1] of all members, and per hidden layer the unit and the layer each unit was [S, width]."""
    widths = torch.tensor([[len(layer) for layer in member] for member in origins], dtype=torch.int64)
    widths = widths.view(small.members, small.depth - 1)
    kept, layers = [], []
    for layer, width in enumerate(small.widths[1:-1]):
        unit, came = (torch.full((small.members, width), -1) for _ in range(2))
        for member, named in enumerate(origins):
            for place, name in enumerate(named[layer]):
                if name:
                    came[member, place], unit[member, place] = numbers[name[0] - 1], name[1]
        kept.append(unit)
        layers.append(came)
    return widths, tuple(kept), tuple(layers)


def searched(box: Domain, points: Tensor | None) -> Domain:
    """Where deviations are looked for: the box, or around the points, or -1 to 1."""
    if box.bounded:
        return box
    if points is not None:
        return Domain(points.amin(1), points.amax(1))
    return Domain(-torch.ones_like(box.low), torch.ones_like(box.low))


def _seen(work: Work) -> tuple[Step, ...]:
    """Units left that never or always fire on the points."""
    steps = []
    for layer in range(1, work.network.depth):
        u = work.view.on_points(layer)
        if u is None or work.network.activation == "linear":
            continue
        for words, same in (("never active on the points", u <= 0), ("always active on the points", u > 0)):
            for member, unit in (same.all(1) & work.alive[layer - 1]).nonzero().tolist():
                steps.append(Step(member, layer, unit, "seen", words, "the points", None, False))
    return tuple(steps)
