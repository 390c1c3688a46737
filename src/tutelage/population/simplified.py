r"""The simplified training dynamics of Tian 2019, section 5: what is left when only directions and lengths matter.

.. math::
    \dot w_k = \|w_k\| r_k, \qquad r_k = \sum_j \alpha_{jk} \psi(\theta_{jk}) w^*_j
    - \sum_{k'} \beta_{k'k} \psi(\theta_{k'k}) w_{k'} - \nu w_k \qquad (Tian 2019, eq. 8)

with :math:`\psi(\pi) = 0`; for spherical inputs :math:`\psi(\theta) = \pi - \theta` up to a factor (Theorem 6).
Whatever the residues are, :math:`\frac{d}{dt} \ln (\|w_k\| / \|w_{k'}\|) = \bar w_k r_k - \bar w_{k'} r_{k'}`
(Theorem 7).
"""

import math
from collections.abc import Callable, Sequence

import torch
from scipy.integrate import quad
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.population.integrate import integrate
from tutelage.population.kernels import pairs

Psi = Callable[[Tensor], Tensor]


def spherical(angle: Tensor) -> Tensor:
    """psi of spherically symmetric inputs, 1 at angle 0 (Tian 2019, Theorem 6): 1 - theta / pi."""
    return 1 - angle / math.pi


def residues(
    w: Tensor, teacher: Tensor, alpha: Tensor, beta: Tensor, psi: Psi = spherical, decay: float = 0.0
) -> Tensor:
    """r_k of eq. 8: w [S, n, d], teacher [S, m, d], alpha [S, m, n], beta [S, n, n] -> [S, n, d]."""
    towards = alpha * psi(pairs(teacher, w).angle)
    away = beta * psi(pairs(w, w).angle)
    return towards.mT @ teacher - away.mT @ w - decay * w


def simplified_flow(residue: Callable[[Tensor], Tensor], start: Tensor, times: Sequence[float]) -> Tensor:
    """w [T, S, n, d] of dw_k/dt = |w_k| r_k from start [S, n, d]; ``residue`` maps w [A, n, d] to r."""
    shape = start.shape[1:]

    def slope(t: Tensor, y: Tensor, who: Tensor) -> Tensor:
        w = y.view(-1, *shape)
        return (w.norm(dim=2, keepdim=True) * residue(w)).flatten(1)

    return integrate(slope, start.flatten(1), times).view(len(times), -1, *shape)


def common_residue(target: Tensor, weights: Tensor, bonus: Tensor | None = None) -> Callable[[Tensor], Tensor]:
    r"""The symmetric case r_k = w* - sum_k' a_k' w_k', with a bonus e_k w* for some (Tian 2019, after Theorem 7).

    target w* [d], weights a [n] above 0, bonus e [n]. Without a bonus the h_k = wbar_k.r obey
    :math:`\dot h_k = \|r\|^2 - h_k^2 - S h_k`, with :math:`S = \sum_k a_k \|w_k\|` (Tian 2019, eq. 68): negative
    feedback, so lengths keep their ratios in the end; with one the length of that node over another's grows
    exponentially, as the paper says, but not for ever: the residue left is -e w*, which turns the loser round, and it
    grows on the other side.
    """
    if bool((weights <= 0).any()):
        raise TutelageError("the weights a_k of the common residue must all be above 0")
    extra = torch.zeros_like(weights) if bonus is None else bonus

    def residue(w: Tensor) -> Tensor:
        r = target - torch.einsum("n,snd->sd", weights, w)
        return r.unsqueeze(1) + extra[:, None] * target

    return residue


def departure_time(
    gap: float, until: float, alpha: float = 1.0, psi: Callable[[float], float] = lambda t: 1 - t / math.pi
) -> float:
    r"""Time for one student to turn from theta = pi - gap to theta = until (Tian 2019, eq. 10).

    .. math:: \dot\theta = -\alpha \psi(\theta) \sin\theta, \qquad
        t = \int_{until}^{\pi - gap} \frac{d\theta}{\alpha \psi(\theta) \sin\theta}

    Near pi both factors vanish, so t grows like :math:`\pi / (\alpha\, gap)` for spherical inputs: a student opposite
    to its teacher takes for ever.

    >>> round(departure_time(1e-3, math.pi / 2) * 1e-3 / math.pi, 2)
    1.0
    """
    if not 0 < gap < math.pi - until or not until > 0:
        raise TutelageError(
            f"a departure goes from pi - gap down to an angle above 0: gap {gap} and until {until} do not"
        )
    # Over u = log(pi - theta): the integrand grows as 1/gap^2 towards pi, and in u every decade of the gap has the same
    # room.
    inverse, _ = quad(lambda u: math.exp(u) / (alpha * psi(math.pi - math.exp(u)) * math.sin(math.exp(u))),
                      math.log(gap), math.log(math.pi - until), epsabs=0, epsrel=1e-11, limit=200)  # fmt: skip
    return inverse


def lotka_volterra(start: Tensor, growth: Tensor, competition: Tensor, times: Sequence[float]) -> Tensor:
    r"""Competing species, :math:`\dot x_k = x_k (g_k - \sum_{k'} A_{kk'} x_{k'})`: the comparison of Tian 2019, section
    5.3.

    start [S, n] above 0, growth [n], competition [n, n] -> [T, S, n]. Lengths of aligned students obey it: with all
    :math:`\bar w_k = \bar w^*` eq. 8 gives :math:`g_k = \|w^*\|` and :math:`A_{kk'} = a_{k'}`.
    """
    if bool((start < 0).any()):
        raise TutelageError("numbers of species must be at least 0")
    return integrate(lambda t, x, who: x * (growth - x @ competition.mT), start, times)
