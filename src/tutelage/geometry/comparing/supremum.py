r"""The exact largest difference of two networks, over a bounded domain or over all inputs.

Over all inputs the measure is :math:`|a(x) - b(x)| / \max(1, |x|_\infty)`. With x = y / t the difference becomes
:math:`t\,(a - b)(y/t)`, which is a network of (y, t) without biases that is also defined at infinity, t = 0; the
measure is its size where max(t, |y|) = 1: on 2 d + 1 faces of a box, each a bounded domain in d dimensions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.errors import Refusal
from tutelage.geometry.checks import bias, in_double
from tutelage.geometry.pieces.difference import extreme_values, side_by_side
from tutelage.geometry.pieces.domain import ROUNDING, Domain, box
from tutelage.geometry.pieces.regions import BUDGET, Regions, enumerate_regions
from tutelage.geometry.pieces.slices import slice_network
from tutelage.geometry.pruning.bounds import bounds
from tutelage.geometry.pruning.deviation import gains, reach
from tutelage.geometry.pruning.intervals import Box, slopes
from tutelage.networks import Network, outputs

_COARSER = (1, 16, 256)  # times the rounding error: tried in turn where boundaries are too close to be told apart


@dataclass(frozen=True, eq=False)
class Supremum:
    """The largest difference of any output: value, at an input [d], and how much more there may be.

    room: what rounding may have hidden; regions: how many were looked at; complete: whether all were, or the search was
    ended early by a difference that was large enough.
    """

    value: float
    at: Tensor
    room: float
    regions: int
    complete: bool


def as_relu(network: Network) -> Network:
    """The same function with relu units: two for each leaky, abs or linear one; float64.

    For slopes s below and 1 above the kink, sigma(u) = max(0, u) - s max(0, -u).

    >>> as_relu(Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)), activation="abs")).widths
    (2, 6, 1)
    """
    network = in_double(network)
    if network.activation == "relu":
        return network
    left, _ = slopes(network)
    weights, biases = [], []
    for layer, w in enumerate(network.weights):
        b = bias(network, layer)
        if layer:
            w = torch.cat([w, -left * w], dim=1)
        if layer < network.depth - 1:
            w, b = torch.cat([w, -w], dim=2), torch.cat([b, -b], dim=1)
        weights.append(w)
        biases.append(b)
    return Network(tuple(weights), None if network.biases is None else tuple(biases), "relu")


def apart(first: Network, second: Network) -> Network:
    """The difference of two networks as one, whatever their activations and depths."""
    alike = first.activation == second.activation and first.slope == second.slope and first.depth == second.depth
    if not alike or first.activation == "linear":
        first, second = as_relu(first), as_relu(second)
    return side_by_side(first, second)


def homogeneous(network: Network) -> Network:
    """The network (y, t) -> t f(y / t) for t > 0, and its limit for t = 0: d + 1 inputs, t last, no biases; float64.

    One more unit a layer carries t upwards.

    >>> net = Network((torch.ones(1, 1, 1), torch.ones(1, 1, 1)), (torch.ones(1, 1), torch.ones(1, 1)))
    >>> outputs(homogeneous(net), torch.tensor([[3.0, 0.5]], dtype=torch.float64)).item()  # half of f(6) = 8
    4.0
    """
    network = in_double(network)
    weights = []
    for layer, w in enumerate(network.weights):
        w = torch.cat([w, bias(network, layer).unsqueeze(1)], dim=1)
        if layer < network.depth - 1:
            carry = torch.zeros_like(w[:, :, :1])
            carry[:, -1] = 1
            w = torch.cat([w, carry], dim=2)
        weights.append(w)
    return replace(network, weights=tuple(weights), biases=None)


def upper_bound(first: Network, second: Network, domain: Domain | None) -> float:
    """A number that the difference does not exceed, from intervals: cheap in any dimension, and often far off."""
    both = apart(first, second)
    if domain is None:
        both, low = homogeneous(both), torch.full((1, first.inputs + 1), -1.0, dtype=torch.float64)
        low[:, -1] = 0
        around = Box(low, torch.ones_like(low))
    else:
        around = Box(domain.low.unsqueeze(0), domain.high.unsqueeze(0))
    low, high = bounds(both, around)[-1]
    return torch.maximum(-low, high).max().item()


def supremum(
    first: Network, second: Network, domain: Domain | None, budget: int = BUDGET, enough: float = torch.inf
) -> Supremum:
    """The largest difference over a domain or, without, over all inputs in the measure above; exact but for ``room``.

    enough: end the search over all inputs at a difference above this. Refused beyond the budget of regions, and where
    boundaries of units are too close together to be told apart.
    """
    both = apart(first, second)
    if domain is not None:
        value, at, room, regions = _over(both, domain, budget)
        return Supremum(value, at, room, regions, True)
    whole = homogeneous(both)
    best, place, room, regions = -1.0, None, 0.0, 0
    for origin, axes, face in _faces(first.inputs):
        value, at, more, count = _over(slice_network(whole, origin, axes), face, budget)
        room, regions = max(room, more), regions + count
        if value > best:
            best, place = value, origin + at @ axes
        if best > enough:
            return Supremum(best, _finite(whole, place), room, regions, False)
    return Supremum(best, _finite(whole, place), room, regions, True)


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
    wanted = 0.99 * outputs(whole, place[None]).abs().max()
    for power in range(1, 60):
        t = y.new_tensor(0.5**power)
        if outputs(whole, torch.cat([y, t[None]])[None]).abs().max() >= wanted:
            return y / t
    return y


def _over(both: Network, domain: Domain, budget: int) -> tuple[float, Tensor, float, int]:
    """Largest size of any output over a domain, where it is, what rounding may hide, and the number of regions."""
    regions, times = _regions(both, domain, budget)
    found = extreme_values(regions)
    size = torch.cat([-found.low, found.high])
    at = torch.cat([found.at_low, found.at_high])[size.argmax()]
    return float(size.max()), at, _room(both, domain, times * ROUNDING), len(regions)


def _regions(both: Network, domain: Domain, budget: int) -> tuple[Regions, int]:
    last: Refusal | None = None
    for times in _COARSER:
        try:
            return enumerate_regions(both, domain, budget, times * ROUNDING), times
        except Refusal as refusal:
            if "rounding" not in str(refusal):
                raise
            last = refusal
    assert last is not None
    raise last


def _room(both: Network, domain: Domain, rounding: float) -> float:
    r"""What taking small pre-activations for 0 can hide: twice :math:`\sum_l e_l G_l`, errors of units times gains.

    On a region whose unit is at least -e at all corners the unit is at least -e throughout, so that the affine map of
    the region is off by no more than e times the gain, there and at the corners.
    """
    around = Box(domain.low.unsqueeze(0), domain.high.unsqueeze(0))
    sizes = reach(both, around, bounds(both, around))
    error = rounding * sizes[0]
    total = torch.zeros(1, both.outputs, dtype=torch.float64)
    for layer, gain in enumerate(gains(both)):
        w = both.weights[layer].abs()
        step = torch.bmm(sizes[layer].unsqueeze(1), w).squeeze(1) + bias(both, layer).abs()
        error = torch.bmm(error.unsqueeze(1), w).squeeze(1) + max(rounding, w.shape[1] * 2.0**-52) * step
        total = total + torch.bmm(error.unsqueeze(1), gain).squeeze(1)
    return 2 * total.max().item()
