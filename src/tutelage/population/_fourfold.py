r"""Expected products of two slopes and two units of Gaussian arguments: the integrals behind the noise of online SGD.

.. math:: I_4(k, l, p, q) = E[\sigma'(u_k)\, \sigma'(u_l)\, \sigma(u_p)\, \sigma(u_q)], \qquad u \sim N(0, C)

erf(u / sqrt 2): the two slopes are Gaussian themselves, so they only change the covariance, and the arcsine of
:mod:`.kernels` is left (the closed form of Saad and Solla 1995). Exact up to rounding.

Gate activations, :math:`\sigma(u) = a u + b |u|`: let the covariances between the slopes' arguments (k, l) and the
units' (p, q) grow as s C from s = 0, where the two pairs are independent, to s = 1. By Price's theorem the derivative
is a sum of four terms :math:`C_{kp} E[2 b\, \delta(u_k)\, \sigma'(u_l)\, \sigma'(u_p)\, \sigma(u_q)]`, and each of them
is elementary: given u_k = 0, three variables are left, and Stein's lemma turns

.. math:: E[\sigma'(x) \sigma'(y) \sigma(z)] = \sum_{v \in \{x, y, z\}} c_{zv} \frac{2 b}{\sqrt{2 \pi c_{vv}}}
    \left(a^2 + b^2 \tfrac{2}{\pi} \arcsin \rho(\text{other two} \mid v = 0)\right)

into partial correlations. One integral over s is left. It goes over s = sin(t), which takes away the square roots at
s = 1, by Gauss and Legendre's rule with ``NODES`` points.
"""

import math

import numpy as np
import torch
from torch import Tensor

from tutelage.networks.activations import hermite
from tutelage.population.kernels import odd_and_even

NODES = 24
"""Points of the rule: an error of about 1e-7 of the size of the integral, up to 1e-5 where two arguments agree to one
part in a million."""
_SAME = 1e-13  # a variance below this share of what it was before conditioning is rounding


def fourfold(covariance: Tensor, count: int, activation: str, slope: float = 0.01, nodes: int = NODES) -> Tensor:
    """I_4 for k, l among the first ``count`` arguments and p, q among all: C [S, N, N] -> [S, count, count, N, N].

    >>> C = torch.eye(2, dtype=torch.float64)[None]
    >>> I = fourfold(C, 2, "relu")
    >>> round(I[0, 0, 0, 0, 0].item(), 6), round(I[0, 0, 1, 0, 1].item(), 6)  # 1/2, and 1/sqrt(2 pi) squared
    (0.5, 0.159155)
    """
    if activation == "erf":
        return _erf(covariance, count)
    if activation.startswith("hermite-"):
        return _polynomials(covariance, count, int(activation.removeprefix("hermite-")))
    return _gates(covariance, count, *odd_and_even(activation, slope), nodes)


def tilted(c: Tensor, count: int) -> tuple[Tensor, tuple[Tensor, Tensor], tuple[Tensor, ...], Tensor]:
    r"""The covariance that is left by sigma'(u) = sqrt(2 / pi) exp(-u^2 / 2) of k and l.

    With the 2 x 2 block B of (k, l): C - C_B (1 + B)^{-1} C_B^T [S, k, l, N, N], the two columns of C_B (1 + B)^{-1}
    [S, k, l, N] each, the entries kk, ll and kl of (1 + B)^{-1} and det(1 + B) [S, k, l].
    """
    diagonal = c.diagonal(dim1=1, dim2=2)[:, :count]
    block = c[:, :count, :count]
    first, second = (1 + diagonal).unsqueeze(2), (1 + diagonal).unsqueeze(1)
    determinant = first * second - block**2
    rows_k, rows_l = c[:, :count, None], c[:, None, :count]  # [S, k, 1, N], [S, 1, l, N]
    inverse = tuple(x / determinant for x in (second.expand_as(block), first.expand_as(block), -block))
    kk, ll, kl = (entry.unsqueeze(-1) for entry in inverse)
    left, right = kk * rows_k + kl * rows_l, kl * rows_k + ll * rows_l
    cut = left.unsqueeze(-1) * rows_k.unsqueeze(-2) + right.unsqueeze(-1) * rows_l.unsqueeze(-2)
    return c[:, None, None] - cut, (left, right), inverse, determinant


def _erf(c: Tensor, count: int) -> Tensor:
    """The weight is (2 / pi) / sqrt det(1 + B), and the arcsine is left."""
    now, _, _, determinant = tilted(c, count)
    size = 1 + now.diagonal(dim1=3, dim2=4)
    sine = now / (size.unsqueeze(-1) * size.unsqueeze(-2)).sqrt()
    return (2 / math.pi) ** 2 * torch.asin(sine.clamp(-1, 1)) / determinant.sqrt()[..., None, None]


