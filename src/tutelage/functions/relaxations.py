r"""What a unit can do on an interval: its range, lines above and below it, and what becomes of a difference.

The definition. A unit has one kink, at 0: :math:`\sigma(u) = u` for u >= 0 and :math:`\ell u` below, with a slope
:math:`-1 \le \ell \le 1` that :func:`.checks.slopes` reads from the table of activations. So it is convex and no
steeper than 1, and on [low, high] with the kink inside

- above lies the line s u + o with :math:`s = (high - \ell\, low) / (high - low)` and
  :math:`o = \max((\ell - s)\, low, (1 - s)\, high)`. A convex function minus a line is largest at an end, so *any* s
  with its own o is a line above; the chord is the lowest. Rounding of s costs nothing but tightness.
- below lies any line t u with t between the slopes (Zhang et al. 2018; the steeper or the flatter of the two, whichever
  leaves the smaller area).
- :math:`\sigma(f) - \sigma(g) = z\,(f - g)` for some z in :math:`[\ell, 1]`, which is what keeps bounds on two nearly
  equal networks tight.

Written twice, and nowhere else but in the checker of proofs, which shares nothing with the library: for arrays of numpy
and torch, and for one number in compiled loops. A test holds both to fractions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit
from scipy import special
from torch import Tensor

from tutelage.compiling import OPTIONS
from tutelage.functions.checks import slopes
from tutelage.functions.rounding import EPS, TINY, UNDERFLOW
from tutelage.networks import Network
from tutelage.networks.gelus import GELUS, value_and_slope

Interval = tuple[Tensor, Tensor]
"""Lower and upper bounds."""
Ends = tuple[Any, Any]
"""The same in numpy or torch."""
_GRID = 32  # parts of an interval on which a curved unit is bounded: the room that is left is a thousandth of its bend
_LIBM = 16 * EPS  # relative error of exp, erf and what is made of them; the libraries promise one to four roundings
_ROOM = 1 + 8 * EPS  # for the rounding of an offset: two products, a difference each, and their maximum


class LinesOfUnit(NamedTuple):
    """above u + offset >= sigma(u) >= below u on an interval; bends: whether its kink is inside."""

    above: Any
    offset: Any
    below: Any
    bends: Any


def activated(network: Network, u: Interval) -> Interval:
    """Lower and upper bound of the activation for pre-activations between theirs, rounded outwards."""
    return image(*u, slopes(network)[0])


def image(low: Any, high: Any, left: float) -> Ends:
    """The range of a unit on intervals, rounded outwards: arrays of numpy or torch, any shape; ends may be infinite."""
    xp = _library(low)
    if left == 0.0:  # 0 times an infinite end is no number
        return xp.clip(low, 0, None), xp.clip(high, 0, None)
    (low_low, low_high), (high_low, high_high) = _end(xp, low, left), _end(xp, high, left)
    if left > 0:
        return low_low, high_high
    least = xp.minimum(low_low, high_low)
    return xp.where((low < 0) & (high > 0), xp.zeros_like(least), least), xp.maximum(low_high, high_high)


def _end(xp: Any, end: Any, left: float) -> Ends:
    """sigma at an end, from below and above; exact but for the product with a slope that is no sign."""
    value = xp.where(end < 0, left * end, end)
    if abs(left) == 1.0:
        return value, value
    rounded = (end < 0) & ~xp.isinf(value)
    room = xp.where(rounded, 2 * EPS * abs(value) + TINY, xp.zeros_like(value))
    below, above = value - room, value + room
    if left > 0:
        return below, xp.where(rounded, xp.clip(above, None, 0), above)
    return xp.where(rounded, xp.clip(below, 0, None), below), above


def lines(low: Any, high: Any, left: float) -> LinesOfUnit:
    """Lines around a unit on finite intervals: arrays of numpy or torch, any shape."""
    xp = _library(low)
    on = (low >= 0) | (left == 1.0)
    bends = ~(on | (high <= 0))
    # Arrays on both sides of every `where`: two Python numbers would give torch a float32 slope.
    one, slant = xp.ones_like(low), xp.full_like(low, left)
    with np.errstate(over="ignore", invalid="ignore"):
        slope = xp.clip((high - left * low) / xp.where(bends, high - low, one), left, 1.0)
        slope = xp.where(xp.isfinite(slope), slope, one)  # after an overflow any slope will do
        offset = xp.maximum((left - slope) * low, (1 - slope) * high) * _ROOM + UNDERFLOW
    fixed = xp.where(on, one, slant)
    below = xp.where(high > -low, one, slant)
    return LinesOfUnit(
        xp.where(bends, slope, fixed),
        xp.where(bends, offset, xp.zeros_like(low)),
        xp.where(bends, below, fixed),
        bends,
    )


@njit(**OPTIONS)
def line(low: float, high: float, left: float) -> tuple[float, float]:
    """The line above, compiled: slope and offset of one unit; s u is a line below for the same slope."""
    if low >= 0 or left == 1.0:
        return 1.0, 0.0
    if high <= 0:
        return left, 0.0
    slope = min(1.0, max(left, (high - left * low) / (high - low)))
    return slope, max((left - slope) * low, (1 - slope) * high) * _ROOM + UNDERFLOW


def difference_image(f: Ends, d: Ends, left_f: float, left_g: float) -> Ends:
    """The range of sigma(f) - sigma(f - d) for f and d in intervals, rounded outwards: arrays of numpy.

    From the ranges of both, and for units of one kind from z d with z between the slopes; the smaller of the two ends
    holds.
    """
    (low_f, high_f), (low_d, high_d) = f, d
    # g from f and d, not from its own bounds: the three ranges belong together, and d may be far narrower.
    low_g, high_g = apart(f, d)
    new_f, new_g = image(low_f, high_f, left_f), image(low_g, high_g, left_g)
    low, high = apart(new_f, new_g)
    if left_f == left_g:
        products = [t * e for t in (left_f, 1.0) for e in (low_d, high_d)]
        between = np.minimum.reduce(products), np.maximum.reduce(products)
        room = 2 * EPS * np.maximum(np.abs(between[0]), np.abs(between[1])) + UNDERFLOW
        low, high = np.maximum(low, between[0] - room), np.minimum(high, between[1] + room)
        off = (high_f <= 0) & (high_g <= 0) & (left_f == 0.0)
        low, high = np.where(off, 0.0, low), np.where(off, 0.0, high)
    on = (low_f >= 0) & (low_g >= 0)
    low, high = np.where(on, np.maximum(low, low_d), low), np.where(on, np.minimum(high, high_d), high)
    return np.minimum(low, high), np.maximum(low, high)


def apart(f: Ends, d: Ends) -> Ends:
    """The range of f - d, rounded outwards: arrays of numpy."""
    # One subtraction of numbers that may cancel: the room is a share of what was subtracted, not of the result.
    room = 2 * EPS * sum(np.abs(end) for end in (*f, *d)) + UNDERFLOW
    return f[0] - d[1] - room, f[1] - d[0] + room


def difference_line(low: Any, high: Any, left: float, above: bool) -> Ends:
    """Slope and offset of a line above or below z d for d in [low, high] and any z in [left, 1]: arrays of numpy."""
    pick = np.maximum if above else np.minimum
    at_low, at_high = pick(left * low, low), pick(left * high, high)
    width = np.where(high > low, high - low, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        slope = np.clip((at_high - at_low) / width, left, 1.0)
        slope = np.where(np.isfinite(slope), slope, 1.0)
        rest = pick(at_low - slope * low, at_high - slope * high)
    room = 8 * EPS * np.maximum(np.abs(low), np.abs(high)) + UNDERFLOW
    return slope, np.maximum(rest, 0.0) + room if above else np.minimum(rest, 0.0) - room


def mean_slope(most: Any, left: Any) -> tuple[Any, Any]:
    """m and the noise such that z d is within m d +- noise for z in [left, 1] and a size of d of at most ``most``."""
    middle = 0.5 * (1 + left)
    return middle, max(1 - middle, middle - left) * most * _ROOM + UNDERFLOW


@dataclass(frozen=True)
class CurvedUnit:
    r"""A unit with a derivative between kinks: its value and derivative at numbers of float64, and what bounds it.

    curvature: the largest size of its second derivative; breaks: where that or the derivative jumps; least, most: the
    ends of its derivative. Values are a few roundings off at most, :data:`_LIBM` with room, and by ``off`` more where
    constants are rounded. near: units that it is close to, by name, and by how much they differ at most.

    Between two neighbouring points at a distance h a function with a second derivative of at most c differs from the
    chord by at most :math:`c h^2 / 8`, so that a grid with all breaks among its points bounds it.
    """

    value: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    curvature: float
    least: float
    most: float
    breaks: tuple[float, ...] = ()
    off: float = 0.0
    near: Mapping[str, float] = field(default_factory=dict)

    def line(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, m and h with sigma(u) within s u + m +- h for u between low and high: any shape."""
        x, width = self._grid(low, high)
        value = self.value(x)
        s = (value[..., _GRID] - value[..., 0]) / np.where(width > 0, width, 1.0)
        s = np.clip(np.where(width > 0, s, self.slope(low)), self.least, self.most)
        rest = value - s[..., None] * x
        size = np.abs(value).max(-1) + np.abs(s) * np.maximum(np.abs(low), np.abs(high))
        room = self.curvature * np.square(width / _GRID) / 8 * (1 + 1e-9) + _LIBM * size + self.off + UNDERFLOW
        least, most = rest.min(-1), rest.max(-1)
        return s, 0.5 * (least + most), 0.5 * (most - least) + room

    def slopes(self, low: np.ndarray, high: np.ndarray) -> Ends:
        """The range of the derivative between low and high."""
        x, width = self._grid(low, high)
        slope = self.slope(x)
        room = self.curvature * width / _GRID / 2 * (1 + 1e-9) + 4 * _LIBM
        return np.maximum(slope.min(-1) - room, self.least), np.minimum(slope.max(-1) + room, self.most)

    def _grid(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points [..., m] from low to high, the breaks between with a neighbour on both sides, and the width."""
        width = high - low
        x = low[..., None] + width[..., None] * np.linspace(0, 1, _GRID + 1)
        near = [np.nextafter(b, side) for b in self.breaks for side in (-np.inf, b, np.inf)]
        more = np.broadcast_to(np.array(near), (*low.shape, len(near)))
        x = np.concatenate([x, more], -1)
        x = np.clip(x, low[..., None], high[..., None])
        x[..., _GRID] = high
        return x, width * (1 + 4 * EPS)


def _tanh(u: np.ndarray) -> np.ndarray:
    return 1 - np.square(np.tanh(u))


def _sigmoid(u: np.ndarray) -> np.ndarray:
    return special.expit(u) * special.expit(-u)


def _gelu(u: np.ndarray) -> np.ndarray:
    return special.ndtr(u) + u * np.exp(-u * u / 2) / np.sqrt(2 * np.pi)


def _silu(u: np.ndarray) -> np.ndarray:
    return special.expit(u) * (1 + u * special.expit(-u))


def _hard_swish(u: np.ndarray) -> np.ndarray:
    return np.where(np.abs(u) < 3, (2 * u + 3) / 6, np.where(u > 0, 1.0, 0.0))


CURVED = {
    "tanh": CurvedUnit(np.tanh, _tanh, 0.7699, 0.0, 1.0),  # 4 / (3 sqrt 3)
    "sigmoid": CurvedUnit(special.expit, _sigmoid, 0.0963, 0.0, 0.25),  # 1 / (6 sqrt 3)
    "softplus": CurvedUnit(lambda u: np.logaddexp(0.0, u), special.expit, 0.25, 0.0, 1.0),
    # (2 - u^2) phi(u) is largest at 0, where it is 2 phi(0); the derivative is extreme at u = +- sqrt 2.
    "gelu": CurvedUnit(lambda u: u * special.ndtr(u), _gelu, 0.7979, -0.1291, 1.1291, near={"gelu": 0.0}),
    "silu": CurvedUnit(lambda u: u * special.expit(u), _silu, 0.5, -0.0999, 1.0999),
    "hard-swish": CurvedUnit(lambda u: u * np.clip(u + 3, 0, 6) / 6, _hard_swish, 1 / 3, -0.5, 1.5, (-3.0, 3.0)),
}
"""Units that bend everywhere, by the names of activations, one entry each; nothing else depends on which they are."""


def _stored_gelu(name: str) -> CurvedUnit:
    """A GELU with constants of files; its bounds are those of the exact one, which have room for them."""
    value, slope = (
        lambda u, part=part: value_and_slope(name, torch.from_numpy(np.ascontiguousarray(u)))[part].numpy()
        for part in range(2)
    )
    off, constants, other = 64 * EPS, GELUS[name], GELUS["gelu-tanh"]
    if len(constants) == 1:
        # The derivative of gelu(k u) / k by k is v^2 phi(v) / k^2 at v = k u, which is largest at v = sqrt 2: 0.2936.
        near = {"gelu": 0.2937 * float(abs(constants[0] ** 2 * 2 - 1)) + off}  # |k^2 - 1| >= |k - 1|
    else:
        # The derivatives by alpha and beta are u^2 / 2 and u^4 / 2 over cosh^2, at most 0.28 and 0.56.
        moved = 0.3 * abs(constants[0] - other[0]) + 0.6 * abs(constants[1] - other[1])
        near = {"gelu": 4.8e-4, "gelu-tanh": float(moved) + off}  # 4.7324e-4 at 2.699
    return CurvedUnit(value, slope, 0.7979, -0.1291, 1.1291, off=off, near=near)


CURVED |= {name: _stored_gelu(name) for name in GELUS}


def curved_apart(first: str, second: str) -> float:
    """By how much two units that bend everywhere differ at most; infinite where nothing is known."""
    if first == second:
        return 0.0
    one, other = CURVED[first].near, CURVED[second].near
    return min((one[name] + other[name] for name in one if name in other), default=np.inf)


def _library(array: Any) -> Any:
    """numpy or torch, whichever the array is of: they share the names that are used here."""
    return torch if isinstance(array, Tensor) else np
