"""Specialisation from samples moved across the teacher's boundaries (Tian 2020, Theorems 4 and 7)."""

from collections.abc import Sequence

from tutelage.certificates.records import Finding
from tutelage.specialisation.certificates._small_gradient import findings, first_layers
from tutelage.specialisation.certificates.scene import Scene, certificate


@certificate("teacher-aware-samples", source="Tian 2020, Theorems 4 and 7")
def teacher_aware_samples(scene: Scene, *, epsilon: float = 0.1, epsilon_0: float | None = None) -> Sequence[Finding]:
    r"""A small gradient on fewer samples, moved across the teacher's boundaries, brings a student unit within epsilon.

    As ``polynomial-samples`` with :math:`\gamma = 2` in the place of :math:`2\sqrt d` and samples of the band moved by
    :math:`\pm 2\varepsilon' \tilde w^*_j` (Def. 7b): knowing the teacher saves the root of d in the gradient and a
    factor of it in the samples.
    """
    return findings(scene, first_layers(scene), epsilon, epsilon_0, "aware")
