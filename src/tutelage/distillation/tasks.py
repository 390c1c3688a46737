r"""Transfer tasks: a teacher and a distribution of inputs, with p(theta) = P[angle(w_*, x) >= theta] (Phuong 2021,
section 5.4.1).

A member's inputs depend on its seed alone, and a larger set begins with the smaller one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from scipy.special import betainc
from torch import Tensor

from tutelage import draws
from tutelage.arrays import doubles
from tutelage.distillation.learners import angle
from tutelage.distillation.risk import disagreement, risk_at_angle
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError
from tutelage.printing import printed
from tutelage.whole import whole


class DistillationTask(Protocol):
    """Protocol of a task: a teacher and a distribution of inputs.

    ``exact`` says whether p and the risk are closed forms or come from a sample.
    """

    exact: bool

    @property
    def dimension(self) -> int: ...
    @property
    def teacher(self) -> Tensor: ...
    def p(self, theta: Tensor) -> Tensor: ...
    def points(self, seeds: Sequence[int], count: int, stream: str = ...) -> Tensor: ...
    def transfer(self, seeds: Sequence[int], count: int) -> TransferSet: ...
    def risk(self, w: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class _Symmetric:
    """Inputs that are symmetric about the teacher's direction, the first axis; norm: the teacher's length."""

    dimension: int
    norm: float = 1.0
    exact = True

    def __post_init__(self) -> None:
        if (whole(self.dimension) or 0) < 2 or not self.norm > 0:
            raise TutelageError(f"dimension must be at least 2 and norm positive, got {self.dimension} and {self.norm}")

    @property
    def widest(self) -> float:
        """The angle from which on p is 0."""
        return math.pi / 2

    @property
    def teacher(self) -> Tensor:
        """w_* [d]."""
        return self.norm * torch.eye(1, self.dimension, dtype=torch.float64)[0]

    def p(self, theta: Tensor) -> Tensor:
        raise NotImplementedError

    def angles(self, u: Tensor) -> Tensor:
        """Angles with distribution p from uniform draws u, any shape: P[angle >= angles(u)] = u."""
        raise NotImplementedError

    def points(self, seeds: Sequence[int], count: int, stream: str = "transfer") -> Tensor:
        """Inputs [S, count, d]: an angle, a direction at that angle, and a length from N(0, 1) with its sign."""
        # By inversion: P[angle >= angles(u)] = u. Streams are apart for angles, lengths and directions, so a longer set
        # begins with the shorter one.
        a = self.angles(draws.uniforms(draws.keys(seeds, f"{stream} angles"), count)).unsqueeze(2)
        length = draws.normals(draws.keys(seeds, f"{stream} lengths"), count).unsqueeze(2)
        u = draws.normals(draws.keys(seeds, f"{stream} directions"), count * (self.dimension - 1))
        u = u.reshape(len(seeds), count, self.dimension - 1)
        return torch.cat([length * a.cos(), (length * a.sin() / u.norm(dim=2, keepdim=True)) * u], 2)

    def transfer(self, seeds: Sequence[int], count: int) -> TransferSet:
        """A transfer set of ``count`` inputs per seed."""
        return TransferSet(self.points(seeds, count), self.teacher)

    def risk(self, w: Tensor) -> Tensor:
        """Exact transfer risk of students w [S, d]: [S]."""
        w = _students(w, self.dimension)
        return risk_at_angle(self.p, angle(w, self.teacher.expand_as(w)), self.dimension, self.widest)


@printed
@dataclass(frozen=True)
class Polynomial(_Symmetric):
    """Task with p(theta) = (1 - 2 theta / pi)^kappa.

    Parameters
    ----------
    dimension, norm
        d, and the length of the teacher.
    kappa
        Degree: 1 is a uniform angle, 2 leaves little mass near the boundary.

    Examples
    --------
    >>> task = Polynomial(dimension=100, kappa=1.0)
    >>> round(float(task.p(torch.tensor(math.pi / 4, dtype=torch.float64))), 12), task.transfer(range(3), 5).x.shape
    (0.5, torch.Size([3, 5, 100]))
    """

    kappa: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.kappa > 0:
            raise TutelageError(
                f"kappa must be positive, got {self.kappa}: at 0 every input would lie on the boundary itself"
            )

    def p(self, theta: Tensor) -> Tensor:
        return (1 - 2 * doubles(theta, "theta") / math.pi).clamp(0, 1) ** self.kappa

    def angles(self, u: Tensor) -> Tensor:
        return math.pi / 2 * (1 - u ** (1 / self.kappa))


@printed
@dataclass(frozen=True)
class LargeMargin(_Symmetric):
    """Polynomial task without mass in a wedge around the teacher's boundary.

    Parameters
    ----------
    dimension, norm
        d, and the length of the teacher.
    limit
        Largest angle with the teacher's line, below pi/2.
    kappa
        Degree of the polynomial.
    """

    limit: float = math.pi / 3
    kappa: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0 < self.limit < math.pi / 2 and self.kappa > 0):
            raise TutelageError(f"wanted 0 < limit < pi/2 and kappa > 0, not {self.limit} and {self.kappa}")

    @property
    def widest(self) -> float:
        return self.limit

    @property
    def _cut(self) -> float:
        return (1 - 2 * self.limit / math.pi) ** self.kappa

    def p(self, theta: Tensor) -> Tensor:
        theta = doubles(theta, "theta")
        uncut = (1 - 2 * theta / math.pi).clamp(0, 1) ** self.kappa
        return torch.where(theta >= self.limit, 0.0, ((uncut - self._cut) / (1 - self._cut)).clamp(0, 1))

    def angles(self, u: Tensor) -> Tensor:
        return math.pi / 2 * (1 - (self._cut + (1 - self._cut) * u) ** (1 / self.kappa))


@printed
@dataclass(frozen=True)
class Isotropic(_Symmetric):
    """Task with inputs x ~ N(0, I): the risk of a student at angle alpha is alpha / pi.

    Here p(theta) = I_{cos^2 theta}(1/2, (d-1)/2), the regularised incomplete beta function.

    Parameters
    ----------
    dimension
        d.
    norm
        Length of the teacher.
    """

    def p(self, theta: Tensor) -> Tensor:
        cos = doubles(theta, "theta").cos().clamp(0, 1).square().numpy()
        return torch.as_tensor(betainc(0.5, (self.dimension - 1) / 2, cos), dtype=torch.float64)

    def points(self, seeds: Sequence[int], count: int, stream: str = "transfer") -> Tensor:
        normals = draws.normals(draws.keys(seeds, f"{stream} directions"), count * self.dimension)
        return normals.reshape(len(seeds), count, self.dimension)

    def risk(self, w: Tensor) -> Tensor:
        w = _students(w, self.dimension)
        return angle(w, self.teacher.expand_as(w)) / math.pi


@printed
@dataclass(frozen=True, eq=False)
class Empirical:
    """Task with real inputs and a teacher; transfer sets are drawn from the pool without repetition.

    Parameters
    ----------
    pool
        Inputs [N, d]; p(theta) is the share of them at an angle of theta or more.
    teacher
        [d].
    held_out
        Inputs [M, d] on which risks are measured.
    """

    pool: Tensor
    teacher: Tensor
    held_out: Tensor
    exact = False

    def __post_init__(self) -> None:
        pool, w, out = (doubles(getattr(self, n), n).detach().cpu() for n in ("pool", "teacher", "held_out"))
        if pool.ndim != 2 or out.ndim != 2 or w.shape != pool.shape[1:] or w.shape != out.shape[1:]:
            shapes = [list(v.shape) for v in (pool, w, out)]
            raise TutelageError(f"wanted pool [N, d], teacher [d] and held-out points [M, d], not {shapes}")
        TransferSet(pool, w), TransferSet(out, w)  # rejects what is empty, not finite, or a teacher of 0
        if bool((pool == 0).all(1).any()):
            raise TutelageError("an input of the pool is 0 and has no angle with the teacher: leave it out")
        for name, value in (("pool", pool), ("teacher", w), ("held_out", out)):
            object.__setattr__(self, name, value)

    @property
    def dimension(self) -> int:
        return self.pool.shape[1]

    def p(self, theta: Tensor) -> Tensor:
        """P over the pool, counted: any shape."""
        return reverse_distribution(self.pool, self.teacher)(theta)

    def points(self, seeds: Sequence[int], count: int, stream: str = "transfer") -> Tensor:
        """Rows of the pool in a member's own order: [S, count, d]."""
        if count > len(self.pool):
            raise TutelageError(f"the pool has {len(self.pool)} inputs, so {count} cannot be drawn from it")
        order = draws.permutations(draws.keys(seeds, stream), len(self.pool), 0)
        return self.pool[order[:, :count]]

    def transfer(self, seeds: Sequence[int], count: int) -> TransferSet:
        return TransferSet(self.points(seeds, count), self.teacher)

    def risk(self, w: Tensor) -> Tensor:
        """Share of the held-out points that students w [S, d] and the teacher class differently: [S]."""
        return disagreement(_students(w, self.dimension), self.teacher, self.held_out)[0]


