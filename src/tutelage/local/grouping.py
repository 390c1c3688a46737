r"""Which student belongs to which teacher, and what the students of a teacher amount to together.

|w.x| does not know w from -w, so angles are those between lines, in [0, pi/2], and a student is flipped to its
teacher's side before it is added up. The paper leaves this unsaid (Zhou et al. 2021, Def. of T_i), and without it a
perfect student
-w* would count as one at the angle pi.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.local.setting import LocalSetting, effective
from tutelage.population.kernels import pairs
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class StudentGroups:
    """Students grouped by nearest teacher.

    Attributes
    ----------
    setting
        Teachers and students.
    teacher
        int64 [S, m]: nearest teacher T_i of each student.
    angle
        delta_j, angle with the line of that teacher, [S, m]; pi/2 for zero students.
    sign
        [S, m].
    students
        Students flipped to the side of their teacher, [S, m, d].
    angles
        Angles with the lines of all teachers, [S, m, r].
    average
        Sum over T_i of |w_j| w_j, [S, r, d].
    error
        v_i, that sum minus the teacher, [S, r, d] (Zhou et al. 2021, eq. 2).
    """

    setting: LocalSetting
    teacher: Tensor
    angle: Tensor
    sign: Tensor
    students: Tensor
    angles: Tensor
    average: Tensor
    error: Tensor

    @property
    def weight(self) -> Tensor:
        """|w_j|^2: [S, m]."""
        return self.students.square().sum(2)

    def within(self, angle: Tensor | float) -> Tensor:
        """Which students are in T_i(angle), angle one number or [S]: [S, m, r]."""
        limit = torch.as_tensor(angle, dtype=torch.float64).reshape(-1, 1)
        mine = torch.nn.functional.one_hot(self.teacher, self.setting.r).bool()
        return mine & (self.angle <= limit).unsqueeze(2)

    def mass(self, angle: Tensor | float = math.pi) -> Tensor:
        """sum of |w_j|^2 over T_i(angle): [S, r]."""
        return (self.within(angle) * self.weight.unsqueeze(2)).sum(1)

    def angle_energy(self, power: float = 2.0) -> Tensor:
        """sum_j |w_j|^2 delta_j^power: [S] (Zhou et al. 2021, Lemma C.4 with 2)."""
        return (self.weight * self.angle**power).sum(1)

    def half_mass_angle(self) -> Tensor:
        """The least angle at which every T_i(angle) has mass |w*_i| / 2, pi/2 where none does: [S] (Zhou et al. 2021,
        Lemma 8).
        """
        # Students by angle; the running sums of each teacher's masses reach half at some student, and its angle is the
        # teacher's.
        order = self.angle.argsort(1)
        mine = torch.nn.functional.one_hot(self.teacher, self.setting.r) * self.weight.unsqueeze(2)
        summed = mine.gather(1, order.unsqueeze(2).expand_as(mine)).cumsum(1)
        enough = summed >= self.setting.lengths.unsqueeze(1) / 2
        first = self.angle.gather(1, order).unsqueeze(2).expand_as(summed).gather(1, enough.int().argmax(1, True))
        return torch.where(enough.any(1), first.squeeze(1), math.pi / 2).amax(1)


def groups(setting: LocalSetting) -> StudentGroups:
    """Group the students by nearest teacher (Zhou et al. 2021, section 3).

    Parameters
    ----------
    setting
        Teachers and students.

    Returns
    -------
    StudentGroups

    Examples
    --------
    >>> teachers = torch.eye(2, dtype=torch.float64)
    >>> grouping = groups(LocalSetting(teachers, torch.tensor([[-1.0, 0.0], [0.1, 2.0]])))
    >>> grouping.teacher.tolist(), grouping.sign.tolist(), grouping.error[0, 0].tolist()
    ([[0, 1]], [[-1.0, 1.0]], [0.0, 0.0])
    """
    p = pairs(setting.students, setting.teachers)
    folded = torch.minimum(p.angle, math.pi - p.angle)
    angle, teacher = folded.min(2)
    raw = p.angle.gather(2, teacher.unsqueeze(2)).squeeze(2)
    sign = torch.where(raw > math.pi / 2, -1.0, 1.0).double()
    students = setting.students * sign.unsqueeze(2)
    index = teacher.unsqueeze(2).expand_as(students)
    zero = torch.zeros(setting.members, setting.r, setting.d, dtype=torch.float64)
    average = zero.scatter_add(1, index, effective(students))
    return StudentGroups(setting, teacher, angle, sign, students, folded, average, average - setting.teachers)
