r"""GELU with the constants that files store: close to :math:`u\,\Phi(u)`, and not equal to it.

Exporters write GELU as :math:`\frac u2 (1 + \mathrm{erf}(\kappa u))` with a rounded :math:`\kappa = 1 / \sqrt 2`, by a
quotient or a product, or as :math:`\frac u2 (1 + \tanh(\alpha u + \beta u^3))` with :math:`\alpha = \sqrt{2 / \pi}` and
:math:`\beta = 0.044715\,\alpha` (Hendrycks and Gimpel 2016, section 2). Each set of stored constants is a function of
its own, with the exact rational constants below.
"""

import math
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

_ROOT, _TANH, _CUBE = math.sqrt(2), math.sqrt(2 / math.pi), 0.044715


def _exact(number: float, kind: type) -> Fraction:
    return Fraction(float(kind(number)))


def _cubic(kind: type) -> tuple[Fraction, ...]:
    return _exact(_TANH, kind), _exact(_TANH, kind) * _exact(_CUBE, kind)


GELUS: dict[str, tuple[Fraction, ...]] = {
    "gelu-div32": (1 / _exact(_ROOT, np.float32),),
    "gelu-mul32": (_exact(math.sqrt(0.5), np.float32),),
    "gelu-tanh32": _cubic(np.float32),
    "gelu-tanh": _cubic(np.float64),
}
"""By name: kappa of the form with erf, or alpha and beta of that with tanh. Files of float32 have the first three; the
last is that of torch and of the operator Gelu, up to the rounding of float64."""


def value_and_slope(name: str, u: Tensor) -> tuple[Tensor, Tensor]:
    """The unit and its derivative, any shape."""
    constants = [float(c) for c in GELUS[name]]
    if len(constants) == 1:
        v = constants[0] * _ROOT * u
        below = torch.special.ndtr(v)
        return u * below, below + v * torch.exp(-v * v / 2) / math.sqrt(2 * math.pi)
    a, b = constants
    w = 2 * u * (a + b * u * u)
    # (1 + tanh(w / 2)) / 2 without the difference of two near numbers.
    below = torch.sigmoid(w)
    return u * below, below + u * (2 * a + 6 * b * u * u) * below * torch.sigmoid(-w)
