r"""The setting of Zhou et al. 2021: teachers and students whose units are absolute values, x ~ N(0, I), no noise.

.. math:: f^*(x) = \sum_{i \le r} |w^*_i \cdot x|, \qquad f(x) = \sum_{j \le m} \|w_j\|\, |w_j \cdot x|

(Zhou et al. 2021, Def. 1). With the effective neuron :math:`g_j = \|w_j\| w_j` the student is :math:`\sum_j |g_j \cdot
x|`. Everything in this package is float64, members first: teachers [S, r, d] or one set for all, students [S, m, d].
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.errors import TutelageError
from tutelage.population.expectations import Units
from tutelage.population.kernels import pairs
from tutelage.printing import printed

_SEPARATION = 1e-6
"""Radians below which two teachers count as one line, and the theory as having nothing to say (Zhou et al. 2021,
Assumption 1).
"""


@printed
@dataclass(frozen=True, eq=False)
class LocalSetting:
    """Teachers f*(x) = sum_i |w*_i . x| and students f(x) = sum_j |w_j| |w_j . x| (Zhou et al. 2021).

    Parameters
    ----------
    teachers
        w* [S, r, d], or [1, r, d] or [r, d] for all members; a tensor or an array, stored in float64 without gradients.
    students
        w [S, m, d] or [m, d].
    least
        Smallest angle between the lines of two teachers; closer ones raise an error.

    Examples
    --------
    >>> LocalSetting(torch.eye(2), torch.eye(3, 2)).separation.item() == math.pi / 2
    True
    """

    teachers: Tensor
    students: Tensor
    least: float = _SEPARATION

    def __post_init__(self) -> None:
        for name in ("teachers", "students"):
            value = doubles(getattr(self, name), name).detach().cpu()
            object.__setattr__(self, name, (value[None] if value.ndim == 2 else value).contiguous())
        self._check_shapes()
        if not (self.teachers.isfinite().all() and self.students.isfinite().all()):
            raise TutelageError("teachers or students hold numbers that are not finite: leave out diverged members")
        if bool((self.teachers.norm(dim=2) == 0).any()):
            raise TutelageError("a teacher is the zero vector, which has no direction: leave it out")
        if self.m < self.r:
            raise TutelageError(f"there are {self.m} students for {self.r} teachers: the theory needs at least as many")
        closest = float(self.separation.min())
        if not closest >= self.least:
            raise TutelageError(
                f"two teachers are {closest:.3g} apart in angle, up to sign, and {self.least:.3g} is the least: "
                "merge them into one, or lower 'least'"
            )

    def _check_shapes(self) -> None:
        a, b = self.teachers.shape, self.students.shape
        fits = len(a) == 3 and len(b) == 3 and a[2] == b[2] and a[0] in (1, b[0])
        if not fits or 0 in (*a, *b):
            raise TutelageError(
                f"teachers {list(a)} and students {list(b)} do not fit: wanted [S, r, d] or [1, r, d], and [S, m, d]"
            )

    @property
    def members(self) -> int:
        return self.students.shape[0]

    @property
    def r(self) -> int:
        return self.teachers.shape[1]

    @property
    def m(self) -> int:
        return self.students.shape[1]

    @property
    def d(self) -> int:
        return self.students.shape[2]

    @property
    def lengths(self) -> Tensor:
        """|w*_i|: [S, r]."""
        return self.teachers.norm(dim=2).expand(self.members, -1)

    @property
    def total(self) -> Tensor:
        """sum_i |w*_i|, the scale of everything: [S]."""
        return self.lengths.sum(1)

    @property
    def longest(self) -> Tensor:
        """w_max of each member: [S] (Zhou et al. 2021, Assumption 2)."""
        return self.lengths.amax(1)

    @property
    def shortest(self) -> Tensor:
        """w_min of each member: [S] (Zhou et al. 2021, Assumption 2)."""
        return self.lengths.amin(1)

    @property
    def mass(self) -> Tensor:
        """sum_j |w_j|^2: [S]."""
        return self.students.square().sum((1, 2))

    @property
    def separation(self) -> Tensor:
        """Delta, the least angle between the lines of two teachers, pi/2 with one alone: [S] (Zhou et al. 2021,
        Assumption 1).
        """
        angle = pairs(self.teachers, self.teachers).angle
        folded = torch.minimum(angle, math.pi - angle) + math.pi * torch.eye(self.r, dtype=torch.float64)
        return folded.amin((1, 2)).clamp_max(math.pi / 2).expand(self.members)

    @property
    def idle(self) -> Tensor:
        """Which students are the zero vector, and so never move: [S, m]. The gradient there is 0."""
        return self.students.norm(dim=2) == 0

    @property
    def threshold_exponent(self) -> Tensor:
        r"""log10 of :math:`\epsilon_0 = \Delta^{36} w_{min}^{80} r^{-162} w_{max}^{-78}`: [S] (Zhou et al. 2021, proof
        of Lemma 7).

        The paper gives it up to a constant, here 1. It is far below what float64 can reach.

        >>> round(LocalSetting(torch.eye(2), torch.eye(2)).threshold_exponent.item(), 1)
        -41.7
        """
        parts = 36 * self.separation.log10() + 80 * self.shortest.log10() - 78 * self.longest.log10()
        return parts - 162 * math.log10(self.r)

    def moved(self, students: Tensor) -> "LocalSetting":
        """The same teachers with other students."""
        return replace(self, students=students)

    def member(self, s: int) -> "LocalSetting":
        """One member alone."""
        t = s if self.teachers.shape[0] > 1 else 0
        return replace(self, teachers=self.teachers[t : t + 1], students=self.students[s : s + 1])

    def units(self) -> tuple[Units, Units]:
        """Teachers and effective neurons as units of the population layer, fan-outs 1."""
        g = effective(self.students)
        ones = torch.ones(1, 1, 1, dtype=torch.float64)
        taught = Units(self.teachers, ones.expand(self.teachers.shape[0], self.r, 1), "abs")
        return taught, Units(g, ones.expand(self.members, self.m, 1), "abs")


def effective(students: Tensor) -> Tensor:
    """g = |w| w of students [..., d]."""
    return students.norm(dim=-1, keepdim=True) * students


def ineffective(g: Tensor) -> Tensor:
    """w = g / sqrt|g|, the student with that effective neuron; zero stays zero: [..., d].

    >>> ineffective(effective(torch.tensor([[3.0, 4.0]]))).tolist()
    [[3.0, 4.0]]
    """
    length = g.norm(dim=-1, keepdim=True)
    return g / torch.where(length == 0, 1, length).sqrt()
