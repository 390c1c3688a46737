"""Theorems and lemmas of Zhu et al. 2021 by name: students of one teacher in the plane, and kernels of the angle."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.alignment.angular import named
from tutelage.alignment.certificates import angular_lemmas, rational_angles, standing_still
from tutelage.alignment.determinants import of_vectors
from tutelage.certificates.records import Finding
from tutelage.certificates.registry import Subject, Theorem


@dataclass(frozen=True, eq=False)
class PlaneScene:
    """A teacher [2] and students [S, m, 2]; turns: angles over pi as fractions [S][m], where they are known exactly."""

    teacher: Tensor
    students: Tensor
    turns: Sequence[Sequence[rational_angles.Rational]] | None = None
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def angles(self) -> np.ndarray:
        """Angles of the students with the teacher: [S, m]."""
        return of_vectors(self.teacher.double().numpy(), self.students.double().numpy())

    def standing_still(self, name: str) -> list[Finding]:
        if not self._kept:
            self._kept.update(standing_still.standing_still(self.teacher, self.students))
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


def _certificate(name: str, source: str, needs: str = "") -> Any:
    return ALIGNMENT.certificate(name, source=f"Zhu et al. 2021, {source}", needs=needs)


@_certificate("few-students", "Theorem 3.1")
def few_students(scene: PlaneScene) -> list[Finding]:
    """With at most two students the gradient is zero only where all are aligned with the teacher."""
    return scene.standing_still("3.1")


@_certificate("one-side", "Theorem 4.1")
def one_side(scene: PlaneScene) -> list[Finding]:
    """With all students strictly on one side of the teacher's line the gradient is not zero."""
    return scene.standing_still("4.1")


@_certificate("determinants", "Theorem 5.1")
def determinants(scene: PlaneScene) -> list[Finding]:
    """Where det M > 0 and some det M_i <= 0, no lengths of students in these directions make the gradient zero."""
    return scene.standing_still("5.1")


@_certificate("rational-angles", "Theorem 4.4", needs="turns")
def rational(scene: PlaneScene) -> list[Finding]:
    """With all polar angles rational multiples of pi the gradient is zero only where all students are aligned."""
    assert scene.turns is not None
    return rational_angles.rational_angles(scene.turns, scene.students.norm(dim=2), float(scene.teacher.norm()))


@_certificate("kernel-falls", "Lemma 4.2")
def kernel_falls(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """f(theta) = sin theta + (pi - theta) cos theta falls on [0, pi], from pi to 0."""
    return [angular_lemmas.kernel_lemmas(named(kernel))["4.2"]]


@_certificate("kernel-products", "Lemma 4.3")
def kernel_products(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """f(alpha) f(beta) > f(alpha + beta) f(0) for alpha, beta and their sum between 0 and pi."""
    return [angular_lemmas.kernel_lemmas(named(kernel))["4.3"]]


@_certificate("definite-arcs", "Lemma 4.5")
def definite_arcs(scene: PlaneScene) -> list[Finding]:
    """The matrix of pi - theta_ij is positive definite where no two angles coincide or are antipodal."""
    return angular_lemmas.positive_matrices(scene.angles)["4.5"]


@_certificate("semidefinite-kernels", "Proposition 5.4")
def semidefinite_kernels(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """The matrix of an angular distance function is positive semi-definite."""
    return angular_lemmas.positive_matrices(scene.angles, named(kernel))["5.4"]


@_certificate("definite-kernels", "Conjecture 5.8")
def definite_kernels(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """Conjectured: falling angular distance functions with f(a) f(b) > f(a + b) f(0) have definite matrices."""
    return angular_lemmas.positive_matrices(scene.angles, named(kernel))["5.8"]
