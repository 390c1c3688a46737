r"""Loss, gradient and Hessian of the population, with small relative errors down to losses of 1e-25.

.. math::
    L = \tfrac12 \sum_{p,q} a_p a_q k(\angle_{pq}), \quad k(\varphi) = \tfrac{2}{\pi}\left(\sin\varphi +
    (\tfrac{\pi}{2} - \varphi) \cos\varphi\right), \qquad
    \nabla_{w_j} L = |w_j| (I + \bar w_j \bar w_j^T)\, E[R\, x\, \mathrm{sgn}(w_j \cdot x)]

with a = |w_j|^2 for students and -|w*_i| for teachers (Zhou et al. 2021, eq. 1 and appendix C.5; section 5.4 leaves out
the factor before the expectation). Small losses are summed from what each group of students leaves of the residual
instead, where nothing cancels: :mod:`._loops`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.errors import TutelageError
from tutelage.local.setting import LocalSetting
from tutelage.population import expectations as population
from tutelage.threads import loop_threads, spread

_WORTHWHILE = 5_000  # pairs of units worth a thread of their own


def spread_pairs(call: Callable[..., Any], members: int, work: int, arguments: tuple[Any, ...]) -> None:
    """call(first, last, *arguments) over all members, on as many threads as the work is worth."""
    spread(call, members, *arguments, threads=max(1, min(loop_threads(), -(-work // _WORTHWHILE))))


def loss_and_gradient(setting: LocalSetting, top: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Population loss and gradient together.

    Parameters
    ----------
    setting
        Teachers and students; a zero student has gradient 0 and never moves.
    top
        Factor of each student's output [m], for the lazy model.

    Returns
    -------
    loss, gradient
        [S] and [S, m, d].

    Examples
    --------
    >>> loss, slope = loss_and_gradient(LocalSetting(torch.eye(2), torch.eye(2)))
    >>> loss.item(), slope.abs().max().item()
    (0.0, 0.0)
    """
    from tutelage.local._loops import losses_and_gradients  # loading the compiler takes a third of a second

    w, taught = setting.students.numpy(), setting.teachers.numpy()
    factors = top_of(setting, top)
    loss, dw, size = np.empty(len(w)), np.empty_like(w), np.empty(len(w))
    work = setting.members * (setting.m + setting.r) ** 2
    spread_pairs(losses_and_gradients, len(w), work, (w, taught, factors, bool((factors == 1).all()), loss, dw, size))
    return torch.from_numpy(loss), torch.from_numpy(dw)


def top_of(setting: LocalSetting, top: Tensor | None) -> np.ndarray:
    """Factors of the students' outputs, 1 by default: [m]."""
    if top is None:
        return np.ones(setting.m)
    factors = doubles(top, "top").detach().cpu()
    if factors.shape != (setting.m,):
        raise TutelageError(f"top must hold one factor per student, [{setting.m}], got {list(factors.shape)}")
    if not factors.isfinite().all():
        raise TutelageError("top must hold finite factors")
    return factors.contiguous().numpy()


def loss(setting: LocalSetting) -> Tensor:
    """Population loss of every member (Zhou et al. 2021, eq. 1).

    Parameters
    ----------
    setting
        Teachers and students.

    Returns
    -------
    Tensor
        L, float64 [S].

    Examples
    --------
    >>> import torch
    >>> loss(LocalSetting(torch.eye(2)[None], 0.5 * torch.eye(2)[None])).round(decimals=4)
    tensor([0.9206], dtype=torch.float64)
    """
    return loss_and_gradient(setting)[0]


def gradient(setting: LocalSetting) -> Tensor:
    """Gradient of the population loss with respect to every student.

    Parameters
    ----------
    setting
        Teachers and students.

    Returns
    -------
    Tensor
        dL/dw, float64 [S, m, d].

    Examples
    --------
    >>> import torch
    >>> gradient(LocalSetting(torch.eye(2)[None], torch.eye(2)[None])).abs().max() < 1e-12
    tensor(True)
    """
    return loss_and_gradient(setting)[1]


def gradient_norm(setting: LocalSetting) -> Tensor:
    """|grad L|_F of every member: [S]."""
    return gradient(setting).flatten(1).norm(dim=1)


def jacobian(students: Tensor) -> Tensor:
    r"""|w| (I + w w^T / |w|^2), the derivative of g = |w| w; 0 at 0: [S, m, d] -> [S, m, d, d]."""
    n = students.norm(dim=-1)
    u = students / torch.where(n == 0, 1, n).unsqueeze(-1)
    eye = torch.eye(students.shape[-1], dtype=students.dtype)
    return n[..., None, None] * (eye + u.unsqueeze(-1) * u.unsqueeze(-2))


def hessian(setting: LocalSetting) -> Tensor:
    r"""Hessian of the population loss.

    It is the Hessian in the effective neurons |w| w between two Jacobians plus, for each student, the gradient G with
    respect to its effective neuron times the second derivative of |w| w:
    :math:`G \bar w^T + \bar w G^T + (G \cdot \bar w)(I - \bar w \bar w^T)`.

    Parameters
    ----------
    setting
        Teachers and students.

    Returns
    -------
    Tensor
        [S, m d, m d], the coordinates of the students one after another.

    Examples
    --------
    >>> import torch
    >>> torch.linalg.eigvalsh(hessian(LocalSetting(torch.eye(2)[None], torch.eye(2)[None])))[0].round(decimals=3)
    tensor([0.3630, 1.4540, 1.6370, 6.5460], dtype=torch.float64)
    """
    if bool(setting.idle.any()):
        raise TutelageError("a student is the zero vector, where the loss has no second derivative: leave it out")
    taught, units = setting.units()
    members, m, d = setting.students.shape
    inner = population.hessian(taught, units).view(members, m, d, m, d)
    jac = jacobian(setting.students)
    out = torch.einsum("sjab,sjbkc,skce->sjake", jac, inner, jac)
    u = setting.students / setting.students.norm(dim=2, keepdim=True)
    g = population.first_layer_gradient(taught, units)
    along = (g * u).sum(2)[..., None, None]
    mixed = g.unsqueeze(3) * u.unsqueeze(2)
    bent = mixed + mixed.mT + along * (torch.eye(d, dtype=torch.float64) - u.unsqueeze(3) * u.unsqueeze(2))
    each = torch.arange(m)
    out[:, each, :, each, :] += bent.transpose(0, 1)
    return out.reshape(members, m * d, m * d)
