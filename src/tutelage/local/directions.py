r"""The direction along which the loss must fall (Zhou et al. 2021, Lemma 7).

.. math:: D_j = (I + \bar w_j \bar w_j^T)^{-1} (w_j - q_{ij} w^*_i), \qquad
    \sum_j \langle \nabla_{w_j} L, D_j \rangle \ge L, \quad \|D\|_F^2 \le 2 \sum_j |w_j|^2 + 2 \sum_i |w^*_i|^2 / \mu_i

for students j of teacher i, with :math:`q_{ij} = |w_j| / \mu_i` within the angle :math:`\delta_{max}` of it and 0
beyond, :math:`\mu_i` the mass there. So :math:`\|\nabla L\|_F \ge L / \|D\|_F`, which is Theorem 3.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.local.exact import loss_and_gradient
from tutelage.local.grouping import StudentGroups, groups
from tutelage.local.setting import LocalSetting
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class Direction:
    """Descent direction of Zhou et al. 2021, Lemma 8.

    Attributes
    ----------
    found
        Students grouped by nearest teacher.
    angle
        delta_max, [S].
    vectors
        The direction D, [S, m, d].
    inner
        <grad L, D>, [S].
    loss, gradient, norm
        L, its gradient norm, and the norm of D, [S].
    norm_bound
        Bound on the norm of D, [S].
    met
        Whether every teacher has mass within the angle, bool [S]; otherwise D is 0.
    """

    found: StudentGroups
    angle: Tensor
    vectors: Tensor
    inner: Tensor
    loss: Tensor
    gradient: Tensor
    norm: Tensor
    norm_bound: Tensor
    met: Tensor

    @property
    def ratio(self) -> Tensor:
        """<grad L, D> / L: [S]; Lemma 7 says at least 1, and near the optimum it is about 2. 0 at L = 0."""
        return torch.where(self.loss > 0, self.inner / torch.where(self.loss > 0, self.loss, 1), 0)

    @property
    def certified_constant(self) -> Tensor:
        """<grad L, D> / (L |D|_F), below |grad L|_F / L: [S]; 0 where there is no direction."""
        return torch.where(self.norm > 0, self.ratio / torch.where(self.norm > 0, self.norm, 1), 0)


def direction(setting: LocalSetting, angle: Tensor | float | None = None) -> Direction:
    """Descent direction D of every member (Zhou et al. 2021, Lemma 8).

    Parameters
    ----------
    setting
        Teachers and students.
    angle
        delta_max; default: the smallest angle with half of every teacher's mass.

    Returns
    -------
    Direction

    Examples
    --------
    >>> from tutelage.local import local_students, separated_teachers
    >>> teachers = separated_teachers(2, 3, [0])
    >>> direction(LocalSetting(teachers, local_students(teachers, 4, [0]))).vectors.shape
    torch.Size([1, 4, 3])
    """
    grouping = groups(setting)
    # Half of the mass within the angle keeps |D| bounded, and a smaller angle loses less in the terms with its square.
    limit = grouping.half_mass_angle() if angle is None else torch.as_tensor(angle, dtype=torch.float64)
    limit = limit.expand(setting.members)
    mass = grouping.mass(limit)
    met = (mass > 0).all(1)
    share = _share(grouping, limit)
    pulled = grouping.students - share @ setting.teachers
    unit = grouping.students / torch.where(grouping.weight == 0, 1, grouping.weight).sqrt().unsqueeze(2)
    # (I + u u^T)^{-1} = I - u u^T / 2 for a unit u.
    vectors = pulled - (pulled * unit).sum(2, keepdim=True) * unit / 2
    vectors = vectors * grouping.sign.unsqueeze(2) * met[:, None, None]
    value, slope = loss_and_gradient(setting)
    taught = (setting.lengths**2 / torch.where(mass > 0, mass, torch.inf)).sum(1)
    return Direction(
        grouping,
        limit,
        vectors,
        (slope * vectors).sum((1, 2)),
        value,
        slope.flatten(1).norm(dim=1),
        vectors.flatten(1).norm(dim=1),
        (2 * setting.mass + 2 * taught).sqrt(),
        met,
    )


def _share(grouping: StudentGroups, limit: Tensor) -> Tensor:
    """q_ij: [S, m, r]."""
    mass = grouping.mass(limit).unsqueeze(1)
    length = grouping.weight.sqrt().unsqueeze(2)
    return torch.where(grouping.within(limit), length / torch.where(mass > 0, mass, 1), 0)
