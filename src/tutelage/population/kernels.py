r"""Expected products of two units under Gaussian inputs, without bias: k(w, v) = E[sigma(w.x) sigma(v.x)], x ~ N(0, I).

Every activation that is a gate times its argument is an odd and an even part, :math:`\sigma(u) = a\,u + b\,|u|` (relu:
a = b = 1/2; leaky with slope c: a = (1 + c)/2, b = (1 - c)/2; abs: 0, 1; linear: 1, 0). Mixed terms vanish, so with
the angle :math:`\theta` between w and v one formula serves them all:

.. math::
    k(w, v) = a^2\, w \cdot v + b^2\, \tfrac{2}{\pi} \|w\| \|v\| \left(\sin\theta +
    (\tfrac{\pi}{2} - \theta)\cos\theta\right)

For relu this is :math:`\|w\|\|v\| f(\theta) / (2\pi)` with :math:`f(\theta) = \sin\theta + (\pi - \theta)\cos\theta`
(Zhu et al. 2021, section 2). erf(u / sqrt 2) is :math:`\tfrac{2}{\pi} \arcsin(w \cdot v / \sqrt{(1 + \|w\|^2)(1 +
\|v\|^2)})` (Williams 1997; Saad and Solla 1995). The squared relu has the arc-cosine kernel of degree 2 (Cho and Saul
2009), :math:`\|w\|^2 \|v\|^2 (3 \sin\theta \cos\theta + (\pi - \theta)(1 + 2 \cos^2\theta)) / (2 \pi)`. Smooth
activations without a closed form go through :mod:`.quadrature`.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError, unknown
from tutelage.networks.activations import find
from tutelage.population.quadrature import expected

KINDS = ("relu", "leaky", "abs", "linear", "erf")
"""Activations with a kernel here; erf stands for u -> erf(u / sqrt 2)."""

_CLOSE = 0.99
"""Above this cosine, up to sign, an angle is computed from differences of unit vectors and not from the cosine."""

_LONGEST = 1e8
"""Of erf units: gradients are then about 1e-8, and off by 1e-16 where two units are parallel."""


def odd_and_even(activation: str, slope: float) -> tuple[float, float]:
    """(a, b) with sigma(u) = a u + b |u|.

    >>> odd_and_even("leaky", 0.5)
    (0.75, 0.25)
    """
    match activation:
        case "relu":
            return 0.5, 0.5
        case "leaky":
            return (1 + slope) / 2, (1 - slope) / 2
        case "abs":
            return 0.0, 1.0
        case "linear":
            return 1.0, 0.0
        case _:
            raise unknown("activation with a closed form", activation, KINDS)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Lengths and angles of all pairs of two sets of vectors: first [S, p], second [S, q], angle and sine [S, p, q].

    A zero vector has angle pi / 2 with everything, so that its kernel is 0.
    """

    first: Tensor
    second: Tensor
    angle: Tensor
    sine: Tensor
    cosine: Tensor


def pairs(x: Tensor, y: Tensor) -> Pairs:
    r"""Angles of x [S, p, d] with y [S, q, d], to full relative precision near 0 and pi.

    Near the ends :math:`\theta = 2 \operatorname{atan2}(|u - v|, |u + v|)` with unit vectors u, v is formed from the
    vectors themselves; elsewhere from their product, which is accurate there and costs far less.
    """
    lengths_x, lengths_y = (torch.linalg.vector_norm(a, dim=-1) for a in (x, y))
    u, v = (_units(a, n) for a, n in ((x, lengths_x), (y, lengths_y)))
    cosine = u @ v.mT
    # arccos multiplies the rounding of the cosine by 1/sin(theta): by 7 at 0.99, without bound at 1, where students
    # that converge to a teacher unit all end. The formula from differences has no such factor, but needs both vectors
    # of a pair.
    near = cosine.abs() > _CLOSE
    far = cosine.masked_fill(near, 0)  # no root or arc cosine at 1, which would make derivatives infinite
    angle, sine = torch.arccos(far), ((1 - far) * (1 + far)).sqrt()
    close = near.nonzero(as_tuple=True)
    if len(close[0]):
        s, i, j = close
        a, b = u[s if u.shape[0] > 1 else 0, i], v[s if v.shape[0] > 1 else 0, j]
        apart, along = (torch.linalg.vector_norm(c, dim=-1) for c in (a - b, a + b))
        # |u - v| = 2 sin(theta / 2) and |u + v| = 2 cos(theta / 2).
        angle = angle.index_put(close, 2 * torch.atan2(apart, along))
        sine = sine.index_put(close, apart * along / 2)
        cosine = cosine.index_put(close, torch.where(cosine[close] > 0, 1 - apart**2 / 2, along**2 / 2 - 1))
    return Pairs(lengths_x, lengths_y, angle, sine, cosine)


