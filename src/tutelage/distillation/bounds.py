r"""Bounds on the expected transfer risk from the angles between data and teacher (Phuong 2021, section 5.3.2).

All follow from the reverse distribution :math:`p(\theta) = P[\bar\alpha(w_*, x) \ge \theta]` (Phuong 2021, eq. 5.17),
given as a function of a tensor of angles.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.whole import positive

Reverse = Callable[[Tensor], Tensor]
"""theta in [0, pi/2] -> P[angle >= theta], any shape."""


@dataclass(frozen=True)
class Bound:
    """A bound on the expected risk, and the beta at which it is least."""

    value: float
    beta: float


def risk_bound(p: Reverse, count: int, beta: Tensor, *, tighter: bool = False, delta: float = 0.0) -> Tensor:
    r"""Bound on the expected transfer risk for n < d (Phuong 2021, Theorem 5.3, eqs. 5.19 and D.43).

    .. math:: p(\beta) + p(\pi/2 - \delta - \beta)^n

    Parameters
    ----------
    p
        theta -> P[angle >= theta].
    count
        n.
    beta
        Any angles in [0, pi/2 - delta].
    tighter
        Whether to put the factor 1 - p(beta) before the second term, which the proof gives.
    delta
        Angle by which a student may miss w_hat (Theorem D.4).

    Returns
    -------
    Tensor
        Of the shape of beta.
    """
    count = positive(count, "count")
    beta = torch.as_tensor(beta, dtype=torch.float64)
    inside = (beta >= 0) & (beta <= math.pi / 2 - delta + 1e-12)
    if not bool(inside.all()) or not 0 <= delta <= math.pi / 2:
        raise TutelageError(f"beta must lie in [0, pi/2 - delta] with delta in [0, pi/2], and delta is {delta:.3g}")
    hard, unseen = p(beta), p((math.pi / 2 - delta - beta).clamp_min(0)) ** count
    return hard + (1 - hard) * unseen if tighter else hard + unseen


def best_bound(p: Reverse, count: int, *, tighter: bool = False, delta: float = 0.0) -> Bound:
    """Smallest :func:`risk_bound` over beta.

    Parameters
    ----------
    p
        theta -> P[angle >= theta].
    count
        n.
    tighter, delta
        As in :func:`risk_bound`.

    Returns
    -------
    Bound
        By a grid that is refined three times.

    Examples
    --------
    >>> uniform = best_bound(lambda theta: 1 - 2 * theta / math.pi, 20)
    >>> round(uniform.value, 3)
    0.189
    """
    low, high = 0.0, math.pi / 2 - delta
    # Each round looks between the neighbours of the best point of the last: four of 2,001 points find beta to 1e-12.
    # Any beta gives a valid bound, so a local minimum would only be looser.
    for _ in range(4):
        beta = torch.linspace(low, high, 2001, dtype=torch.float64)
        value = risk_bound(p, count, beta, tighter=tighter, delta=delta)
        i = int(value.argmin())
        low, high = float(beta[max(i - 1, 0)]), float(beta[min(i + 1, 2000)])
    return Bound(float(value[i]), float(beta[i]))


def margin_bound(p: Reverse, count: int, beta: float) -> float:
    """Bound gamma^n with gamma = p(pi/2 - beta), where p(beta) = 0 and gamma < 1 (Phuong 2021, Corollary 5.1).

    Parameters
    ----------
    p
        theta -> P[angle >= theta].
    count
        n.
    beta
        An angle with p(beta) = 0.

    Returns
    -------
    float
    """
    count = positive(count, "count")
    at = p(torch.tensor([beta, math.pi / 2 - beta], dtype=torch.float64))
    if float(at[0]) != 0 or float(at[1]) >= 1:
        raise TutelageError(
            f"this task has no margin at beta = {beta:.3g}: p(beta) = {float(at[0]):.3g} should be 0, and "
            f"p(pi/2 - beta) = {float(at[1]):.3g} less than 1"
        )
    return float(at[1]) ** count


def polynomial_bound(kappa: float, count: int) -> float:
    """Bound (1 + (log n)^kappa) / n^kappa, where p(theta) <= (1 - 2 theta / pi)^kappa (Phuong 2021, Corollary 5.2).

    Parameters
    ----------
    kappa
        Degree.
    count
        n.

    Returns
    -------
    float

    Examples
    --------
    >>> round(polynomial_bound(1.0, 20), 3)
    0.2
    """
    _check_power(kappa, count)
    return (math.log(count) / count) ** kappa + count**-kappa


def polynomial_step(kappa: float, count: int) -> float:
    """The step before it in the proof, from beta = (pi/2) n^(-1/n): (1 - n^(-1/n))^kappa + n^-kappa (Phuong 2021, eq.
    5.23).
    """
    _check_power(kappa, count)
    return float((-math.expm1(-math.log(count) / count)) ** kappa + count**-kappa)


def _check_power(kappa: float, count: int) -> None:
    positive(count, "count")
    if not 0 <= kappa < math.inf:
        raise TutelageError(f"kappa must be finite and not negative, got {kappa}")


def miss(eps: Tensor, length: Tensor, *, sharp: bool = False) -> Tensor:
    """The angle within which a vector eps away from one of that length lies (Phuong 2021, Lemma D.3), for eps <= length
    / 2.

    sqrt(2 pi eps / length), or with ``sharp`` the least such angle, arcsin(eps / length).
    """
    # The sharp angle is that of the tangents from 0 to the ball of radius eps.
    ratio = torch.as_tensor(eps, dtype=torch.float64) / length
    if bool((ratio > 0.5).any()):
        raise TutelageError("the lemma asks for eps <= |w| / 2: start the student closer to 0")
    return ratio.asin() if sharp else (2 * math.pi * ratio).sqrt()
