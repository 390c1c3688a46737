"""Theorems and lemmas of Zhou, Ge and Jin (2021), by name: on teachers and students, or on a recorded descent."""

from typing import Any

from tutelage.certificates.records import Certificate
from tutelage.certificates.registry import Subject, Theorem, certify_all
from tutelage.local.bounds import KAPPA
from tutelage.local.certificates import arrival as arriving
from tutelage.local.certificates import covering_start as covering
from tutelage.local.certificates import descent_direction as directed
from tutelage.local.certificates import descent_rate as descending
from tutelage.local.certificates import hermite_bound as hermite
from tutelage.local.certificates import learned_subspace as subspaces
from tutelage.local.certificates import lojasiewicz as gradients
from tutelage.local.certificates import slab_bound as slabs
from tutelage.local.certificates import smoothness as smooth
from tutelage.local.certificates import teacher_matrix as matrix
from tutelage.local.certificates import zero_loss as zero
from tutelage.local.certificates._local import THRESHOLD
from tutelage.local.descent import Descent, descend
from tutelage.local.initialise import sampled_second_moment, samples, subspace, subspace_directions
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers

STEPS = (0, 1, 10, 100, 1000)


def _example(
    *,
    teachers: int = 3,
    students: int = 6,
    dimension: int = 4,
    spread: float = 0.05,
    descent: bool = False,
    seed: int = 0,
) -> tuple[LocalSetting | Descent]:
    """Students near well-separated teachers, or a descent from there."""
    taught = separated_teachers(teachers, dimension, [seed])
    setting = LocalSetting(taught, local_students(taught, students, [seed], spread=spread))
    return (descend(setting, STEPS) if descent else setting,)


def _unfit(theorem: Theorem, scene: LocalSetting | Descent) -> str:
    if theorem.needs == "descent" and not isinstance(scene, Descent):
        return "needs a descent: pass what descend or descend_on_samples returns"
    if theorem.needs == "" and isinstance(scene, Descent):
        return "needs teachers and students: pass a LocalSetting"
    return ""


LOCAL = Subject(
    "local",
    about="teachers and students near them, or a descent from there (LocalSetting or Descent of tutelage.local)",
    accepts=lambda *about: len(about) == 1 and isinstance(about[0], LocalSetting | Descent),
    scenes=lambda about: [(0, about)],
    unfit=_unfit,
    example=_example,
)


def _certificate(name: str, source: str, needs: str = "") -> Any:
    return LOCAL.certificate(name, source=f"Zhou et al. 2021, {source}", needs=needs)


@_certificate("zero-loss", "Theorem 2")
def zero_loss(
    setting: LocalSetting, *, zero_below: float = zero.ZERO, energy: float = zero.ENERGY
) -> list[Certificate]:
    """Where the loss is zero, every student points along a teacher, up to sign."""
    return zero.zero_loss(setting, zero=zero_below, energy=energy)


@_certificate("lojasiewicz", "Theorem 3")
def lojasiewicz(setting: LocalSetting, *, threshold: float = THRESHOLD, constant: float = KAPPA) -> list[Certificate]:
    """Where the loss is small, the norm of the gradient is at least a constant times the loss."""
    return gradients.lojasiewicz(setting, threshold=threshold, constant=constant)


@_certificate("polyak", "section 4, Claim 2")
def polyak(setting: LocalSetting, *, threshold: float = 1e-3) -> list[Certificate]:
    """With one student per teacher the squared gradient is at least a constant times the loss."""
    return gradients.polyak(setting, threshold=threshold)


@_certificate("descent-direction", "Lemma 7")
def descent_direction(setting: LocalSetting, *, threshold: float = THRESHOLD) -> list[Certificate]:
    """Where the loss is small, a direction that is known lowers it."""
    return directed.descent_direction(setting, threshold=threshold)


@_certificate("slab-bound", "Lemma 8")
def slab_bound(
    setting: LocalSetting, *, threshold: float = THRESHOLD, constant: float = slabs.CONSTANT
) -> list[Certificate]:
    """The loss is at least what a slab around a teacher's hyperplane sees."""
    return slabs.slab_bound(setting, threshold=threshold, constant=constant)


@_certificate("hermite-bound", "Lemma C.4")
def hermite_bound(setting: LocalSetting) -> list[Certificate]:
    """The loss bounds the mass of students away from every teacher."""
    return hermite.hermite_bound(setting)


@_certificate("teacher-matrix", "Lemmas 9, 10, 11")
def teacher_matrix(
    setting: LocalSetting, *, separation: float = 0.0, constant: float = matrix.CONSTANT
) -> list[Certificate]:
    """Average errors are seen by the loss as far as teachers are separated."""
    return matrix.teacher_matrix(setting, separation=separation, constant=constant)


@_certificate("smoothness", "Lemmas 12, 13, C.3")
def smoothness(setting: LocalSetting, *, constant: float = smooth.CONSTANT) -> list[Certificate]:
    """The loss stays near its tangent, and mass and gradient are bounded by the loss and the teachers."""
    return smooth.smoothness(setting, constant=constant)


@_certificate("covering-start", "Theorem 5, Lemma E.1")
def covering_start(setting: LocalSetting, *, chance: float = 0.9) -> list[Certificate]:
    """The best lengths in directions that cover every teacher give a loss that falls with the angle squared."""
    return covering.covering_start(setting.teachers, setting.students, chance=chance)


@_certificate("learned-subspace", "Theorem 5, Lemmas E.3, E.4 and E.5")
def learned_subspace(setting: LocalSetting, *, number: int = 10_000, chance: float = 0.9) -> list[Certificate]:
    """Directions in a subspace learned from samples give a loss that falls with samples and directions."""
    seeds = range(setting.members)
    moment = sampled_second_moment(*samples(setting.teachers, number, seeds))
    directions = subspace_directions(setting.m, subspace(moment, setting.r), seeds)
    return subspaces.learned_subspace(setting.teachers, moment, directions, number, chance=chance)


@_certificate("sampled-gradient", "Theorem 6")
def sampled_gradient(setting: LocalSetting, *, batch: int = 1000, batches: int = 32) -> list[Certificate]:
    """The gradient of a batch is near the true one, the nearer the larger the batch."""
    return descending.sampled_gradient(setting, batch, range(setting.members), batches=batches)


@_certificate("descent-rate", "Theorems 4 and 6", needs="descent")
def descent_rate(run: Descent, *, threshold: float = THRESHOLD) -> list[Certificate]:
    """From a small loss, gradient descent converges at least like 1 / t, whatever the width."""
    return descending.descent_rate(run, threshold=threshold)


@_certificate("arrival", "Theorems 4 to 6", needs="descent")
def arrival(run: Descent, *, loss: float = 1e-3, threshold: float = THRESHOLD) -> list[Certificate]:
    """From a small loss, descent reaches a smaller one within the promised number of steps."""
    return arriving.arrival(run, loss, threshold=threshold)


def local_convergence(setting: LocalSetting) -> dict[str, list[Certificate]]:
    """Check every theorem about teachers and students: name -> one certificate per member."""
    return certify_all(setting)
