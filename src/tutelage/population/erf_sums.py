r"""Odd bounded activations as sums of erf units of several widths, for which all Gaussian averages are closed forms.

.. math:: \sigma(u) \approx \sum_i a_i\, \mathrm{erf}(s_i u / \sqrt 2)

So a network of n units is one of a few times n erf units whose directions :math:`s_i w_k` and fan-outs :math:`a_i c_k`
are tied, and a derivative by :math:`w_k` is the sum of those by its parts. For tanh four widths leave an error of 2e-5.
Quadrature of the fourfold integrals costs 10^6 evaluations each instead, and Gaussian functions in place of erf would
not have the arcsine.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import erf
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import value_and_derivative
from tutelage.population.expectations import Units
from tutelage.printing import printed

WIDTHS = 4
"""Erf units per unit: a fifth leaves a tenth of the error, and the integrals of the noise take twice as long."""
WORST = 1e-3
"""The largest error of the activation and of its slope with which a sum is used."""
_REACH, _POINTS = 8.0, 801  # of the grid that is fitted on
_FAR = 40.0  # up to which the error is measured


@printed
@dataclass(frozen=True, eq=False)
class ErfSum:
    """A sum of erfs instead of an activation.

    Attributes
    ----------
    widths, weights
        s and a, [n] each.
    error, slope_error
        Largest error of the activation and of its derivative.
    """

    widths: Tensor
    weights: Tensor
    error: float
    slope_error: float

    def units(self, units: Units) -> Units:
        """The same units as erf units, n for each: unit k becomes k n, ..., k n + n - 1."""
        w = units.w[:, :, None] * self.widths[:, None]
        c = units.c[:, :, None] * self.weights[:, None]
        return Units(w.flatten(1, 2), c.flatten(1, 2), "erf")

    def network(self, network: Network) -> Network:
        """The same network of erf units."""
        first, second = network.weights
        units = self.units(Units(first.mT, second, network.activation))
        assert network.biases is not None
        hidden = (network.biases[0].unsqueeze(2) * self.widths).flatten(1)
        return Network((units.w.mT, units.c), (hidden, network.biases[1]), "erf")

    def collected(self, parts: Tensor, factors: Tensor) -> Tensor:
        """Sums over the parts of every unit, with a factor per part: [S, K n, ...] -> [S, K, ...]."""
        apart = parts.unflatten(1, (-1, len(factors)))
        return (apart * factors.view(-1, *[1] * (apart.ndim - 3))).sum(2)


@cache
def erf_sum(activation: str) -> ErfSum:
    """The sum of erfs that is nearest to an activation.

    Parameters
    ----------
    activation
        Name of an odd, bounded activation.

    Returns
    -------
    ErfSum
        A :class:`~tutelage.TutelageError` says so where the activation is not odd, or no sum is near enough.

    Examples
    --------
    >>> erf_sum("tanh").error < 2e-5
    True
    """
    u = np.linspace(0, _REACH, _POINTS)
    value, slope = _at(activation, u)
    if np.abs(value + _at(activation, -u)[0]).max() > 1e-9:
        raise TutelageError(
            f"order-parameter equations are not known for the activation '{activation}', which is not odd: choose "
            "relu, leaky, abs, linear, erf, hermite-k or an odd bounded one such as tanh, or simulate with online_sgd"
        )

    def loss(logs: np.ndarray) -> float:
        weights, columns = _fitted(np.exp(logs), u, value, slope)
        return float(np.log(((columns @ weights - np.concatenate([value, slope])) ** 2).sum() + 1e-30))

    start = np.log(np.geomspace(0.6, 1.6, WIDTHS))
    widths = np.exp(minimize(loss, start, method="Nelder-Mead", options={"maxiter": 3_000, "xatol": 1e-7}).x)
    weights, _ = _fitted(widths, u, value, slope)
    errors = _errors(activation, widths, weights)
    if max(errors) > WORST:
        raise TutelageError(
            f"no sum of erfs is near the activation '{activation}' (error {max(errors):.2g}): order-parameter "
            "equations are not known for it, simulate with online_sgd"
        )
    return ErfSum(torch.from_numpy(widths), torch.from_numpy(weights), *errors)


def _at(activation: str, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value, slope = value_and_derivative(activation, torch.from_numpy(u))
    return value.numpy(), slope.numpy()


def _fitted(widths: np.ndarray, u: np.ndarray, value: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights by least squares on values and slopes, and the matrix of both."""
    columns = np.vstack(_erfs(widths, u))
    return np.linalg.lstsq(columns, np.concatenate([value, slope]), rcond=None)[0], columns


def _erfs(widths: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """erf(s u / sqrt 2) and its derivative, [points, widths] each."""
    scaled = u[:, None] * widths
    return erf(scaled / 2**0.5), (2 / np.pi) ** 0.5 * widths * np.exp(-(scaled**2) / 2)


def _errors(activation: str, widths: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Largest error of value and slope on a fine grid that goes further than the one that was fitted on."""
    u = np.linspace(0, _FAR, 40_001)
    pairs = zip(_erfs(widths, u), _at(activation, u), strict=True)
    first, second = (float(np.abs(columns @ weights - wanted).max()) for columns, wanted in pairs)
    return first, second