def kernel(x: Tensor, y: Tensor, activation: str = "relu", slope: float = 0.01) -> Tensor:
    """k(w, v) for all pairs: x [S, p, d], y [S, q, d] -> [S, p, q].

    >>> w = torch.tensor([[[3.0, 4.0]]], dtype=torch.float64)
    >>> kernel(w, w).item()  # E relu(w.x)^2 is half of |w|^2
    12.5
    """
    if activation == "erf":
        return 2 / math.pi * torch.atan2(x @ y.mT, _beside(x, y))
    if activation not in KINDS:
        return _other_kernel(pairs(x, y), activation)
    a, b = odd_and_even(activation, slope)
    p = pairs(x, y)
    shape = p.sine + (math.pi / 2 - p.angle) * p.cosine
    return p.first.unsqueeze(2) * p.second.unsqueeze(1) * (a * a * p.cosine + b * b * 2 / math.pi * shape)


def weighted_gradient(coefficients: Tensor, x: Tensor, y: Tensor, activation: str = "relu", slope: float = 0.01):
    r"""sum_q g_pq dk(x_p, y_q)/dx_p of all p: coefficients g [S, p, q] -> [S, p, d].

    .. math:: \nabla_w k = a^2 v + b^2 \tfrac{2}{\pi} \left((\tfrac{\pi}{2} - \theta)\, v + \|v\| \sin\theta\,
        \tfrac{w}{\|w\|}\right)

    For relu, (1 / 2 pi) ((pi - theta) v + |v| sin(theta) w / |w|) (Zhu et al. 2021, eq. 1, whose printed 1 / 4 pi is
    half of it). The gradient with respect to a zero vector is taken as its odd part alone.
    """
    if activation == "erf":
        return _erf_gradient(coefficients, x, y)
    if activation not in KINDS:
        return _other_gradient(coefficients, x, y, activation)
    a, b = odd_and_even(activation, slope)
    p = pairs(x, y)
    along = coefficients * (a * a + b * b * (1 - 2 / math.pi * p.angle))
    outward = (coefficients * p.sine @ p.second.unsqueeze(2)) * (b * b * 2 / math.pi)
    return along @ y + outward * _units(x, p.first)


def kernel_hessians(x: Tensor, y: Tensor, activation: str = "relu", slope: float = 0.01) -> tuple[Tensor, Tensor]:
    r"""Second derivatives of k(w, v) for all pairs: d2k/dw dw and d2k/dw dv, [S, p, q, d, d] each.

    With u = w/|w|, v' = v/|v|, s = |v| sin(theta), n and m the units of v - (v.u) u and of u - (u.v') v':

    .. math::
        \nabla_{ww} k = b^2 \tfrac{2}{\pi} \tfrac{s}{\|w\|} (n n^T + I - u u^T), \qquad
        \nabla_{wv} k = a^2 I + b^2 \tfrac{2}{\pi} \left((\tfrac{\pi}{2} - \theta) I + v' m^T + u n^T\right)
    """
    if activation == "erf":
        return _erf_hessians(x, y)
    if activation not in KINDS:
        raise TutelageError(
            f"there is no exact Hessian for the activation '{activation}': use one of {', '.join(KINDS)}, or "
            "differences of the gradient"
        )
    a, b = odd_and_even(activation, slope)
    p, eye = pairs(x, y), torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    u, v = _units(x, p.first).unsqueeze(2), _units(y, p.second).unsqueeze(1)
    n, m = _perpendicular(v, u, p), _perpendicular(u, v, p)
    u, v = u.expand_as(n), v.expand_as(n)
    # A zero vector counts as infinitely long here, so that its s is 0 and not infinite.
    lengths = torch.where(p.first == 0, torch.inf, p.first).unsqueeze(2)
    s = (p.second.unsqueeze(1) * p.sine / lengths)[..., None, None]
    turn = (math.pi / 2 - p.angle)[..., None, None] * eye
    ww = b * b * 2 / math.pi * s * (_outer(n, n) + eye - _outer(u, u))
    wv = a * a * eye + b * b * 2 / math.pi * (turn + _outer(v, m) + _outer(u, n))
    return ww, wv


def _other_kernel(p: Pairs, activation: str) -> Tensor:
    """k of the squared relu in closed form, of other activations by quadrature: [S, p, q]."""
    if activation == "squared-relu":
        return (p.first.unsqueeze(2) * p.second.unsqueeze(1)).square() * _second_degree(p)
    find(activation)
    return expected(p.first, p.second, p.cosine, activation)[0]


