r"""How a set of samples is spread: the constants of an (eta, mu)-dataset (Tian 2020, Def. 6).

For every regular weight w and every e > 0

.. math:: N[|w \cdot x| \le e] \le \eta e N + (d + 1), \qquad N[|\tilde w \cdot \tilde x| \ge 1/e] \le \mu e^2 N

where the second has no bias. The least eta and mu are suprema over directions. Along one direction both are exact; over
all directions they are exact in one dimension, and in two dimensions for few samples, because the extreme directions
are then known. Otherwise eta is a lower bound over the directions tried, and mu lies between that and Chebyshev's
bound: N[|w~.x| >= r] r^2 <= sum (w~.x)^2 <= N lambda_max of the second moments.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError

_EXACT = 100  # samples in two dimensions up to which all pairs give the extreme directions
_ROUNDS = 60  # of Dinkelbach's method, which ends after a few


@dataclass(frozen=True)
class EtaMu:
    """eta: infinite where more than d + 1 samples lie on one hyperplane; mu_upper: Chebyshev's bound.

    exact: whether eta and mu are the suprema over all directions or lower bounds over those that were tried.
    """

    eta: float
    mu: float
    mu_upper: float
    exact: bool
    directions: int

    @property
    def method(self) -> str:
        if self.exact:
            return "exact"
        return f"lower bounds over {self.directions} directions; mu is at most mu_upper (Chebyshev)"

    def plain(self) -> dict[str, Any]:
        eta = self.eta if math.isfinite(self.eta) else None
        return {"eta": eta, "mu": self.mu, "mu_upper": self.mu_upper, "exact": self.exact, "method": self.method}


def eta_mu(points: Tensor, extra: Tensor | None = None, directions: int = 256, seed: int = 0) -> EtaMu:
    """The least eta and mu of one set of samples [N, d], or bounds on them, and the method that gave them.

    extra: directions to try besides those drawn, such as the weights of teacher and student units [R, d].

    >>> result = eta_mu(torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None])
    >>> round(result.eta, 6), round(result.mu, 6), result.method
    (0.777778, 0.25, 'exact')
    """
    if points.ndim != 2 or len(points) == 0:
        raise TutelageError(f"points must have shape [N, d], one set of samples, got {list(points.shape)}")
    points = points.to(torch.float64)
    samples, dimension = points.shape
    exact = dimension == 1 or (dimension == 2 and samples <= _EXACT)
    tried = _extreme(points) if exact else _tried(points, extra, directions, seed)
    projections = points @ tried.T  # [N, R]
    eta, mu = 0.0, 0.0
    for part in projections.split(max(1, (1 << 22) // samples), dim=1):
        eta = max(eta, float(widest_eta(part.T.contiguous(), dimension).max()))
        mu = max(mu, float(mu_along(part.T).max()))
    upper = float(torch.linalg.eigvalsh(points.T @ points / samples)[-1].clamp_min(0))
    return EtaMu(eta, mu, max(upper, mu), exact, len(tried))


def eta_along(heights: Tensor, dimension: int) -> Tensor:
    r"""The least eta for given hyperplanes: heights w.x of N samples, [R, N] -> [R].

    With |w.x| in ascending order, :math:`\eta = \max_i (i - (d+1)) / (|w \cdot x|_{(i)} N)` over i > d + 1.
    """
    count = heights.shape[1]
    if count <= dimension + 1:
        return heights.new_zeros(len(heights))
    size = heights.abs().sort(dim=1).values[:, dimension + 1 :]
    over = torch.arange(1, count - dimension, dtype=heights.dtype, device=heights.device)
    return (over / (size * count)).amax(1)


def mu_along(projections: Tensor) -> Tensor:
    r"""The least mu along given directions: projections [R, N] -> [R].

    With them in descending order, :math:`\mu = \max_i\, i\, |\tilde w \cdot x|_{(i)}^2 / N`.
    """
    size = projections.abs().sort(dim=1, descending=True).values
    rank = torch.arange(1, size.shape[1] + 1, dtype=size.dtype, device=size.device)
    return (rank * size.square()).amax(1) / size.shape[1]


def widest_eta(projections: Tensor, dimension: int) -> Tensor:
    """The least eta along given directions whatever the bias: projections [R, N] -> [R].

    The largest (count - (d + 1)) / (half-width N) over intervals, by Dinkelbach's method: with the best ratio so far,
    one sweep over the sorted projections finds an interval that beats it, or shows that there is none.
    """
    p = projections.sort(dim=1).values
    count = p.shape[1]
    eta = p.new_zeros(len(p))
    if count <= dimension + 1:
        return eta
    # An interval of width 0 with more than d + 1 samples has an infinite ratio, at which no sweep would arrive.
    piled = (p[:, dimension + 1 :] == p[:, : -(dimension + 1)]).any(1)  # more than d + 1 samples in one place
    rank = torch.arange(count, dtype=p.dtype, device=p.device)
    # Invariant: `eta` is 0 or the ratio of some interval. The sweep maximises number - (d + 1) - slope * width
    # over all intervals: it is positive exactly where a ratio above `eta` exists, and then the maximiser is taken,
    # whose ratio is larger. Ratios rise faster than linearly, so a few rounds do.
    for _ in range(_ROUNDS):
        slope = eta.unsqueeze(1) * count / 2
        gain = (slope * p - rank).cummax(dim=1)
        ends = (rank - slope * p)[:, dimension + 1 :] + gain.values[:, : -(dimension + 1)]
        at = ends.argmax(1, keepdim=True)
        first, last = gain.indices.gather(1, at), at + dimension + 1
        width = (p.gather(1, last) - p.gather(1, first)).squeeze(1)
        ratio = 2 * (last - first - dimension).squeeze(1) / (width * count)
        better = ~piled & (ratio > eta * (1 + 1e-12))
        if not bool(better.any()):
            break
        eta = torch.where(better, ratio, eta)
    return torch.where(piled, torch.inf, eta)


def _extreme(points: Tensor) -> Tensor:
    """The directions in which the suprema can lie in one or two dimensions, unit vectors [R, d].

    In the plane the width of a set of points is least across an edge of its hull, and the least projection of a set is
    largest along one of its points or where two projections are equal in size: normals to sums and differences.
    """
    if points.shape[1] == 1:
        return points.new_ones(1, 1)
    # Finitely many directions in the plane: between two of them the order of the projections does not change.
    i, j = torch.triu_indices(len(points), len(points), 1)
    edges = torch.cat([points[i] - points[j], points[i] + points[j]])
    normals = torch.stack([-edges[:, 1], edges[:, 0]], dim=1)
    return _unit(torch.cat([normals, points, torch.eye(2, dtype=points.dtype)]))


def _tried(points: Tensor, extra: Tensor | None, directions: int, seed: int) -> Tensor:
    """Random directions, those of some samples, of the axes of the second moments, and the extra ones: [R, d]."""
    samples, d = points.shape
    random = draws.normals(draws.keys([seed], "eta-mu"), directions * d).view(directions, d).to(points.device)
    axes = torch.linalg.eigh(points.T @ points / samples).eigenvectors.T
    some = draws.indices(draws.keys([seed], "eta-mu-samples"), min(directions, samples), samples)[0]
    parts = [random, axes, points[some.to(points.device)]]
    if extra is not None:
        parts.append(extra.to(points))
    return _unit(torch.cat(parts))


def _unit(directions: Tensor) -> Tensor:
    length = directions.norm(dim=1, keepdim=True)
    return directions[length[:, 0] > 0] / length[length[:, 0] > 0]
