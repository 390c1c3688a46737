"""What Phuong 2021, chapter 4 says with both sides known: exact twins of its bound and of its optima, in float64."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.autoencoders.exact import grid
from tutelage.autoencoders.objective import standard_normal
from tutelage.errors import TutelageError
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class Infomax:
    """The two sides of the infomax inequality, [S] each.

    Attributes
    ----------
    information
        I(x; z).
    bound
        H(z) + E log r(z|x).
    gap
        E KL(p(z|x) || r(z|x)), their difference.
    """

    information: Tensor
    bound: Tensor
    gap: Tensor


def infomax_of_table(joint: Tensor, r: Tensor) -> Infomax:
    """Both sides of the infomax inequality for discrete z and x (Phuong 2021, Theorem 4.1).

    Parameters
    ----------
    joint
        p(z, x), [S, Z, X].
    r
        Conditionals that sum to 1 over z, [S, Z, X].

    Returns
    -------
    Infomax

    Examples
    --------
    >>> joint = torch.tensor([[[0.4, 0.1], [0.1, 0.4]]], dtype=torch.float64)
    >>> found = infomax_of_table(joint, joint / joint.sum(1, keepdim=True))
    >>> round(float(found.information), 6), round(float(found.information - found.bound), 12)
    (0.192745, 0.0)
    """
    joint, r = doubles(joint, "joint"), doubles(r, "r")
    if joint.shape != r.shape or joint.ndim != 3 or not joint.numel():
        raise TutelageError(
            f"joint and r must both have shape [members, z, x], got {list(joint.shape)} and {list(r.shape)}"
        )
    off = max(float((joint.sum((1, 2)) - 1).abs().max()), float((r.sum(1) - 1).abs().max()))
    if not off <= 1e-6 or joint.min() < 0 or r.min() < 0:
        raise TutelageError(
            "a table is no distribution: p(z, x) sums to 1 in all, r(z|x) sums to 1 over z, and none is negative"
        )
    if ((r == 0) & (joint > 0)).any():
        raise TutelageError("r(z|x) is 0 where p(z, x) is not: the bound is minus infinity; give r some mass there")
    of_z, of_x = joint.sum(2, keepdim=True), joint.sum(1, keepdim=True)
    # xlogy makes 0 log 0 = 0, and a column without mass is divided by the smallest number instead of 0.
    posterior = joint / of_x.clamp_min(torch.finfo(torch.float64).tiny)
    entropy = -torch.special.xlogy(of_z, of_z).sum((1, 2))
    given = torch.special.xlogy(joint, posterior).sum((1, 2))
    scored = torch.special.xlogy(joint, r).sum((1, 2))
    gap = (torch.special.xlogy(joint, posterior) - torch.special.xlogy(joint, r)).sum((1, 2))
    return Infomax(entropy + given, entropy + scored, gap)


def best_elbo(mean: Tensor, log_std: Tensor, probabilities: Tensor, points: int | None = None) -> Tensor:
    """ELBO of normal encoders of symbols with the best possible decoder (Phuong 2021, Theorem 4.2).

    That decoder is q(x|z), and the ELBO is -H(q(x)) - KL(q(z) || p(z)), where q(z) is the mixture of the codes.

    Parameters
    ----------
    mean, log_std
        Of the codes, [S, K, k].
    probabilities
        Of the symbols, [K].
    points
        Grid points per axis.

    Returns
    -------
    Tensor
        [S].

    Examples
    --------
    >>> mean, log_std = torch.tensor([[[-3.0], [3.0]]]), torch.zeros(1, 2, 1)  # two symbols, two codes apart
    >>> best_elbo(mean, log_std, torch.tensor([0.5, 0.5])).shape
    torch.Size([1])
    """
    mean, log_std, weight = (
        doubles(v, n) for v, n in ((mean, "mean"), (log_std, "log_std"), (probabilities, "probabilities"))
    )
    if mean.ndim != 3 or log_std.shape != mean.shape or weight.shape != mean.shape[1:2]:
        raise TutelageError(
            f"mean and log_std must be [S, K, k] and probabilities [K], got {list(mean.shape)}, {list(log_std.shape)} "
            f"and {list(weight.shape)}"
        )
    if not abs(float(weight.detach().sum()) - 1) <= 1e-6 or weight.min() < 0:
        raise TutelageError("probabilities of symbols must be at least 0 and sum to 1")
    z, log_dz = grid(mean.shape[-1], points)
    mean, log_std = mean.unsqueeze(2), log_std.unsqueeze(2)
    each = standard_normal((z - mean) * (-log_std).exp()) - log_std.sum(-1)  # [S, K, P]
    log_q = (each + weight.log().unsqueeze(1)).logsumexp(1)
    q = (log_q + log_dz).exp()
    if not float((q.detach().sum(1) - 1).abs().max()) <= 1e-3:
        raise TutelageError("the grid does not hold the codes: they are too narrow or too far out; ask for more points")
    return torch.special.xlogy(weight, weight).sum() - (q * (log_q - standard_normal(z))).sum(1)


@printed
@dataclass(frozen=True)
class NormalOptimum:
    """Best model of N(0, 1) with information M: decoder N(rho z, 1 - rho^2), encoder N(rho x, 1 - rho^2).

    Attributes
    ----------
    rho, deviation
        Of the decoder.
    elbo
        Its ELBO.
    """

    rho: float
    deviation: float
    elbo: float


def normal_optimum(target: float) -> NormalOptimum:
    """Best model of N(0, 1) with a given information.

    Its marginal is the data's and its ELBO has no gap, so the ELBO is -log(2 pi e)/2 for every M: a VAE's objective
    does not prefer one amount of information here.

    Parameters
    ----------
    target
        M in nats.

    Returns
    -------
    NormalOptimum

    Examples
    --------
    >>> one = normal_optimum(1.0)
    >>> round(one.deviation, 6), round(-0.5 * math.log(1 - one.rho**2), 6), round(one.elbo, 6)
    (0.367879, 1.0, -1.418939)
    """
    if not 0 <= target < math.inf:
        raise TutelageError(f"a target of {target:g} nats cannot be met: information is finite and at least 0")
    rho = math.sqrt(abs(math.expm1(-2 * target)))
    return NormalOptimum(rho, math.exp(-target), -0.5 * math.log(2 * math.pi * math.e))
