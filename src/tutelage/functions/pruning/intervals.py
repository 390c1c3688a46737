"""Boxes of inputs, intervals of values and the lines around an activation, rounded outwards.

All activations here are convex with their kink at 0: the chord lies above, either branch below. A box may be without
ends; intervals then tell what the signs of weights and biases tell.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.printing import printed

Interval = tuple[Tensor, Tensor]

_EPS = torch.finfo(torch.float64).eps
TINY = torch.finfo(torch.float64).tiny
"""The smallest normal float64: no product that underflows is further than this from its value."""


@printed
@dataclass(frozen=True, eq=False)
class Box:
    """Inputs with low <= x <= high in every coordinate.

    Attributes
    ----------
    low, high
        Ends, float64 [S, d]; infinite where there is none.
    """

    low: Tensor
    high: Tensor

    @property
    def bounded(self) -> bool:
        return bool(self.low.isfinite().all() and self.high.isfinite().all())

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Points drawn uniformly from a bounded box: [S, count, d]."""
        key = draws.keys([seed], "box")
        unit = draws.uniforms(key, count * self.low.shape[1]).view(1, count, -1)
        return self.low.unsqueeze(1) + unit * (self.high - self.low).unsqueeze(1)


def pair_of_ends(box: object) -> tuple[Tensor, Tensor]:
    """Lower and upper bounds as float64 tensors; an error for what is no pair of numbers or arrays."""
    try:
        low, high = (torch.as_tensor(end, dtype=torch.float64).detach().cpu() for end in box)  # type: ignore[attr-defined]
    except (TypeError, ValueError, RuntimeError):
        raise TutelageError(f"a box must be (low, high), two numbers or arrays of numbers, got {box!r}") from None
    return low, high


def box_for(network: Network, box: tuple | Box | None) -> Box:
    """The box of a network's inputs: None for all inputs, or (low, high), each a number, [d] or [S, d].

    >>> box_for(Network((torch.ones(1, 2, 1),)), (0, 1)).high.tolist()
    [[1.0, 1.0]]
    """
    if isinstance(box, Box):
        return box
    ends = []
    for end in pair_of_ends((-torch.inf, torch.inf) if box is None else box):
        if end.ndim > 2 or (end.ndim and end.shape[-1] != network.inputs):
            raise TutelageError(
                f"low and high of the box must be numbers or have shape [{network.inputs}], got {list(end.shape)}"
            )
        if end.isnan().any():
            raise TutelageError("low and high of the box must be numbers, got NaN")
        ends.append(end.expand(network.members, network.inputs))
    if (ends[0] > ends[1]).any():
        raise TutelageError("the box must be (low, high) with low <= high, got a low above its high: swap them")
    if box is not None and not (ends[0].isfinite().all() and ends[1].isfinite().all()):
        raise TutelageError("low and high of the box must be finite: give numbers, or no box for all inputs")
    return Box(ends[0], ends[1])


def gamma(terms: int) -> float:
    """What rounding can do, relatively, to a sum of so many products."""
    return (terms + 8) * _EPS


def affine(f: Interval, w: Tensor, b: Tensor) -> Interval:
    """Ends of f W + b for f between its ends, rounded outwards: [S, in], [S, in, out], [S, out] -> [S, out] twice."""
    plus, minus = w.clamp_min(0), w.clamp_max(0)
    return _end(f[0], plus, f[1], minus, b, -1), _end(f[1], plus, f[0], minus, b, +1)


def _end(f: Tensor, w: Tensor, g: Tensor, v: Tensor, b: Tensor, side: int) -> Tensor:
    """f W + g V + b, moved outwards by rounding and underflow; infinite where an infinite end or an overflow enters."""

    def times(x: Tensor, y: Tensor) -> Tensor:
        return torch.bmm(x.unsqueeze(1), y).squeeze(1)

    def met(x: Tensor, y: Tensor) -> Tensor:
        return times(x.to(w), (y != 0).to(w))

    finite_f, finite_g = torch.where(f.isinf(), 0, f), torch.where(g.isinf(), 0, g)
    value = times(finite_f, w) + times(finite_g, v) + b
    size = times(finite_f.abs(), w.abs()) + times(finite_g.abs(), v.abs()) + b.abs()
    products = met(finite_f != 0, w) + met(finite_g != 0, v)  # a product with a zero factor cannot underflow
    end = value + side * (gamma(2 * w.shape[1]) * size + TINY * products)
    open_end = met(f.isinf(), w) + met(g.isinf(), v) > 0
    return torch.where(open_end | end.isnan(), side * torch.inf, end)


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
    below = below + side * (_EPS * below.abs() + TINY)
    return torch.where(end < 0, below.clamp_max(0), end)


def slopes(network: Network) -> tuple[float, float]:
    """The gates below and above the kink.

    >>> slopes(Network((torch.ones(1, 1, 1),), activation="abs"))
    (-1.0, 1.0)
    """
    return {"relu": 0.0, "leaky": network.slope, "abs": -1.0, "linear": 1.0}[network.activation], 1.0


def lines(network: Network, u: Interval) -> tuple[Tensor, Tensor, Tensor]:
    """Slope of a line below, slope and offset of the chord above every activation on its interval: [S, n] each."""
    low, high = u
    left, right = slopes(network)
    width = torch.where(high > low, high - low, 1)
    chord = (right * high - left * low) / width
    offset = (left - chord) * low + 16 * (_EPS * (low.abs() + high.abs()) + TINY)
    # Tensors on both sides: two Python numbers would give a float32 slope, and lines that cut the activation.
    below = torch.where(high > -low, torch.full_like(low, right), torch.full_like(low, left))
    for decided, slope in ((low >= 0, right), (high <= 0, left)):
        chord, below = torch.where(decided, slope, chord), torch.where(decided, slope, below)
        offset = torch.where(decided, 0, offset)
    return below, chord, offset
