r"""Transfer risk: how often a student and its teacher give different classes (Phuong 2021, eq. 5.4).

Where the inputs are symmetric about the teacher's direction the risk depends on the student's angle alpha alone. With t
the cosine between two random directions orthogonal to the teacher, t^2 ~ Beta(1/2, (d-2)/2), an input at angle a is
misjudged when t < -cot(a) cot(alpha), and exchanging the order of integration gives

.. math:: R(\alpha) = \tfrac12 E\, p\bigl(\pi/2 - \arctan(|t| \tan\alpha)\bigr)

for every distribution of the angle a, a one-dimensional integral that replaces sampling.
"""

import math
from functools import lru_cache

import torch
from scipy.special import betaln
from torch import Tensor

from tutelage.distillation.bounds import Reverse
from tutelage.errors import TutelageError

# At 4 the weights are below 1e-30 of the largest; a step of 1/50 in between is exact to rounding for smooth p.
_NODES, _WIDTH = 401, 4.0


def risk_at_angle(p: Reverse, alpha: Tensor, dimension: int, widest: float = math.pi / 2) -> Tensor:
    """Transfer risk of a student at a given angle with the teacher.

    Parameters
    ----------
    p
        theta -> P[angle >= theta].
    alpha
        Angles in [0, pi], any shape.
    dimension
        d.
    widest
        Angle from which on p is 0.

    Returns
    -------
    Tensor
        R(alpha), by double-exponential quadrature.
    """
    if dimension < 2:
        raise TutelageError(f"angles need at least two dimensions, not {dimension}")
    alpha = torch.as_tensor(alpha, dtype=torch.float64)
    if not bool(((alpha >= 0) & (alpha <= math.pi + 1e-12)).all()):
        raise TutelageError("alpha must hold angles between 0 and pi")
    turned = alpha > math.pi / 2
    acute = torch.where(turned, math.pi - alpha, alpha)
    value = _acute(p, acute.flatten(), dimension, widest).reshape(alpha.shape)
    return torch.where(turned, 1 - value, value)


def _acute(p: Reverse, alpha: Tensor, dimension: int, widest: float) -> Tensor:
    if dimension == 2:  # t is +1 or -1
        return p(math.pi / 2 - alpha) / 2
    share, rest, weight = _nodes()
    cot = math.cos(widest) / math.sin(widest) if widest < math.pi / 2 else 0.0
    # The lower end moves to where p begins to be positive: without that the integrand has a kink inside, where the rule
    # is slow to converge. What is left is at worst singular at the ends, which double-exponential nodes serve.
    first = (cot / alpha.tan().clamp_min(1e-300)).clamp(0, 1).unsqueeze(1)  # below this |t| nothing is misjudged
    t, left = first + (1 - first) * share, (1 - first) * rest
    density = (torch.log(left.clamp_min(1e-300)) + torch.log1p(t)) * ((dimension - 4) / 2)
    density = (density - float(betaln(0.5, (dimension - 2) / 2))).exp()
    value = p(math.pi / 2 - torch.atan2(t * alpha.sin().unsqueeze(1), alpha.cos().unsqueeze(1)))
    return (density * value * weight * (1 - first)).sum(1)


@lru_cache(maxsize=1)
def _nodes() -> tuple[Tensor, Tensor, Tensor]:
    """Nodes s in (0, 1), 1 - s, and weights of double-exponential quadrature."""
    # s = sigmoid(pi sinh x); 1 - s is given beside s, because it has its own digits near s = 1.
    place = torch.linspace(-_WIDTH, _WIDTH, _NODES, dtype=torch.float64)
    z = math.pi * place.sinh()
    slope = math.pi * place.cosh() * torch.sigmoid(z) * torch.sigmoid(-z)
    return torch.sigmoid(z), torch.sigmoid(-z), slope * (2 * _WIDTH / (_NODES - 1))


def disagreement(w: Tensor, teacher: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    """Share of points on which the student's class differs from the teacher's.

    Parameters
    ----------
    w, teacher
        [S, d] or [d] each.
    points
        [S, N, d] or [N, d].

    Returns
    -------
    share, error
        [S] each; the standard error is given as 1/N where the share is 0 or 1.
    """
    w, teacher = (v.unsqueeze(0) if v.ndim == 1 else v for v in (w, teacher))
    shapes = [list(v.shape) for v in (w, teacher, points)]
    if not (w.ndim == teacher.ndim == 2 and points.ndim in (2, 3) and len({shape[-1] for shape in shapes}) == 1):
        raise TutelageError(f"students [S, d], a teacher [d] and points [N, d] must share d, got shapes {shapes}")
    if points.ndim == 2:
        by_student, by_teacher = (points @ w.mT).mT >= 0, (points @ teacher.mT).mT >= 0
    else:
        by_student, by_teacher = (
            torch.bmm(points, v.expand(len(points), -1).unsqueeze(2)).squeeze(2) >= 0 for v in (w, teacher)
        )
    share = (by_student != by_teacher).double().mean(1)
    count = points.shape[-2]
    return share, torch.maximum((share * (1 - share) / count).sqrt(), torch.tensor(1 / count, dtype=torch.float64))
