r"""Soft-label cross-entropy as a function of two logits, accurate where a teacher is sure to hundreds of digits.

With the teacher's logit t, its label :math:`y = \sigma(t)`, and the student's logit u (Phuong 2021, eq. D.2):

.. math:: \ell(u) = \log(1 + e^u) - y u - \ell^*
    = \log\bigl(1 + y (e^{u - t} - 1)\bigr) - y (u - t)

which is 0 at u = t and does not change when both logits change sign, so that y <= 1/2 serves for all.
"""

import torch
from torch import Tensor

from tutelage.errors import TutelageError

# Below it the closed form subtracts two numbers of size |gap| to get one of size gap^2, and loses more digits than the
# series of five terms leaves out.
_NEAR = 1e-2
# Below this logit the labels are so small that the loss is y (e^gap - 1 - gap) to the last digit.
_FAR = -30.0


def softplus(u: Tensor) -> Tensor:
    """log(1 + e^u), any shape; torch's own drops 2e-9 from u = 20 on."""
    return torch.logaddexp(u, torch.zeros_like(u))


def logits_of(labels: Tensor) -> Tensor:
    """The teacher's logits from its soft labels, any shape; labels must lie strictly between 0 and 1.

    >>> logits_of(torch.tensor([0.5, 0.25], dtype=torch.float64)).tolist()
    [0.0, -1.0986122886681098]
    """
    labels = labels.to(torch.float64)
    if not bool(((labels >= 0) & (labels <= 1)).all()):
        raise TutelageError("soft labels lie between 0 and 1: give the teacher's probabilities of the class 1")
    if bool(((labels == 0) | (labels == 1)).any()):
        raise TutelageError(
            "a soft label of exactly 0 or 1 has no finite logit, so no student reaches it: give the teacher's weights "
            "instead of its labels, or train on hard labels (HardTarget)"
        )
    return torch.logit(labels)


def excess(u: Tensor, t: Tensor) -> Tensor:
    """The cross-entropy of a student's logit u beyond its least value at u = t, any shape that broadcasts.

    >>> float(excess(torch.tensor(2.0, dtype=torch.float64), torch.tensor(2.0, dtype=torch.float64)))
    0.0
    """
    u, t = torch.broadcast_tensors(u, t)
    flip = torch.where(t > 0, -1.0, 1.0)
    u, t = flip * u, flip * t
    # With t <= 0 the label is at most 1/2 and no probability is 1 to the last digit, so nothing rounds to certainty.
    y, gap = torch.sigmoid(t), u - t
    near = gap.abs() < _NEAR
    far = gap > 30  # log1p(y expm1) would overflow: the two softplus are far apart and lose nothing
    plain = torch.log1p(y * torch.expm1(gap.clamp_max(30.0))) - y * gap
    return torch.where(near, _series(y, gap.clamp(-1, 1)), torch.where(far, softplus(u) - softplus(t) - y * gap, plain))


def _series(y: Tensor, gap: Tensor) -> Tensor:
    """The first five cumulants of a coin with probability y, beyond the mean: good to 4e-14 for |gap| < 0.01."""
    v, skew = y * (1 - y), 1 - 2 * y
    tail = 1 / 2 + gap * (skew / 6 + gap * ((1 - 6 * v) / 24 + gap * (skew * (1 - 12 * v) / 120)))
    return v * gap.square() * (tail + gap**4 * (1 - 30 * v + 120 * v * v) / 720)


def log_excess(u: Tensor, t: Tensor) -> Tensor:
    """log of :func:`excess`, which does not vanish for confident teachers; -inf at u = t.

    >>> surely = torch.tensor(-900.0, dtype=torch.float64)
    >>> float(excess(surely + 1, surely)), round(float(log_excess(surely + 1, surely)), 6)
    (0.0, -900.330893)
    """
    u, t = torch.broadcast_tensors(u, t)
    flip = torch.where(t > 0, -1.0, 1.0)
    u, t = flip * u, flip * t
    gap = u - t
    low = gap.clamp(-_NEAR, _NEAR)
    series = low.square().log() + ((1 / 2) + low * (1 / 6 + low * (1 / 24 + low * (1 / 120 + low / 720)))).log()
    right, left = gap.clamp_min(_NEAR), gap.clamp_max(-_NEAR)
    above = right + torch.log1p(-(1 + right) * torch.exp(-right))
    below = torch.log(torch.expm1(left) - left)
    # log(y) = t for so small a label, plus the logarithm of e^gap - 1 - gap in three ranges: a series near 0, e^gap
    # taken out on the right where it would overflow, and as it is on the left.
    poisson = t + torch.where(gap.abs() < _NEAR, series, torch.where(gap > 0, above, below))
    return torch.where((t < _FAR) & (u < _FAR), poisson, excess(u, t).log())


def slope(u: Tensor, t: Tensor) -> Tensor:
    """sigma(u) - sigma(t), the derivative of the excess (Phuong 2021, eq. D.4), to relative precision everywhere."""
    high, low = torch.maximum(u, t), torch.minimum(u, t)
    # sigma(a) - sigma(b) = sigma(a) sigma(-b) (1 - e^(b - a)): three factors with full precision, and no difference.
    size = torch.sigmoid(high) * torch.sigmoid(-low) * -torch.expm1(low - high)
    return torch.where(u >= t, size, -size)


def log_curvature(u: Tensor) -> Tensor:
    """log of sigma(u) (1 - sigma(u)), the second derivative (Phuong 2021, eq. D.9).

    >>> round(float(log_curvature(torch.tensor(0.0)).exp()), 6)
    0.25
    """
    return -softplus(u) - softplus(-u)


def reach(t: Tensor, level: Tensor) -> Tensor:
    """The larger absolute end point of the interval {u : excess(u, t) <= level}, from outside: any shape.

    The K of (Phuong 2021, Theorem D.3): it grows like level / min(y, 1 - y).
    """
    t, level = torch.broadcast_tensors(t, level)
    return torch.maximum(_end(t, level, 1.0).abs(), _end(t, level, -1.0).abs())


def _end(t: Tensor, level: Tensor, side: float) -> Tensor:
    """The end point on one side, by doubling and halving; at most two parts in 1e16 of the width too far out."""
    outer = torch.ones_like(t)
    while bool((short := excess(t + side * outer, t) <= level).any()):
        if bool((outer > 1e290).any()):
            raise TutelageError("the teacher is too sure for a bound on the student's logits: give it a smaller norm")
        outer = torch.where(short, 2 * outer, outer)
    # Invariant: the loss is at most the level at `inner` and above it at `outer`. The outer end is returned, so that
    # what is proved with it stays true.
    inner = torch.zeros_like(t)
    for _ in range(80):
        middle = (inner + outer) / 2
        inside = excess(t + side * middle, t) <= level
        inner, outer = torch.where(inside, middle, inner), torch.where(inside, outer, middle)
    return t + side * outer
