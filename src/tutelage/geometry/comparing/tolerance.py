"""How far two networks may differ and still be one: what rounding of their weights can do to the outputs."""

import torch
from torch import Tensor

from tutelage.geometry.checks import bias, in_double
from tutelage.geometry.pieces.domain import ROUNDING
from tutelage.geometry.pruning.bounds import bounds
from tutelage.geometry.pruning.deviation import gains, reach
from tutelage.geometry.pruning.intervals import Box, gamma
from tutelage.networks import Network, gate
from tutelage.networks.forward import activate, linear

_ROUNDINGS = 4  # roundings, in the precision of the file, that every weight may have gone through


def rounding_tolerance(network: Network, around: Box) -> float:
    r"""What rounding can do to the outputs of one network: every weight's relative error times what it can move.

    .. math:: c \sum_l (s_{l-1} |W_l| + |b_l|)\, G_l, \qquad c = 4\,\epsilon_{file} + 4 L \max(64\,\epsilon, \gamma_n)

    s: the largest sizes of features on the box, or for inputs up to 1 where it has no ends (then times max(1, |x|));
    G: the gains of units; the second part of c is that of the arithmetic, in float64.
    """
    c, network = _relative(network), in_double(network)
    sizes = reach(network, around, bounds(network, around) if around.bounded else ())
    total = torch.zeros(network.members, network.outputs, dtype=torch.float64)
    for layer, gain in enumerate(gains(network)):
        moved = torch.bmm(sizes[layer].unsqueeze(1), network.weights[layer].abs())
        total = total + torch.bmm(moved + bias(network, layer).abs().unsqueeze(1), gain).squeeze(1)
    return c * float(total.max())


def rounding_at(network: Network, at: Tensor) -> float:
    r"""What rounding of the weights can do to the outputs at one input [d], to first order.

    .. math:: c \sum_l (|f_{l-1}| |W_l| + |b_l|)\, |J_l|

    with the features f and the derivatives J of the outputs by the pre-activations at this input, c as above; where
    rounding decides on which side of its kink a unit is, the steeper side counts.
    """
    c, network = _relative(network), in_double(network)
    f, sizes, gates = at.to(torch.float64).view(1, 1, -1), [], []
    for layer in range(network.depth):
        sizes.append((torch.bmm(f.abs(), network.weights[layer].abs()) + bias(network, layer).abs().unsqueeze(1))[0, 0])
        u = linear(network, layer, f)
        z = gate(network.activation, u, network.slope)[0, 0]
        gates.append(torch.where(u[0, 0].abs() <= c * sizes[-1], 1.0, z))
        f = activate(network, u)
    slope, total = torch.eye(network.outputs, dtype=torch.float64), torch.zeros(network.outputs, dtype=torch.float64)
    for layer in reversed(range(network.depth)):
        total = total + sizes[layer] @ slope.abs()
        if layer:
            slope = gates[layer - 1].unsqueeze(1) * (network.weights[layer][0] @ slope)
    return c * total.max().item()


def _relative(network: Network) -> float:
    """The relative error of a weight: of its storage, and of the arithmetic in float64."""
    arithmetic = 4 * network.depth * max(ROUNDING, gamma(max(network.widths)))
    return float(_ROUNDINGS * torch.finfo(network.dtype).eps + arithmetic)
