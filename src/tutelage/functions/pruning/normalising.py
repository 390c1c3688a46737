"""Networks built again from their normal form, where that has fewer units or layers than taking units out one by one.

The normal form (:mod:`tutelage.functions.bounds.normal`) turns units round, adds up what they have in common and
moves units to the layer they belong to. That undoes units that were split into two with opposite signs and put together
by a layer of their own, which no step on one layer can see.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.functions.bounds.normal import WORDS, Redundancy, normal_form
from tutelage.functions.bounds.ranges import bounds, gains, reach, rounding, underflow
from tutelage.functions.checks import bias
from tutelage.functions.domain import Domain
from tutelage.functions.layers.collapsing import collapsed
from tutelage.functions.layers.pairs import layers_from
from tutelage.functions.pruning.rebuilding import Rebuilt, layered
from tutelage.functions.pruning.redundancy import Step, Work
from tutelage.functions.relaxations import Interval
from tutelage.functions.rounding import gamma, stored_eps
from tutelage.networks import Network

LARGEST = 1 << 22
"""The most weights of a network whose normal form is worked out."""
Names = tuple[tuple[tuple[tuple[int, int] | None, ...], ...], ...]
"""(layer, unit) per member, hidden layer and unit."""
_GONE = "only hands on what other units can be written with"


@dataclass(frozen=True, eq=False)
class Normalised:
    """Networks in float64 that store without rounding, and where their units come from.

    names: the (layer, unit) of every hidden unit, None for new ones, per member and layer; moved: [S, C], how far
    outputs can have moved.
    """

    network: Network
    names: Names
    moved: Tensor
    steps: tuple[Step, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Number of hidden units of all members, and of weights of a member."""
        return sum(len(layer) for member in self.names for layer in member), weight_count(self.network)


def unsplit(network: Network, box: Domain, dtype: torch.dtype) -> tuple[Network, tuple[int, ...], Tensor]:
    """A network of one member without layers that put together what the layer below took apart.

    Returns the network in weights that the precision stores, the layer (from 1) that each of its hidden layers was, and
    by how much outputs can move [S, C].
    """
    numbers, none = list(range(1, network.depth)), torch.zeros(network.members, network.outputs, dtype=torch.float64)
    if network.members != 1 or network.activation != "relu":
        return network, tuple(numbers), none
    layers, at = layers_from(network), 0
    # Three layers at a time, since a join looks at two and needs one above; `at` stays after a join, as in
    # `collapsing`, and the numbers of the layers that are left are kept beside them.
    while at + 2 < len(layers):
        joined = collapsed(layers[at : at + 3])
        if len(joined) == 2:
            layers[at : at + 3] = joined
            del numbers[at]
        else:
            at += 1
    if len(layers) == network.depth:
        return network, tuple(numbers), none
    weights = tuple(torch.from_numpy(layer.w.T.copy()).unsqueeze(0) for layer in layers)
    biases = tuple(torch.from_numpy(layer.b.copy()).unsqueeze(0) for layer in layers)
    small = replace(network, weights=weights, biases=biases)
    pairs = zip(gains(small), layers, strict=True)
    moved = sum((torch.from_numpy(layer.slack).view(1, 1, -1) @ gain for gain, layer in pairs), none.unsqueeze(1))
    stored = small.map(lambda a: a.to(dtype).to(torch.float64))
    if not all(torch.equal(a, b) for a, b in zip(small.parameters, stored.parameters, strict=True)):
        known = bounds(stored, box) if box.bounded else ()
        moved = moved + rounding(small, stored, reach(stored, box, known)).unsqueeze(1) + underflow(small, box)
    return stored, tuple(numbers), moved.squeeze(1) * (1 + gamma(4 * sum(network.widths)))


