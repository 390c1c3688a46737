"""Boxes of inputs, intervals of values and the lines around an activation, rounded outwards.

All activations here are convex with their kink at 0: the chord lies above, either branch below. A box may be without
ends; intervals then tell what the signs of weights and biases tell.
"""

import torch
from torch import Tensor

from tutelage.functions.checks import slopes
from tutelage.functions.rounding import EPS, TINY
from tutelage.networks import Network

Interval = tuple[Tensor, Tensor]
"""Lower and upper bounds."""


def activated(network: Network, u: Interval) -> Interval:
    """Lower and upper bound of the activation for pre-activations between theirs, rounded outwards."""
    low, high = u
    match network.activation:
        case "relu":
            return low.clamp_min(0), high.clamp_min(0)
        case "leaky":
            return _leaky(low, network.slope, -1), _leaky(high, network.slope, +1)
        case "abs":
            nearer, further = torch.minimum(low.abs(), high.abs()), torch.maximum(low.abs(), high.abs())
            return torch.where((low < 0) & (high > 0), 0, nearer), further
        case _:
            return u


def _leaky(end: Tensor, slope: float, side: int) -> Tensor:
    """The leaky activation of a lower (side -1) or upper (+1) bound, rounded outwards."""
    if slope == 0:
        return end.clamp_min(0)
    below = slope * end
    below = below + side * (EPS * below.abs() + TINY)
    return torch.where(end < 0, below.clamp_max(0), end)


def lines(network: Network, u: Interval) -> tuple[Tensor, Tensor, Tensor]:
    """Slope of a line below, slope and offset of the chord above every activation on its interval: [S, n] each."""
    low, high = u
    left, right = slopes(network)
    width = torch.where(high > low, high - low, 1)
    chord = (right * high - left * low) / width
    offset = (left - chord) * low + 16 * (EPS * (low.abs() + high.abs()) + TINY)
    # Tensors on both sides: two Python numbers would give a float32 slope, and lines that cut the activation.
    below = torch.where(high > -low, torch.full_like(low, right), torch.full_like(low, left))
    for decided, slope in ((low >= 0, right), (high <= 0, left)):
        chord, below = torch.where(decided, slope, chord), torch.where(decided, slope, below)
        offset = torch.where(decided, 0, offset)
    return below, chord, offset
