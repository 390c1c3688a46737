"""Distributions with structure: any covariance, mixtures, corners of a cube, hidden manifolds."""

from typing import Literal, Self

import torch
from pydantic import FiniteFloat, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks.activations import ActivationName, find
from tutelage.training.inputs.distributions import normals
from tutelage.training.inputs.inputs import Distribution


def product(rows: Tensor, matrix: Tensor) -> Tensor:
    """rows @ matrix, summed in order: the same bits whatever is drawn beside a row, [S, N, a], [a, b] -> [S, N, b]."""
    out = rows[..., :1] * matrix[0]
    for k in range(1, len(matrix)):
        out.add_(rows[..., k : k + 1] * matrix[k])
    return out


class GaussianCovariance(Distribution):
    r"""x ~ N(mean, C) with a covariance given as a matrix, by its eigenvalues, or by a power law.

    Give one of ``covariance`` (the matrix), ``variances`` (of the coordinates) and ``decay`` (coordinate i = 1, 2, ...
    has the variance :math:`i^{-\mathrm{decay}}`).
    """

    kind: Literal["gaussian-covariance"] = "gaussian-covariance"
    covariance: tuple[tuple[FiniteFloat, ...], ...] | None = None
    """The covariance matrix, symmetric and positive semidefinite."""
    variances: tuple[NonNegativeFloat, ...] | None = None
    """Variances of independent coordinates."""
    decay: NonNegativeFloat | None = None
    """Exponent of the variances of independent coordinates."""
    mean: tuple[FiniteFloat, ...] | None = None
    """Mean of the points; default: 0."""

    @model_validator(mode="after")
    def _one_of_three(self) -> "GaussianCovariance":
        given = [n for n in ("covariance", "variances", "decay") if getattr(self, n) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of covariance, variances and decay, got {', '.join(given) or 'none'}")
        self._root(self._size() or len(self.mean or (0.0,)))
        return self

    def _size(self) -> int | None:
        return len(self.covariance or self.variances or ()) or None

    def _root(self, dimension: int) -> Tensor:
        """A with A A^T = C, float64 [d, d], or the deviations [d] of independent coordinates."""
        if (size := self._size()) not in (None, dimension):
            raise TutelageError(f"the covariance is for {size} inputs and there are {dimension}: give both the same")
        if self.mean is not None and len(self.mean) != dimension:
            raise TutelageError(f"the mean has {len(self.mean)} entries and there are {dimension} inputs")
        if self.covariance is None:
            ranks = torch.arange(1, dimension + 1, dtype=torch.float64)
            decay = self.decay or 0.0
            variances = torch.tensor(self.variances, dtype=torch.float64) if self.variances else ranks**-decay
            return variances.sqrt()
        if any(len(row) != dimension for row in self.covariance):
            raise TutelageError("the covariance must be a square matrix")
        c = torch.tensor(self.covariance, dtype=torch.float64)
        values, basis = torch.linalg.eigh((c + c.mT) / 2)
        if not torch.allclose(c, c.mT) or values.min() < -1e-10 * values.abs().max():
            raise TutelageError("the covariance must be symmetric and positive semidefinite")
        return basis * values.clamp_min(0).sqrt()

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        root = self._root(dimension).to(key.device)
        z = normals(key, count, dimension, torch.float64)
        x = z * root if root.ndim == 1 else product(z, root.mT)
        return (x + torch.tensor(self.mean, dtype=x.dtype, device=x.device) if self.mean else x).to(dtype)


class Mixture(Distribution):
    """Gaussian clusters of one standard deviation around centres, which are given or drawn.

    Drawn centres have a length of ``distance`` and random directions, the same for all members.
    """

    kind: Literal["mixture"] = "mixture"
    centres: tuple[tuple[FiniteFloat, ...], ...] | None = None
    """Centres of the clusters, one row each; default: drawn."""
    clusters: PositiveInt = 2
    """Number of drawn centres."""
    distance: NonNegativeFloat = 1.0
    """Length of drawn centres."""
    seed: int = 0
    """Seed of drawn centres."""
    std: NonNegativeFloat = 1.0
    """Standard deviation within a cluster."""

    @model_validator(mode="after")
    def _given_or_drawn(self) -> Self:
        unused = [
            name
            for name in ("clusters", "distance", "seed")
            if getattr(self, name) != type(self).model_fields[name].default
        ]
        if self.centres is not None and unused:
            raise ValueError(f"'{unused[0]}' has no effect where 'centres' are given: leave one of them out")
        return self

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        centres = self._centres(dimension).to(key.device)
        which = draws.indices(draws.mix(key + 1), count, len(centres))
        return (centres[which] + self.std * normals(key, count, dimension, torch.float64)).to(dtype)

    def _centres(self, dimension: int) -> Tensor:
        if self.centres is None:
            drawn = draws.normals(draws.keys([self.seed], "mixture centres"), self.clusters * dimension)
            return self.distance * torch.nn.functional.normalize(drawn.view(self.clusters, dimension), dim=1)
        if any(len(row) != dimension for row in self.centres):
            raise TutelageError(f"every centre of the mixture must have {dimension} entries, one per input")
        return torch.tensor(self.centres, dtype=torch.float64)


class Hypercube(Distribution):
    """Corners of a cube: independent coordinates -side or +side with equal probability."""

    kind: Literal["hypercube"] = "hypercube"
    side: PositiveFloat = 1.0
    """Absolute value of every coordinate."""

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        signs = 2 * draws.indices(key, count * dimension, 2) - 1
        return signs.view(-1, count, dimension).to(dtype) * self.side


class HiddenManifold(Distribution):
    r"""Points of few degrees of freedom in many dimensions (Goldt et al. 2020).

    .. math:: x = g(c F / \sqrt D), \qquad c \sim N(0, I_D)

    with a matrix F [D, d] of standard normal entries that all members share.
    """

    kind: Literal["hidden-manifold"] = "hidden-manifold"
    latent: PositiveInt = 10
    """Dimension D of the manifold."""
    fold: Literal["sign"] | ActivationName = "sign"
    """The function g of every coordinate: "sign", or the name of an activation."""
    seed: int = 0
    """Seed of the matrix F."""

    def features(self, dimension: int, device: torch.device | str = "cpu") -> Tensor:
        """The matrix F [D, d], float64."""
        keys = draws.keys([self.seed], "hidden manifold", device)
        return draws.normals(keys, self.latent * dimension).view(self.latent, dimension)

    def points(self, key: Tensor, count: int, dimension: int, dtype: torch.dtype) -> Tensor:
        latent = normals(key, count, self.latent, torch.float64)
        u = product(latent, self.features(dimension, key.device)) / self.latent**0.5
        return (u.sign() if self.fold == "sign" else find(self.fold).function(u, 0.01)).to(dtype)
