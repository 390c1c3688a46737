r"""Up to which difference two networks count as the same function, at every input and for every output.

A stored network is an exact function of its stored numbers. Networks that are meant to be equal differ by the rounding
of their weights, so that differences count as none up to

.. math:: t(x) = \max(1, |x|_\infty)\, \min(c, \max(f, r(x)))

with r the effect of rounding the weights at this input, f a floor and c a ceiling that are shares of how much the
output itself varies. t does not depend on the domain: a difference that counts in a box counts in every larger one.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from tutelage import draws
from tutelage.deadline import rows_at_a_time
from tutelage.functions.bounds.ranges import reach, rounding
from tutelage.functions.checks import bias, in_double
from tutelage.functions.domain import box_for
from tutelage.functions.rounding import ROUNDING, gamma, stored_eps, with_error
from tutelage.networks import Network
from tutelage.networks.activations import gate
from tutelage.networks.forward import activate, linear
from tutelage.networks.graphs.sparse import stored_precision

_ROUNDINGS = 4  # roundings, in the precision of the file, that every weight may have gone through
_SIZES = (1.0, 10.0, 100.0, 1e3, 1e4)  # half the widths of cubes on which the variation is measured
_SAMPLES = 256  # points per cube, fewer for networks of more than a million weights
_VALUES = 256 * torch.finfo(torch.float64).eps  # of an output's value that float64 cannot be asked for
_SHARES = {torch.float32: (2.0**-20, 2.0**-10)}  # floor and ceiling, as shares of the variation
_FINE = (2.0**-34, 2.0**-30)  # the same for float64, and for half precision, which float64 holds exactly


@dataclass(frozen=True, eq=False)
class Tolerance:
    """Differences that count as none for a pair of networks: floor and ceiling, float64 [C], over max(1, |x|).

    told: a tolerance that the user gave, instead of the effect of rounding; 0 for none.
    """

    networks: tuple[Network, Network]
    floor: Tensor
    ceiling: Tensor
    told: float | None

    def at(self, point: Tensor, bounded: bool) -> Tensor:
        """The tolerance at one input [d] for every output: [C]; divided by max(1, |x|) where not bounded."""
        size = max(1.0, point.abs().max().item())
        if self.told is not None:
            return (self.floor * (size if bounded else 1.0)).clamp_min(self.told)
        first, second = self.networks
        rounded = (rounding_at(first, point) + rounding_at(second, point)) / size
        limited = torch.minimum(self.ceiling, torch.maximum(self.floor, rounded))
        return limited * (size if bounded else 1.0)

    def proof(self, nearest: float) -> Tensor:
        """What a bound over a domain must not exceed: [C]; nearest: the smallest |x| of the domain, 0 for none."""
        least = self.floor * max(1.0, nearest)
        return least if self.told is None else least.clamp_min(self.told)

    @cached_property
    def without_biases(self) -> "Tolerance":
        """The same for inputs of any size: biases, and what they allow for, count less the farther away an input is."""
        first, second = self.networks
        return replace(self, networks=(without_biases(first), without_biases(second)))

    @cached_property
    def related(self) -> Tensor:
        """What a bound on permuted and scaled copies over all inputs must not exceed, over max(1, |x|): [C].

        Such a bound takes every unit at its largest, so it is held to what rounding can do by the same bound.
        """
        if self.told is not None:
            return self.floor.clamp_min(self.told)
        rounded = torch.zeros_like(self.floor)
        for stored in self.networks:
            network, factor = in_double(stored), 1 + _relative(stored)
            moved = network.map(lambda a, factor=factor: a * factor)
            rounded = rounded + rounding(network, moved, reach(moved, box_for(network, None), ()))[0]
        return torch.minimum(self.ceiling, torch.maximum(self.floor, rounded))


def without_biases(network: Network) -> Network:
    """The network that a piecewise linear one is far away: f(s x) / s for large s."""
    return replace(network, biases=None)


def tolerance_for(first: Network, second: Network, given: float | None = None) -> Tolerance:
    """The tolerance of a pair of networks, each of one member and as stored."""
    floor = ceiling = torch.zeros(first.outputs, dtype=torch.float64)
    for network in (first, second):
        spread, size = variation(network)
        low, high = _SHARES.get(stored_precision(network), _FINE) if given is None else _FINE
        floor, ceiling = floor + low * spread + _VALUES * size, ceiling + high * spread + _VALUES * size
    return Tolerance((first, second), floor, ceiling, given)


def variation(network: Network) -> tuple[Tensor, Tensor]:
    """How much each output varies, and how large it is, over max(1, |x|): [C] twice, of one member.

    Measured on cubes of several sizes, of which the smallest variation counts that is not 0: a unit that is active far
    away alone says nothing about differences here. Rounding is taken off, so that noise is no variation; a variation
    too small for float64 to be sure of counts with its upper bound, where that is smaller.
    """
    network = in_double(network)
    samples = max(8, min(_SAMPLES, rows_at_a_time(sum(w.numel() for w in network.weights))))
    unit = 2 * draws.uniforms(draws.keys([0], "variation"), samples * network.inputs).view(1, samples, -1) - 1
    spreads, limits, sizes = [], [], []
    cubes = torch.cat([size * unit for size in _SIZES], dim=1)  # at once: every pass over large weights takes a while
    for size, value, error in zip(_SIZES, *(a[0].split(samples) for a in with_error(network, cubes)), strict=True):
        spreads.append(((value - error).amax(0) - (value + error).amin(0)).clamp_min(0) / size)
        observed = value.amax(0) - value.amin(0)
        limits.append(torch.where(observed > 0, observed + 2 * error.amax(0), torch.inf) / size)
        sizes.append((value.abs() - error).amax(0).clamp_min(0) / size)
    spread = torch.stack(spreads)
    # The smallest variation that is not 0: a difference has to matter on the scale on which the output lives, not on
    # that of the largest cube.
    least = torch.where(spread > 0, spread, torch.inf).amin(0)
    varies = least < torch.inf
    return torch.where(varies, torch.minimum(least, torch.stack(limits).amin(0)), 0), torch.stack(sizes).amin(0)


def rounding_at(network: Network, at: Tensor) -> Tensor:
    r"""What rounding of the weights can do to each output at one input [d], to first order: [C].

    .. math:: c \sum_l (|f_{l-1}| |W_l| + |b_l|)\, |J_l|

    with the features f and the derivatives J of the outputs by the pre-activations at this input; c: the relative error
    of a weight, of its storage and of the arithmetic in float64. Where rounding decides on which side of its kink a
    unit is, the steeper side counts.
    """
    c, network = _relative(network), in_double(network)
    f, sizes, gates = at.to(torch.float64).view(1, 1, -1), [], []
    for layer in range(network.depth):
        sizes.append((torch.bmm(f.abs(), network.weights[layer].abs()) + bias(network, layer).abs().unsqueeze(1))[0, 0])
        u = linear(network, layer, f)
        z = gate(network.activation, u, network.slope)[0, 0]
        # Within rounding of its kink a unit may be on either side: the steeper slope is the larger effect.
        gates.append(torch.where(u[0, 0].abs() <= c * sizes[-1], 1.0, z))
        f = activate(network, u)
    slope, total = torch.eye(network.outputs, dtype=torch.float64), torch.zeros(network.outputs, dtype=torch.float64)
    for layer in reversed(range(network.depth)):
        total = total + sizes[layer] @ slope.abs()
        if layer:
            slope = gates[layer - 1].unsqueeze(1) * (network.weights[layer][0] @ slope)
    return (c * total).nan_to_num(torch.inf, torch.inf)


def _relative(network: Network) -> float:
    """The relative error of a weight: of its storage in float32 or float64, and of the arithmetic in float64."""
    arithmetic = 4 * network.depth * max(ROUNDING, gamma(max(network.widths)))
    return float(_ROUNDINGS * stored_eps(stored_precision(network)) + arithmetic)