def _second_degree(p: Pairs) -> Tensor:
    return (3 * p.sine * p.cosine + (math.pi - p.angle) * (1 + 2 * p.cosine.square())) / (2 * math.pi)


def _other_gradient(coefficients: Tensor, x: Tensor, y: Tensor, activation: str) -> Tensor:
    r"""From Stein's lemma, :math:`\nabla_w k = v\, E[\sigma'(u) \sigma'(v)] + (E[\sigma'(u) \sigma(v) z_1] - \|v\|
    \cos\theta\, E[\sigma'(u) \sigma'(v)])\, w / \|w\|` with z_1 = w.x / |w|."""
    p = pairs(x, y)
    if activation == "squared-relu":
        turn = 2 / math.pi * (p.sine + (math.pi - p.angle) * p.cosine)
        sizes = p.first.unsqueeze(2) * p.second.unsqueeze(1)
        along = sizes * turn
        outward = 2 * p.second.unsqueeze(1) * sizes * _second_degree(p) - p.second.unsqueeze(1) * p.cosine * along
    else:
        along, first = expected(p.first, p.second, p.cosine, activation, "slopes")
        outward = first - p.second.unsqueeze(1) * p.cosine * along
    return coefficients * along @ y + (coefficients * outward).sum(2, keepdim=True) * _units(x, p.first)


def _units(x: Tensor, lengths: Tensor) -> Tensor:
    """Vectors over their lengths; zero stays zero."""
    return x / torch.where(lengths == 0, 1, lengths).unsqueeze(-1)


def _perpendicular(v: Tensor, u: Tensor, p: Pairs) -> Tensor:
    """The unit of what v has beside u: [S, p, q, d]; 0 where both are parallel, which is its limit in the formulas."""
    rest = v - p.cosine.unsqueeze(-1) * u
    sine = p.sine.unsqueeze(-1)
    return torch.where(sine == 0, 0, rest / torch.where(sine == 0, 1, sine))


def _outer(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(-1) * b.unsqueeze(-2)


def _beside(x: Tensor, y: Tensor) -> Tensor:
    r"""R = sqrt((1 + |w|^2)(1 + |v|^2) - (w.v)^2), whose cancellation for long units the sine avoids: [S, p, q]."""
    p = pairs(x, y)
    first, second = p.first.unsqueeze(2), p.second.unsqueeze(1)
    # R^2 = 1 + |w|^2 + |v|^2 + (|w| |v| sin theta)^2 is a sum of squares, so nothing cancels.
    product = torch.hypot(first * second * p.sine, torch.ones_like(p.sine))
    return torch.hypot(torch.hypot(*torch.broadcast_tensors(first, second)), product)


def _check_lengths(*units: Tensor) -> None:
    longest = max((float(a.square().sum(-1).max()) ** 0.5 for a in units if a.numel()), default=0.0)
    if longest > _LONGEST:
        raise TutelageError(
            f"derivatives of erf units of length {longest:.3g} are lost in rounding: use units of length at most "
            f"{_LONGEST:g}"
        )


def _erf_gradient(coefficients: Tensor, x: Tensor, y: Tensor) -> Tensor:
    r"""With s = w.v and A = 1 + |w|^2, :math:`\nabla_w k = \tfrac{2}{\pi} (v - s w / A) / R`."""
    _check_lengths(x, y)
    along = coefficients * 2 / math.pi / _beside(x, y)
    size = 1 + x.square().sum(-1, keepdim=True)
    return along @ y - (along * (x @ y.mT)).sum(2, keepdim=True) / size * x


def _erf_hessians(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    r"""Derivatives of (v - s w / A) / R, and with B = 1 + |v|^2 of the same seen from v."""
    _check_lengths(x, y)
    eye = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    a, b = (1 + x.square().sum(-1))[:, :, None, None], (1 + y.square().sum(-1))[:, None, :, None]
    s, (w, v) = (x @ y.mT).unsqueeze(-1), torch.broadcast_tensors(x.unsqueeze(2), y.unsqueeze(1))
    p, q = v - s * w / a, w - s * v / b
    s, a, b, r = (c.unsqueeze(-1) for c in (s, a, b, _beside(x, y).unsqueeze(-1)))
    ww = s * _outer(p / r[..., 0], p / r[..., 0])
    ww = ww - (_outer(w, v) + _outer(v, w)) / a + 3 * s * _outer(w / a[..., 0], w / a[..., 0]) - s * eye / a
    wv = s * _outer(p / r[..., 0], q / r[..., 0])
    wv = wv + eye - _outer(v, v) / b - _outer(w, w) / a + s * _outer(w / a[..., 0], v / b[..., 0])
    return 2 / math.pi * ww / r, 2 / math.pi * wv / r
