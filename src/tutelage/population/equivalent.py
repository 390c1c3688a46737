r"""Gaussian inputs that stand for inputs of another distribution: those of the same covariance.

In many dimensions a pre-activation w.x is a sum of many small terms, and nearly Gaussian with the variance
:math:`w^T C w` whatever the distribution of x, if no weight follows one coordinate or one direction of the
distribution's own. Then the equations of :mod:`.order_parameters` hold with its covariance (the Gaussian equivalence of
Goldt et al. 2020 for hidden manifolds). Where it fails, nothing warns: compare with a simulation.

For a hidden manifold x = g(F^T c / sqrt(D)), whose coordinates are units of D Gaussian inputs,

.. math:: C_{ij} = E[g(u_i) g(u_j)], \qquad u_i = F_i \cdot c / \sqrt D

which is the kernel of g; its linear part is a matrix of rank D, and the rest is nearly the identity.
"""

import math

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.activations import find
from tutelage.population.kernels import kernel
from tutelage.training.inputs import (
    CorrelatedGaussian,
    Distribution,
    Gaussian,
    GaussianCovariance,
    HiddenManifold,
    Hypercube,
    Sphere,
    StudentT,
    Uniform,
)

_ODD = 1e-12
"""Folds whose odd part differs by less from the whole, on a grid, count as odd: inputs then have mean 0."""


def covariance_of(distribution: Distribution, dimension: int) -> Tensor:
    """Covariance of the points of a distribution whose mean is 0: computed, not estimated from samples.

    Parameters
    ----------
    distribution
        A recipe of :mod:`tutelage.inputs`: with independent coordinates, Gaussian, on a sphere, or a hidden manifold
        with an odd fold.
    dimension
        Number of inputs d.

    Returns
    -------
    Tensor
        Variances of independent coordinates [d] or the matrix [d, d], float64, as :func:`order_parameters` takes it.

    Raises
    ------
    TutelageError
        If the mean of the distribution is not 0, its variance is infinite, or its covariance is not known.

    Examples
    --------
    >>> import tutelage as tt
    >>> covariance_of(tt.inputs.Uniform(half_width=3.0), 2)
    tensor([3., 3.], dtype=torch.float64)
    >>> covariance_of(tt.inputs.HiddenManifold(latent=5), 2).diagonal()
    tensor([1., 1.], dtype=torch.float64)
    """
    if not isinstance(distribution, Distribution):
        raise TutelageError(
            f"distribution must be a recipe of tutelage.inputs such as Gaussian(), got {type(distribution).__name__}"
        )
    match distribution:
        case Gaussian() | CorrelatedGaussian():
            variance = distribution.std**2
        case Uniform():
            variance = distribution.half_width**2 / 3
        case Hypercube():
            variance = distribution.side**2
        case Sphere():
            variance = distribution.radius**2 / dimension
        case StudentT() if distribution.freedom > 2:
            variance = distribution.scale**2 * distribution.freedom / (distribution.freedom - 2)
        case GaussianCovariance() if not any(distribution.mean or ()):
            root = distribution._root(dimension)
            return root**2 if root.ndim == 1 else root @ root.mT
        case HiddenManifold():
            return _folded(distribution, dimension)
        case _:
            raise TutelageError(
                f"there is no covariance of mean 0 for inputs of the kind '{distribution.kind}' with these settings: "
                "give the covariance yourself"
            )
    if isinstance(distribution, CorrelatedGaussian):
        place = torch.arange(dimension, dtype=torch.float64)
        return variance * distribution.correlation ** (place[:, None] - place).abs()
    return torch.full((dimension,), variance, dtype=torch.float64)


def _folded(manifold: HiddenManifold, dimension: int) -> Tensor:
    """E[g(u_i) g(u_j)] of a hidden manifold whose fold g is odd: [d, d]."""
    features = manifold.features(dimension).mT / manifold.latent**0.5
    if manifold.fold == "sign":
        direction = torch.nn.functional.normalize(features, dim=1)
        signs = 2 / math.pi * torch.asin((direction @ direction.mT).clamp(-1, 1))
        return signs.fill_diagonal_(1.0)  # the slope of asin at 1 is infinite, and so its rounding is large
    grid = torch.linspace(0.1, 3, 30, dtype=torch.float64)
    fold = find(manifold.fold).function
    if (fold(grid, 0.01) + fold(-grid, 0.01)).abs().max() > _ODD:
        raise TutelageError(
            f"inputs of a hidden manifold with the fold '{manifold.fold}' have a mean that is not 0, for which there "
            "are no equations: choose sign, erf, tanh or another odd function"
        )
    return kernel(features[None], features[None], manifold.fold)[0]