def _polynomials(c: Tensor, count: int, order: int) -> Tensor:
    """Hermite polynomials: a product rule of Gauss and Hermite with 2k points per axis is exact for them."""
    # Two slopes of degree k - 1 and two units of degree k are of degree 4k - 2 along any axis, and 2k nodes are exact
    # up to 4k - 1. The price is (2k)^4 nodes for each of the combinations.
    x, weight = np.polynomial.hermite_e.hermegauss(2 * order)
    z = torch.from_numpy(np.stack(np.meshgrid(x, x, x, x, indexing="ij"), -1).reshape(-1, 4)).to(c)
    weight = weight / weight.sum()
    weights = torch.from_numpy(np.einsum("i,j,k,l->ijkl", *[weight] * 4).reshape(-1)).to(c)
    size = c.shape[1]
    k, l, p, q = (
        a.reshape(-1) for a in torch.meshgrid(*[torch.arange(n) for n in (count, count, size, size)], indexing="ij")
    )
    out = torch.empty(len(c), len(k), dtype=c.dtype, device=c.device)
    for place, four in enumerate(torch.stack([k, l, p, q], 1)):
        # A root by eigenvalues, not Cholesky's: where two of the four arguments are the same, the covariance is
        # singular.
        values, basis = torch.linalg.eigh(c[:, four[:, None], four[None]])
        u = z @ (basis * values.clamp_min(0).sqrt().unsqueeze(1)).mT  # [S, nodes, 4]
        slopes = order * hermite(u[..., 0], order - 1) * hermite(u[..., 1], order - 1)
        out[:, place] = (slopes * hermite(u[..., 2], order) * hermite(u[..., 3], order)) @ weights
    return out.view(len(c), count, count, size, size)


def _gates(c: Tensor, count: int, a: float, b: float, nodes: int) -> Tensor:
    """The value at s = 0 and the integral of the four terms of Price's theorem."""
    variance = c.diagonal(dim1=1, dim2=2).clamp_min(torch.finfo(c.dtype).tiny)
    root = variance.sqrt()
    # Units are homogeneous of degree 1 and slopes of degree 0, so all is computed for variances 1, and the lengths of p
    # and q multiply the result.
    rho = (c / (root.unsqueeze(2) * root.unsqueeze(1))).clamp(-1, 1)
    sines = torch.asin(rho)
    slopes = a * a + b * b * 2 / math.pi * sines[:, :count, :count]
    shape = ((1 - rho) * (1 + rho)).clamp_min(0).sqrt() + sines * rho
    units = root.unsqueeze(2) * root.unsqueeze(1) * (a * a * rho + b * b * 2 / math.pi * shape)
    start = slopes[..., None, None] * units[:, None, None]
    if b == 0:
        return start
    # Nodes over t from 0 to pi/2 with s = sin(t); `speed` is the weight times ds/dt.
    x, weight = np.polynomial.legendre.leggauss(nodes)
    angle = torch.from_numpy((x + 1) * math.pi / 4).to(c)
    speed = torch.from_numpy(weight * math.pi / 4).to(c) * angle.cos()
    # The term that correlates k with p gives the other three by symmetry: p and q exchanged, then k and l.
    terms = _first_with_first(rho, count, angle.sin(), a, b) @ speed  # [S, k, l, p, q]
    terms = terms + terms.transpose(3, 4)
    terms = terms + terms.transpose(1, 2)
    return start + terms * (root.unsqueeze(2) * root.unsqueeze(1))[:, None, None]


def _first_with_first(c: Tensor, count: int, s: Tensor, a: float, b: float) -> Tensor:
    """C_kp E[2 b delta(u_k) sigma'(u_l) sigma'(u_p) sigma(u_q)] with variances 1, at every s: [S, k, l, p, q, s]."""
    k_with = c[:, :count]
    kl = c[:, :count, :count, None, None, None]
    kp, kq = k_with[:, :, None, :, None, None], k_with[:, :, None, None, :, None]
    lp, lq = k_with[:, None, :, :, None, None], k_with[:, None, :, None, :, None]
    pq = c[:, None, None, :, :, None]
    ll, pp, qq = 1 - kl**2, 1 - (s * kp) ** 2, 1 - (s * kq) ** 2  # all given u_k = 0
    between = s * (lp - kl * kp), s * (lq - kl * kq), pq - s**2 * kp * kq
    return kp * 2 * b / math.sqrt(2 * math.pi) * _threefold(ll, pp, qq, *between, a, b)


def _threefold(xx: Tensor, yy: Tensor, zz: Tensor, xy: Tensor, xz: Tensor, yz: Tensor, a: float, b: float) -> Tensor:
    """E[sigma'(x) sigma'(y) sigma(z)] from the covariance of the three, whose variances are shares of 1."""
    total = torch.zeros((), dtype=xx.dtype, device=xx.device)
    # One term of Stein's sum per variable v, in the order z, x, y: its variance, its covariance with z, and the
    # variances and covariances of the other two, which are conditioned on v = 0.
    for vv, zv, one, other, both, with_one, with_other in (
        (zz, zz, xx, yy, xy, xz, yz),
        (xx, xz, yy, zz, yz, xy, xz),
        (yy, yz, xx, zz, xz, xy, yz),
    ):
        there = vv > _SAME
        inverse = torch.where(there, 1 / torch.where(there, vv, 1), 0)
        partial = _correlation(both - with_one * with_other * inverse, one - with_one**2 * inverse,
                               other - with_other**2 * inverse)  # fmt: skip
        total = total + zv * inverse.sqrt() * (a * a + b * b * 2 / math.pi * torch.asin(partial))
    return total * 2 * b / math.sqrt(2 * math.pi)


def _correlation(covariance: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Covariance over the root of two variances, 0 where a variance is none."""
    there = (first > _SAME) & (second > _SAME)
    return torch.where(there, covariance / torch.where(there, first * second, 1).sqrt(), 0).clamp(-1, 1)
