r"""Inputs of any covariance: the same networks on whitened inputs, :math:`w \cdot x = (w S) \cdot z`, S its root."""

import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.population.expectations import Units


def spectral(covariance: float | Tensor, d: int) -> tuple[Tensor, Tensor]:
    """Eigenvalues [d] in rising order and eigenvectors [d, d] of a variance, variances [d] or a matrix [d, d]."""
    sigma = doubles(covariance, "covariance")
    if sigma.shape == ():
        sigma = sigma.expand(d)
    if sigma.shape == (d,):
        order = sigma.argsort()
        values, basis = sigma[order], torch.eye(d, dtype=sigma.dtype)[:, order]
    elif sigma.shape == (d, d) and torch.allclose(sigma, sigma.mT, atol=1e-12 * float(sigma.abs().max())):
        values, basis = torch.linalg.eigh(sigma)
    else:
        raise TutelageError(
            f"covariance must be one variance per input [{d}] or a symmetric matrix [{d}, {d}], got {list(sigma.shape)}"
        )
    if not bool((values > 0).all()):
        raise TutelageError(f"a covariance must have eigenvalues above 0, got {float(values.min()):.3g}")
    return values, basis


def root_of(covariance: float | Tensor | None, d: int) -> Tensor | None:
    """The symmetric root S [d, d]; None for the identity."""
    if covariance is None:
        return None
    values, basis = spectral(covariance, d)
    return basis * values.sqrt() @ basis.mT


def seen_white(units: Units, root: Tensor | None) -> Units:
    """The units on whitened inputs."""
    return units if root is None else units.moved(units.w @ root)


def whitened(network: Network, root: Tensor | None) -> Network:
    """The network on whitened inputs, in float64."""
    network = network.to(dtype=torch.float64)
    if root is None:
        return network
    first, *rest = network.weights
    return Network((root @ first, *rest), network.biases, network.activation, network.slope)
