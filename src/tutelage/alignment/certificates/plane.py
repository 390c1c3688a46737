"""What theorems of Zhu et al. 2021 are checked on: students of one teacher in the plane."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.alignment.determinants import of_vectors
from tutelage.certificates.registry import Subject, Theorem

Rational = Fraction | int | str


@dataclass(frozen=True, eq=False)
class PlaneScene:
    """A teacher [2] and students [S, m, 2]; turns: angles over pi as fractions [S][m], where they are known exactly."""

    teacher: Tensor
    students: Tensor
    turns: Sequence[Sequence[Rational]] | None = None
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def angles(self) -> np.ndarray:
        """Angles of the students with the teacher: [S, m]."""
        return of_vectors(self.teacher.double().numpy(), self.students.double().numpy())

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """What ``compute`` gives, computed once for this scene and shared by the theorems that need it."""
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]


def _scenes(teacher: Tensor | PlaneScene, students: Tensor | None = None) -> list[tuple[int, PlaneScene]]:
    if isinstance(teacher, PlaneScene):
        return [(0, teacher)]
    assert students is not None
    return [(0, PlaneScene(teacher, students))]


def _accepts(*about: Any) -> bool:
    if len(about) == 1:
        return isinstance(about[0], PlaneScene)
    if len(about) != 2 or not all(isinstance(a, Tensor) for a in about):
        return False
    return about[0].shape == (2,) and about[1].ndim == 3 and about[1].shape[2] == 2


def _unfit(theorem: Theorem, scene: PlaneScene) -> str:
    if theorem.needs == "turns" and scene.turns is None:
        return "needs angles as fractions of pi: pass a PlaneScene with turns"
    return ""


def _example(*, angles: str = "1/3 5/4 7/5", seed: int = 0) -> tuple[PlaneScene]:
    """Students of length 1 at angles that are fractions of pi."""
    turns = [[Fraction(word) for word in angles.split()]]
    radians = torch.tensor([[float(t) * torch.pi for t in row] for row in turns], dtype=torch.float64)
    students = torch.stack([radians.cos(), radians.sin()], 2)
    return (PlaneScene(torch.tensor([1.0, 0.0], dtype=torch.float64), students, turns),)


ALIGNMENT = Subject(
    "alignment",
    about="a teacher [2] and students [S, m, 2] in the plane (Tensor and Tensor, or a PlaneScene)",
    accepts=_accepts,
    scenes=_scenes,
    unfit=_unfit,
    example=_example,
)


def certificate(name: str, source: str, needs: str = "") -> Any:
    return ALIGNMENT.certificate(name, source=f"Zhu et al. 2021, {source}", needs=needs)
