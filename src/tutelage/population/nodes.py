r"""What single samples add to the overlaps, for activations without closed forms: rules in as many dimensions as units.

.. math:: E[\delta_k \delta_l] = E[\sigma'(\lambda_k) \sigma'(\lambda_l)\,
    (c_k \cdot e)(c_l \cdot e)], \qquad e = f - f^*

is an average of one function over the K + M pre-activations. Up to four of them Gauss and Hermite's product rule is
used, beyond that Sobol points (Owen 1998) as normal numbers, symmetric and with the covariance of the identity. The
error e is formed at every node, so that the term is 0 for perfect students whatever the rule. Splitting it into
expectations of four units, as is done where these have closed forms, would take as many integrals as there are
quadruples, and cancel.
"""

from functools import cache

import numpy as np
import torch
from scipy.special import ndtri
from scipy.stats.qmc import Sobol
from torch import Tensor

from tutelage import draws
from tutelage.networks.activations import value_and_derivative
from tutelage.population.overlaps import Overlaps

PER_AXIS = {2: 64, 3: 32, 4: 18}
"""Nodes per axis of the product rule, by the number of units; more for four would cost more than they are worth."""
POINTS = 1 << 15
"""Sobol points beyond four units: errors of about 1e-3 at eight."""
_CHUNK = 1 << 22  # numbers formed at a time


@cache
def rule(units: int, shorter: bool = False) -> tuple[Tensor, Tensor]:
    """Nodes [N, units] and weights [N] for standard normal numbers; shorter: a rule to measure the error by."""
    if units in PER_AXIS:
        per_axis = PER_AXIS[units] * 3 // 4 if shorter else PER_AXIS[units]
        x, weight = np.polynomial.hermite_e.hermegauss(per_axis)
        grid = np.stack(np.meshgrid(*[x] * units, indexing="ij"), -1).reshape(-1, units)
        weights = np.prod(np.stack(np.meshgrid(*[weight / weight.sum()] * units, indexing="ij"), -1), -1).reshape(-1)
        kept = weights > 1e-13  # most of the product are corners of no weight
        return torch.from_numpy(grid[kept]), torch.from_numpy(weights[kept] / weights[kept].sum())
    count = POINTS // 4 if shorter else POINTS // 2
    bits = (Sobol(units, scramble=False).random(count) * 2**30).astype(np.int64)
    # A digital shift keeps the points a net and moves them off the corner at 0; scrambling depends on SciPy's version.
    shift = draws.indices(draws.keys([0], "Sobol shift"), units, 1 << 30).numpy()
    z = ndtri(((bits ^ shift) + 0.5) / 2**30)
    z = np.concatenate([z, -z])
    z = np.linalg.solve(np.linalg.cholesky(z.T @ z / len(z)), z.T).T
    return torch.from_numpy(z), torch.full((len(z),), 1 / len(z), dtype=torch.float64)


def sampled_noise(now: Overlaps, shorter: bool = False) -> Tensor:
    """E[delta_k delta_l] by the rule for so many units, without the noise of labels: [S, K, K]."""
    z, weights = rule(now.q.shape[1] + now.t.shape[1], shorter)
    root, count = now.root(), now.q.shape[1]
    both, mean, offset = torch.cat([now.c, -now.taught], 1), now.means.unsqueeze(1), now.offset.unsqueeze(1)
    total = torch.zeros_like(now.q)
    size = max(1, _CHUNK // (len(root) * z.shape[1]))
    for begin in range(0, len(z), size):
        part = slice(begin, begin + size)
        active, bend = value_and_derivative(now.activation, z[part] @ root + mean, now.slope)  # [S, N, K + M]
        delta = bend[..., :count] * ((active @ both + offset) @ now.c.mT)
        total += delta.mT @ (delta * weights[part, None])
    return total
