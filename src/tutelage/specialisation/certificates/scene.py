"""What a theorem looks at: teacher and students of S members on their samples, in float64, worked out on demand.

The first-layer units of teacher and student stand in one row, the m of the teacher first, then the n of the student:
K = m + n hyperplanes w~.x + b = 0 with regular weights, |w~| = 1 (Tian 2020, Def. 1). A unit whose weights are all 0
has no
boundary: it keeps w~ = 0 and is told apart by ``flat``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from tutelage.certificates.registry import Function, Subject, Theorem
from tutelage.errors import TutelageError
from tutelage.networks import Activity, Network, backward, forward, outputs
from tutelage.training.inputs import Inputs

T = TypeVar("T")

_ELEMENTS = 1 << 24  # numbers in an array of a scene; more members are cut into several scenes


@dataclass(frozen=True, eq=False)
class Scene:
    """Teacher and students of S members [float64] on points [S, N, d]; eps: of the coarser precision they came in."""

    teacher: Network
    students: Network
    points: Tensor
    eps: float
    first: int = 0
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def once(self, name: Any, compute: Callable[[], T]) -> T:
        """What ``compute`` gives, computed once for this scene and shared by the theorems that need it."""
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]

    @property
    def members(self) -> int:
        return self.students.members

    @property
    def samples(self) -> int:
        return self.points.shape[1]

    @property
    def m(self) -> int:
        """Teacher units of the first layer."""
        return self.teacher.widths[1]

    @property
    def n(self) -> int:
        """Student units of the first layer."""
        return self.students.widths[1]

    @property
    def units(self) -> int:
        """K = m + n."""
        return self.m + self.n

    @property
    def leak(self) -> float:
        """The slope left of the boundary: 0 for relu."""
        return self.students.slope if self.students.activation == "leaky" else 0.0

    @cached_property
    def lengths(self) -> Tensor:
        """|w~| of every first-layer unit, 1 for those without a boundary: [S, K]."""
        norms = torch.cat([self.teacher.weights[0], self.students.weights[0]], dim=2).norm(dim=1)
        return torch.where(norms > 0, norms, torch.ones_like(norms))

    @cached_property
    def normals(self) -> Tensor:
        """Regular w~ of every unit, 0 for those without a boundary: [S, K, d]."""
        weights = torch.cat([self.teacher.weights[0], self.students.weights[0]], dim=2)
        return (weights / self.lengths.unsqueeze(1)).mT.contiguous()

    @cached_property
    def offsets(self) -> Tensor:
        """Regular b of every unit: [S, K]."""
        biases = [n.biases[0] if n.biases else n.weights[0].new_zeros(self.members, n.widths[1]) for n in self.both]
        return torch.cat(biases, dim=1) / self.lengths

    @property
    def both(self) -> tuple[Network, Network]:
        return self.teacher, self.students

    @cached_property
    def flat(self) -> Tensor:
        """Units without a boundary, since all their weights are 0: bool [S, K]."""
        return (self.normals == 0).all(2)

    def heights(self, points: Tensor) -> Tensor:
        """w~.x + b of every unit, the signed distance from its boundary: [S, P, d] -> [S, P, K]."""
        return torch.baddbmm(self.offsets.unsqueeze(1), points, self.normals.mT)

    @cached_property
    def sample_heights(self) -> Tensor:
        """The same on the samples: [S, N, K]."""
        return self.heights(self.points)

    @cached_property
    def activity(self) -> Activity:
        """The students on the samples."""
        return forward(self.students, self.points)

    @cached_property
    def teacher_activity(self) -> Activity:
        """The teacher on the samples."""
        return forward(self.teacher, self.points)

    @cached_property
    def gradients(self) -> tuple[Tensor, ...]:
        """g_l(x) of every layer on the samples, [S, N, n_l] each (Tian 2020, eq. 15)."""
        return backward(self.students, self.activity, self.teacher_activity.outputs - self.activity.outputs)

    def gradient_at(self, points: Tensor) -> Tensor:
        """g_1 at other points, after gating: [S, P, d] -> [S, P, n]."""
        activity = forward(self.students, points)
        return backward(self.students, activity, outputs(self.teacher, points) - activity.outputs)[0]

    @cached_property
    def alpha(self) -> Tensor:
        """alpha_kj |w~_j| of two layers, the coefficient of the regular teacher unit: [S, n, m] (Tian 2020, Def. 2)."""
        return self._fan_out @ self.teacher.weights[1].mT * self.lengths[:, None, : self.m]

    @cached_property
    def beta(self) -> Tensor:
        """beta_kk' |w~_k'| of two-layer networks: [S, n, n]."""
        return self._fan_out @ self._fan_out.mT * self.lengths[:, None, self.m :]

    @property
    def _fan_out(self) -> Tensor:
        return self.students.weights[1]

    @property
    def rounding(self) -> Tensor:
        """What rounding of the weights and of the arithmetic can leave of a gradient that is 0: [S]."""
        return 8 * self.students.depth * self.eps * self.size

    def tolerance(self, given: float | None) -> Tensor:
        """The gradient that counts as 0: what is given, or what rounding can leave. [S]"""
        if given is not None and not given >= 0:
            raise TutelageError(f"tolerance must be a number of at least 0, got {given}")
        return self.rounding if given is None else torch.full_like(self.rounding, given)

    def says_nothing(self, tolerance: Tensor) -> Tensor:
        """Whether a gradient within the tolerance is no sign of learning: bool [S].

        It is none where students that answer the mean label to every input would have nearly that gradient too. An
        infinite tolerance asks for nothing on purpose: the other conditions of a theorem then decide.
        """
        return (tolerance > _INFORMATIVE * self.unlearned) & tolerance.isfinite()

    @cached_property
    def unlearned(self) -> Tensor:
        """Largest |g_l| if these students answered the mean label to every input: [S]."""
        labels = self.teacher_activity.outputs
        error = labels - labels.mean(1, keepdim=True) if self.samples > 1 else labels
        return torch.stack([g.abs().amax((1, 2)) for g in backward(self.students, self.activity, error)]).amax(0)

    @cached_property
    def size(self) -> Tensor:
        """What the terms of a gradient add up to without their signs, the largest over layers and long samples: [S]."""
        longest = self.points.square().sum(2).topk(min(self.samples, _LONGEST), dim=1).indices
        points = self.points.gather(1, longest.unsqueeze(2).expand(-1, -1, self.points.shape[2])).abs()
        sizes = [forward(network.map(torch.abs), points) for network in self.both]
        total = sizes[0].outputs + sizes[1].outputs
        back = backward(self.students.map(torch.abs), sizes[1], total)
        return torch.stack([g.amax((1, 2)) for g in back]).amax(0)


_INFORMATIVE = 0.01
"""A gradient that counts as 0 must be at most this share of the gradient of students that learned nothing."""

_LONGEST = 256  # samples on which the size of rounding is judged


def scenes(teacher: Network, students: Network, points: Tensor | Inputs) -> Iterator[Scene]:
    """Checked scenes of as many members at a time as memory allows; results do not depend on the cut."""
    teacher, points = _checked(teacher, students, points)
    eps = max(torch.finfo(network.dtype).eps for network in (teacher, students))
    units = teacher.widths[1] + students.widths[1]
    size = max(1, _ELEMENTS // (units * max(points.shape[1], 64 * units)))  # by samples, or by pairs of units
    for begin in range(0, students.members, size):
        part = slice(begin, begin + size)
        pair = [network[part].to("cpu", torch.float64) for network in (teacher, students)]
        yield Scene(pair[0], pair[1], points[part].to("cpu", torch.float64), eps, begin)


def _checked(teacher: Network, students: Network, points: Tensor | Inputs) -> tuple[Network, Tensor]:
    """The teacher, one per member, and the points [S, N, d]; an error where the theorems cannot speak of them."""
    points = points.train if isinstance(points, Inputs) else points
    for network, who in ((teacher, "teacher"), (students, "students")):
        if network.activation not in ("relu", "leaky"):
            raise TutelageError(f"the theorems need relu or leaky units, but the {who} have '{network.activation}'")
        for layer, w in enumerate(network.weights, start=1):
            b = network.biases[layer - 1] if network.biases else w
            if not (w.isfinite().all() and b.isfinite().all()):
                raise TutelageError(
                    f"layer {layer} of the {who} holds numbers that are not finite: leave out diverged members"
                )
    _matched(teacher, students)
    shape = list(points.shape)
    points = points.unsqueeze(0) if points.ndim == 2 else points
    if points.ndim != 3 or points.shape[0] not in (1, students.members) or points.shape[2] != students.inputs:
        wanted = f"[N, {students.inputs}] or [{students.members}, N, {students.inputs}]"
        raise TutelageError(f"points must have shape {wanted}, got {shape}")
    if points.shape[1] == 0:
        raise TutelageError("there are no points: give at least one sample")
    if not points.isfinite().all():
        raise TutelageError("some points are not finite: leave those samples out")
    if teacher.members == 1:
        teacher = teacher.map(lambda a: a.expand(students.members, *a.shape[1:]))
    return teacher, points.expand(students.members, -1, -1)


def _matched(teacher: Network, students: Network) -> None:
    """Reject a teacher that these students cannot have learned from."""
    if teacher.members not in (1, students.members):
        raise TutelageError(
            f"{teacher.members} teachers and {students.members} students cannot be paired: give one teacher, or one "
            "per student"
        )
    if teacher.depth != students.depth:
        raise TutelageError(
            f"the teacher has {teacher.depth} layers and the students {students.depth}: give both the same depth"
        )
    for what in ("inputs", "outputs"):
        if getattr(teacher, what) != getattr(students, what):
            counts = f"{getattr(teacher, what)} {what} and the students {getattr(students, what)}"
            raise TutelageError(f"the teacher has {counts}: the theorems compare functions of one kind")
    leaks = [network.slope if network.activation == "leaky" else 0.0 for network in (teacher, students)]
    if leaks[0] != leaks[1]:
        raise TutelageError(f"teacher and students must have the same slope, got {leaks[0]} and {leaks[1]}")


def unit_name(scene: Scene, unit: int) -> str:
    """One of the K units in words."""
    return f"teacher unit {unit}" if unit < scene.m else f"student unit {unit - scene.m}"


Layers = Literal["two", "deep", "any"]
"""Two: two layers alone; deep: more, though two will do; any: two or more."""


def certificate(name: str, *, source: str, layers: Layers = "two") -> Callable[[Function], Function]:
    """Register a function (scene, *, options) -> one finding per member as a theorem on teacher, students and samples.

    The first line of its docstring is the statement.
    """
    return SPECIALISATION.certificate(name, source=source, needs=layers)


def _accepts(*about: Any) -> bool:
    return len(about) == 3 and all(isinstance(a, Network) for a in about[:2]) and isinstance(about[2], Tensor | Inputs)


def _unfit(theorem: Theorem, scene: Scene) -> str:
    depth = scene.students.depth
    if depth == 2 or (theorem.needs != "two" and depth > 2):
        return ""
    wanted = "two layers" if theorem.needs == "two" else "at least two layers"
    return f"needs networks of {wanted}, got {depth}"


SPECIALISATION = Subject(
    "specialisation",
    about="a teacher, its students and samples (Network, Network, and a Tensor or Inputs)",
    accepts=_accepts,
    scenes=lambda *about: ((scene.first, scene) for scene in scenes(*about)),
    unfit=_unfit,
    chosen=lambda theorem, scene: scene.students.depth > 2 or theorem.needs != "deep",
)
