"""What rounding can do: in a sum, in the outputs of a network, and to what is left of terms that cancel.

The one place for it. A sum of n products in float64, in any order and fused or not, is within :func:`gamma` (n) times
the sum of their sizes of the exact one (Higham 2002, section 3.1; 8 more terms are room for the additions around a sum,
so that no caller counts them), and each product that underflows adds :data:`TINY`. Proofs are held against values: a
difference that is found above a proven bound is an error of this library.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.functions.checks import bias, slopes
from tutelage.networks import Network, SparseNetwork, outputs
from tutelage.networks.forward import activate, linear, stacked_points

EPS = 2.0**-52
TINY = torch.finfo(torch.float64).tiny
"""The smallest normal float64: no product that underflows is further than this from its value."""
UNDERFLOW = 1e-300  # unseen: any number far above TINY that nobody would measure does as well
"""More than any sum of products loses by underflow, however many: for loops that do not count them."""
ROUNDING = 64 * EPS
"""Relative rounding error of a vertex: each is a mean of two others, and no chain of means is longer than 64 by far."""
EXACT_WEIGHTS = 200_000  # unseen: not used here; it trades time for exact values of larger networks
"""The most weights of a network that is evaluated in rational arithmetic; a second or two for this many."""


def gamma(terms: int) -> float:
    """What rounding can do, relatively, to a sum of so many products."""
    return (terms + 8) * EPS


def stored_eps(dtype: torch.dtype) -> float:
    """The rounding of stored weights that are meant to be equal: of float32 there, of float64 for all other types.

    Numbers in half precision are taken as exact, which float64 is for them.
    """
    return torch.finfo(torch.float32 if dtype == torch.float32 else torch.float64).eps


def up(x: Any) -> Any:
    """A number, tensor or array that was rounded twice at most, rounded upwards."""
    return x + (abs(x) * 2 * EPS + UNDERFLOW)


def down(x: Any) -> Any:
    """The same downwards."""
    return x - (abs(x) * 2 * EPS + UNDERFLOW)


def values(network: Network | SparseNetwork, points: Tensor) -> Tensor:
    """Outputs [N, C] of one member in float64 at points [N, d]."""
    if isinstance(network, SparseNetwork):
        return network.at(points)
    return outputs(network.to(dtype=torch.float64), points.double())[0]


def with_error(network: Network, points: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs in float64 and how far each can be from its exact value: [S, N, d] or [N, d] -> [S, N, C] twice.

    Errors are infinite where a value overflows.

    >>> net = Network((torch.tensor([[[0.1]]], dtype=torch.float64),))
    >>> value, error = with_error(net, torch.tensor([[3.0]], dtype=torch.float64))
    >>> abs(value.item() - 0.3) <= error.item() < 1e-14
    True
    """
    f, left = stacked_points(network, points), slopes(network)[0]
    error = torch.zeros_like(f)
    for layer, w in enumerate(network.weights):
        absolute = w.abs()  # of a large layer this takes as long as a product
        size = torch.bmm(f.abs(), absolute) + bias(network, layer).abs().unsqueeze(1)
        step = gamma(w.shape[1]) * size + (w.shape[1] + 1) * TINY
        error = (torch.bmm(error, absolute) + step) * (1 + 4 * gamma(w.shape[1]))
        f = linear(network, layer, f)
        if layer < network.depth - 1:
            # Near the kink the error may cross it and is passed on whole: no slope is above 1.
            below = (f + error < 0) & (left >= 0)  # surely: the error shrinks with the slope there
            error = torch.where(below, left * error * (1 + gamma(0)), error)
            f = activate(network, f)
            if abs(left) not in (0.0, 1.0):  # the product with the slope was rounded
                error = error + gamma(0) * f.abs() + TINY
    unknown = ~(f.isfinite() & error.isfinite())
    return torch.where(unknown, 0, f), torch.where(unknown, torch.inf, error)


def difference_with_error(first: Network, second: Network, points: Tensor) -> tuple[Tensor, Tensor]:
    """|first - second| in float64 and a bound on the error of that: [S, N, C] twice."""
    (a, error_a), (b, error_b) = with_error(first, points), with_error(second, points)
    gap = (a - b).abs()
    return gap, (error_a + error_b + 2 * gamma(0) * gap) * (1 + gamma(8)) + TINY


def exact_outputs(network: Network, point: Tensor) -> list[Fraction]:
    """The outputs of one member at one input [d], without rounding.

    >>> net = Network((torch.tensor([[[0.5]]]), torch.tensor([[[3.0]]])))
    >>> exact_outputs(net, torch.tensor([0.25]))
    [Fraction(3, 8)]
    """
    left = Fraction(slopes(network)[0])
    f, power = _whole(point.detach().to("cpu", torch.float64).numpy())
    for layer, weights in enumerate(network.weights):
        w, power_w = _whole(weights[0].detach().to("cpu", torch.float64).numpy())
        b, power_b = _whole(bias(network, layer)[0].detach().to("cpu", torch.float64).numpy())
        f, power = f @ w, power + power_w
        lowest = min(power, power_b)
        # Whole numbers times one common power of two: addition needs no fractions, whose denominators would grow and be
        # reduced at every step.
        f, power = f * (1 << (power - lowest)) + b * (1 << (power_b - lowest)), lowest
        if layer < network.depth - 1:
            f, power = _activated(f, power, left)
    scale = Fraction(2) ** power
    return [int(v) * scale for v in f]


def _whole(numbers: np.ndarray) -> tuple[np.ndarray, int]:
    """Numbers as whole ones (Python integers, dtype object) times a power of two."""
    mantissa, exponent = np.frexp(numbers)
    whole = (mantissa * 2.0**53).astype(np.int64).astype(object)
    used = exponent[mantissa != 0]
    lowest = int(used.min()) if used.size else 0  # unseen: 0 times any power of two is 0
    shift = np.where(mantissa == 0, 0, exponent - lowest).astype(object)
    return whole * np.power(np.full(numbers.shape, 2, dtype=object), shift), lowest - 53


def _activated(f: np.ndarray, power: int, left: Fraction) -> tuple[np.ndarray, int]:
    """The activation of whole numbers times a power of two."""
    positive = np.array([v > 0 for v in f], dtype=bool)
    bits = left.denominator.bit_length() - 1  # a float's denominator is a power of two
    return np.where(positive, f * left.denominator, f * left.numerator), power - bits


def exact_difference(first: Network, second: Network, point: Tensor) -> list[Fraction]:
    """|first - second| of every output at one input [d], without rounding."""
    pairs = zip(exact_outputs(first, point), exact_outputs(second, point), strict=True)
    return [abs(a - b) for a, b in pairs]


def cancelled(summed: Tensor, terms: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """A sum with what rounding has left of cancelled terms put to 0, and what was lost by that.

    >>> cancelled(torch.tensor([1e-17, 0.5]), torch.tensor([2.0, 0.5]), 1e-15)[0]
    tensor([0.0000, 0.5000])
    """
    noise = summed.abs() <= eps * terms
    return torch.where(noise, 0, summed), torch.where(noise, summed.abs(), 0)
