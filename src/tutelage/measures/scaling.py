"""Factors that bring activations to the order of 1 before they are squared, so that no square vanishes or overflows.

They are powers of two: within the range of the numbers, multiplying by them changes no digit of anything that does not
depend on scale.
"""

import torch
from torch import Tensor

FAR = 30
"""Powers of two from 1 beyond which units are rescaled by :func:`where_far`."""


def to_unity(sizes: Tensor) -> Tensor:
    """For each size a power of two that brings it to [1/2, 1), as far as one number can; 1 for the size 0.

    >>> to_unity(torch.tensor([0.0, 3.0, 1e-30]))
    tensor([1.0000e+00, 2.5000e-01, 6.3383e+29])
    """
    most = 126 if sizes.dtype == torch.float32 else 1022
    exponents = torch.frexp(sizes).exponent.clamp(-most, most)
    return torch.ldexp(torch.ones_like(sizes), -exponents)


def where_far(sizes: Tensor) -> Tensor:
    """The same, but 1 for every size between 2^-30 and 2^30."""
    factors = to_unity(sizes)
    near = (factors >= 2.0**-FAR) & (factors <= 2.0**FAR)
    return torch.where(near, 1, factors)


def far_from_unity(squares: Tensor) -> Tensor:
    """Which sums of squares are 0, not finite, or so small or large that some of the squares may have been lost."""
    low, high = (1e-24, 1e30) if squares.dtype == torch.float32 else (1e-200, 1e200)
    return ~((squares > low) & (squares < high))
