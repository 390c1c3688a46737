r"""The residual in two parts, the flat one and the spiky one, and their second moments.

.. math::
    R = f - f^* = R_1 + R_2, \quad R_1(x) = \sum_i v_i \cdot x\, \mathrm{sgn}(w^*_i \cdot x), \quad
    R_2(x) = \sum_j |w_j|\, w_j \cdot x\, (\mathrm{sgn}(w_j \cdot x) - \mathrm{sgn}(w^*_{t(j)} \cdot x)) \ge 0

(Zhou et al. 2021, eq. 3), students flipped to their teachers' side.
"""

import math

import numpy as np
import torch
from torch import Tensor

from tutelage.local.exact import spread_pairs
from tutelage.local.grouping import StudentGroups
from tutelage.local.setting import LocalSetting, effective
from tutelage.population.kernels import pairs


def sign_moments(first: Tensor, second: Tensor) -> Tensor:
    r"""E[x x^T sgn(a.x) sgn(b.x)] of all pairs: [S, p, d], [S, q, d] -> [S, p, q, d, d] (blocks of Zhou et al. 2021,
    eq. 4).

    .. math:: (1 - \tfrac{2\varphi}{\pi}) I + \tfrac{2}{\pi} \left(\sin\varphi \cos\varphi\, (u u^T - e e^T) +
        \sin^2\varphi\, (u e^T + e u^T)\right)

    with u the unit of a, e the unit of what b has beside it; I where both are parallel, -I where opposite.
    """
    p = pairs(first, second)
    u = (first / first.norm(dim=2, keepdim=True)).unsqueeze(2)
    v = (second / second.norm(dim=2, keepdim=True)).unsqueeze(1)
    # Two parallel units have nothing beside each other: e is then 0, and its terms have the factor sine, so they
    # vanish.
    beside = v - p.cosine.unsqueeze(-1) * u
    size = beside.norm(dim=-1, keepdim=True)
    e = beside / torch.where(size == 0, 1, size)
    sine, cosine = p.sine[..., None, None], p.cosine[..., None, None]
    u = u.expand_as(e)
    uu, ee, ue = (a.unsqueeze(-1) * b.unsqueeze(-2) for a, b in ((u, u), (e, e), (u, e)))
    eye = torch.eye(first.shape[2], dtype=torch.float64)
    turn = (1 - 2 / math.pi * p.angle)[..., None, None] * eye
    return turn + 2 / math.pi * (sine * cosine * (uu - ee) + sine**2 * (ue + ue.mT))


def teacher_matrix(setting: LocalSetting) -> Tensor:
    """Matrix M of the teachers: the Hessian in g at the minimum with m = r (Zhou et al. 2021, eq. 4).

    Parameters
    ----------
    setting
        Teachers and students.

    Returns
    -------
    Tensor
        [S, r d, r d] or [1, r d, r d].
    """
    blocks = sign_moments(setting.teachers, setting.teachers)
    members, r, _, d, _ = blocks.shape
    return blocks.permute(0, 1, 3, 2, 4).reshape(members, r * d, r * d)


def least_eigenvalue(setting: LocalSetting) -> Tensor:
    r"""lambda_min(M): [S] (Zhou et al. 2021, Lemma 10); 2 (Delta - sin Delta) / pi for two teachers.

    >>> teachers = torch.eye(3, dtype=torch.float64)
    >>> round(least_eigenvalue(LocalSetting(teachers, teachers)).item(), 5) == round(1 - 2 / math.pi, 5)
    True
    """
    return torch.linalg.eigvalsh(teacher_matrix(setting))[:, 0].expand(setting.members)


def second_moments(setting: LocalSetting) -> tuple[Tensor, Tensor, Tensor]:
    """Second moments of the two parts of the residual, without cancellation however small they are.

    Parameters
    ----------
    setting
        Teachers and students.

    Returns
    -------
    first, mixed, second
        E R1^2 = v^T M v, E R1 R2 and E R2^2, [S] each; 2 L is their sum with ``mixed`` taken twice.
    """
    from tutelage.local._loops import splits

    parts = np.empty((setting.members, 3))
    work = setting.members * setting.m**2
    spread_pairs(splits, setting.members, work, (setting.students.numpy(), setting.teachers.numpy(), parts))
    flat, mixed, spiky = torch.from_numpy(parts).unbind(1)
    return flat, mixed, spiky


def residual(setting: LocalSetting, x: Tensor) -> Tensor:
    """Residual R = f - f* at given inputs.

    Parameters
    ----------
    setting
        Teachers and students.
    x
        Inputs [N, d] or [S, N, d].

    Returns
    -------
    Tensor
        [S, N].
    """
    x = x.double()
    student = (x @ effective(setting.students).mT).abs().sum(2)
    return student - (x @ setting.teachers.mT).abs().sum(2)


def split(grouping: StudentGroups, x: Tensor) -> tuple[Tensor, Tensor]:
    """The two parts of the residual at given inputs (Zhou et al. 2021, eq. 3).

    Parameters
    ----------
    grouping
        From :func:`groups`.
    x
        Inputs [N, d] or [S, N, d].

    Returns
    -------
    first, second
        R1 and R2, [S, N] each.
    """
    x = x.double()
    gate = torch.where(x @ grouping.setting.teachers.mT >= 0, 1.0, -1.0).double()
    flat = ((x @ grouping.error.mT) * gate).sum(2)
    inner = x @ effective(grouping.students).mT
    index = grouping.teacher.unsqueeze(1).expand_as(inner)
    of_teacher = gate.expand(inner.shape[0], -1, -1).gather(2, index)
    return flat, (inner.abs() - inner * of_teacher).sum(2)