def _students(w: Tensor, dimension: int) -> Tensor:
    """Students of a task with ``dimension`` inputs, [..., d]; an error for anything else."""
    w = doubles(w, "w")
    if w.ndim == 0 or w.shape[-1] != dimension:
        raise TutelageError(
            f"the task has {dimension} inputs, so students w must have the shape [S, {dimension}], got {list(w.shape)}"
        )
    if not bool(w.isfinite().all()):
        raise TutelageError("students w must be finite: leave out those that diverged")
    return w


def reverse_distribution(points: Tensor, teacher: Tensor):
    """theta -> the share of points [N, d] whose unsigned angle with the teacher [d] is theta or more.

    >>> p = reverse_distribution(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([1.0, 0.0]))
    >>> p(torch.tensor([0.0, 1.0, 1.57])).tolist()
    [1.0, 0.5, 0.5]
    """
    points, teacher = points.to(torch.float64), teacher.to(torch.float64)
    angles = angle(points, teacher.expand_as(points))
    ordered = torch.minimum(angles, torch.pi - angles).sort().values

    def p(theta: Tensor) -> Tensor:
        below = torch.searchsorted(ordered, torch.as_tensor(theta, dtype=torch.float64).contiguous())
        return 1 - below.double() / len(ordered)

    return p