def normalised(work: Work) -> Normalised | None:
    """All members built again from their normal forms; None unless that makes them smaller and is within rounding."""
    network = work.network
    if network.activation not in ("relu", "linear") or weight_count(network) > LARGEST:
        return None
    built, smaller = [], False
    for member in range(network.members):
        alive, names = _alive(work, member)
        box = Domain(work.box.low[member : member + 1], work.box.high[member : member + 1])
        form, redundant = normal_form(alive, box, stored_eps(work.dtype), _known(work, member, names))
        new = layered(form, (box.low[0], box.high[0]) if box.bounded else None, work.dtype)
        if new is None or not _no_larger(new, alive) or not _within(work, member, new, alive):
            return None
        smaller |= (new.units, new.count) != (sum(alive.widths[1:-1]), weight_count(alive))
        built.append((new, names, redundant))
    if not smaller or len({len(new.weights) for new, _, _ in built}) > 1:
        return None  # a stack has one depth
    moved = torch.stack([new.moved + work.slack for new, _, _ in built])
    named = tuple(
        tuple(tuple(n and (n[0], old[n[0] - 1][n[1]]) for n in layer) for layer in new.names) for new, old, _ in built
    )
    steps = [s for member, (new, old, redundant) in enumerate(built) for s in _steps(work, member, new, old, redundant)]
    return Normalised(_stacked(network, [new for new, _, _ in built]), named, moved, tuple(steps))


def _alive(work: Work, member: int) -> tuple[Network, list[list[int]]]:
    """One member with the units that are left, at least one per layer, and which these are."""
    network = work.network[member]
    weights, biases, names = list(network.weights), [bias(network, layer) for layer in range(network.depth)], []
    for layer, alive in enumerate(work.alive):
        chosen = alive[member].nonzero().flatten()
        chosen = chosen if len(chosen) else torch.zeros(1, dtype=torch.int64)
        weights[layer], weights[layer + 1] = weights[layer][:, :, chosen], weights[layer + 1][:, chosen]
        biases[layer] = biases[layer][:, chosen]
        names.append(chosen.tolist())
    return replace(network, weights=tuple(weights), biases=tuple(biases)), names


def _known(work: Work, member: int, names: list[list[int]]) -> list[Interval]:
    """Bounds of the pre-activations of the units that are left, and of the outputs."""
    rows = [*map(torch.tensor, names), torch.arange(work.network.outputs)]
    ends = zip(work.view.known, rows, strict=True)
    return [(low[member : member + 1, row], high[member : member + 1, row]) for (low, high), row in ends]


def weight_count(network: Network) -> int:
    """Number of weights of a member."""
    return sum(w[0].numel() for w in network.weights)


def _no_larger(new: Rebuilt, old: Network) -> bool:
    return new.units <= sum(old.widths[1:-1]) and new.count <= weight_count(old)


def _within(work: Work, member: int, new: Rebuilt, old: Network) -> bool:
    """Whether building a member again moves its outputs by no more than the share of the units that go by it."""
    moved = new.moved + work.slack
    if work.allowed is None:
        return bool(moved.isfinite().all())
    gone = sum(old.widths[1:-1]) - new.units
    share = gone / max(1, sum(work.network.widths[1:-1]))
    return bool((moved <= share * work.allowed[member]).all())


def _steps(
    work: Work, member: int, new: Rebuilt, old: list[list[int]], redundant: tuple[Redundancy, ...]
) -> list[Step]:
    """One step per unit that is gone, less those whose places new units take."""
    kept = {name for layer in new.names for name in layer if name}
    why = {(r.layer, r.unit): WORDS[r.kind] for r in redundant}
    gone = [(layer, k) for layer, units in enumerate(old, start=1) for k in range(len(units)) if (layer, k) not in kept]
    gone = gone[sum(name is None for layer in new.names for name in layer) :]
    bound = (new.moved + work.slack).max().item()
    valid = "the box" if work.box.bounded else "all inputs"
    return [
        Step(member, layer, old[layer - 1][k], "rewritten", why.get((layer, k), _GONE), valid, bound, True)  # type: ignore[arg-type]
        for layer, k in gone
    ]


def _stacked(network: Network, built: list[Rebuilt]) -> Network:
    """Members side by side, filled up to the widest with units that do nothing."""
    depth = len(built[0].weights)
    widths = [network.inputs, *(max(new.weights[layer].shape[1] for new in built) for layer in range(depth))]
    weights, biases = [], []
    for layer in range(depth):
        w = torch.zeros(len(built), widths[layer], widths[layer + 1], dtype=torch.float64)
        b = torch.zeros(len(built), widths[layer + 1], dtype=torch.float64)
        for member, new in enumerate(built):
            n, m = new.weights[layer].shape
            w[member, :n, :m], b[member, :m] = new.weights[layer], new.biases[layer]
        weights.append(w)
        biases.append(b)
    return replace(network, weights=tuple(weights), biases=tuple(biases))
