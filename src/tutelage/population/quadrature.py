r"""Expected products of two units whose activation has no closed form here, by quadrature.

With the lengths a = |w| and b = |v| and the cosine :math:`\rho` of two units, :math:`u = a z_1` and :math:`v = b (\rho
z_1 + \sqrt{1 - \rho^2} z_2)` with independent standard normal z. The trapezoidal rule converges exponentially for
functions that are analytic near the real axis. The rule with ``NODES`` points per axis is compared with a coarser one:
where the two differ by more than ``TOLERANCE``, as for functions with kinks or units so long that a smooth function
looks like one, an error is raised instead of a number that is not exact. Where integrands cancel, as those of
orthogonal units, a difference within ``ROUNDING`` of their size is no error of the rule.
"""

from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.activations import value_and_derivative

NODES = 200
"""Points of the rule per axis."""
FEW = 72
"""Points that are tried first: enough for smooth activations of units of length 1, at a ninth of the cost."""
AGREED = 1e-12
"""Largest relative difference from three quarters of them with which they are enough."""
TOLERANCE = 1e-7
"""Largest difference from the shorter rule, relative to the largest product."""
ROUNDING = 1e-13
"""Difference that rounding explains, relative to the largest expectation of an integrand's absolute value."""
_REACH = 11.0  # of the rule on either side, where the density is below 1e-26
_CHUNK = 1 << 22  # values of integrands formed at a time


@cache
def _rule(nodes: int) -> tuple[Tensor, Tensor]:
    # The trapezoidal rule, not Gauss and Hermite's: its error falls exponentially for analytic functions, and rules of
    # different lengths are cheap to compare. Weights are divided by their sum, so constants are exact.
    x = torch.linspace(-_REACH, _REACH, nodes, dtype=torch.float64)
    weight = torch.exp(-x * x / 2)
    return x, weight / weight.sum()


def expected(
    first: Tensor, second: Tensor, cosine: Tensor, activation: str, what: str = "values",
    biases: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Expectations of all pairs: lengths [S, p], [S, q] and cosines [S, p, q] -> [S, p, q] each.

    what: "values" for E[sigma(u) sigma(v)]; "slopes" for E[sigma'(u) sigma'(v)] and E[sigma'(u) sigma(v) z_1], and with
    biases [S, p], [S, q] of the units also E[sigma'(u) sigma(v)].
    """
    sizes = (first, second) if biases is None else (first, second, *biases)
    columns = torch.broadcast_tensors(cosine, *(t.unsqueeze(1 + (place + 1) % 2) for place, t in enumerate(sizes)))
    rho, *units = (t.reshape(-1).double().cpu() for t in columns)
    few, fewer = (_integrated(units, rho, activation, what, nodes) for nodes in (FEW, 3 * FEW // 4))
    if all(not x.numel() or (x - y).abs().max() <= AGREED * x.abs().max() for x, y in zip(few, fewer, strict=True)):
        return tuple(x.view(cosine.shape).to(cosine.device) for x in few)
    fine, coarse = (_integrated(units, rho, activation, what, nodes) for nodes in (NODES, 3 * NODES // 4))
    for place, (x, y) in enumerate(zip(fine, coarse, strict=True)):
        if not x.numel() or (off := (x - y).abs().max()) <= TOLERANCE * x.abs().max().clamp_min(1e-12):
            continue
        # Only where the two rules differ: the size of the integrand, to tell cancellation from an activation that is
        # not smooth.
        size = _integrated(units, rho, activation, what, NODES, torch.abs)[place].max()
        if not off <= ROUNDING * size:
            raise TutelageError(
                f"there is no exact expectation for the activation '{activation}' with units of length "
                f"{float(max(first.max(), second.max())):.3g}: it is not smooth enough there for quadrature; use "
                "shorter units, another activation, or losses on samples"
            )
    return tuple(x.view(cosine.shape).to(cosine.device) for x in fine)


def _integrated(
    units: Sequence[Tensor], rho: Tensor, activation: str, what: str, nodes: int,
    of: Callable[[Tensor], Tensor] = lambda f: f,
) -> tuple[Tensor, ...]:  # fmt: skip
    """units: lengths of both units of every pair, and their biases where they have some, [P] each."""
    z, weight = _rule(nodes)
    a, b, *biases = (column[:, None] for column in units)
    sine = ((1 - rho) * (1 + rho)).clamp_min(0).sqrt()
    # Every pair needs nodes^2 values, 40,000 at 200 nodes: pairs are taken some at a time to bound the memory.
    size, parts = max(1, _CHUNK // nodes**2), []
    for begin in range(0, max(len(a), 1), size):
        part = slice(begin, begin + size)
        u = a[part] * z
        v = b[part, None] * (rho[part, None, None] * z[:, None] + sine[part, None, None] * z)
        if biases:
            u, v = u + biases[0][part], v + biases[1][part, None]
        integrands = _values(u, v, activation) if what == "values" else _slopes(u, v, z, activation, bool(biases))
        parts.append([((of(f) @ weight) * weight).sum(1) for f in integrands])
    return tuple(torch.cat(columns) for columns in zip(*parts, strict=True))


def _values(u: Tensor, v: Tensor, activation: str) -> tuple[Tensor, ...]:
    return (value_and_derivative(activation, u)[0].unsqueeze(2) * value_and_derivative(activation, v)[0],)


def _slopes(u: Tensor, v: Tensor, z: Tensor, activation: str, level: bool) -> tuple[Tensor, ...]:
    bend = value_and_derivative(activation, u)[1].unsqueeze(2)
    value, slope = value_and_derivative(activation, v)
    both = bend * value
    return (bend * slope, both * z[:, None], both) if level else (bend * slope, both * z[:, None])
