"""Specialisation in the lowest layer of deep networks from finitely many samples (Tian 2020, Theorem 5)."""

from collections.abc import Sequence

from tutelage.certificates.records import Finding
from tutelage.specialisation.certificates._boundaries import boundaries
from tutelage.specialisation.certificates._small_gradient import findings
from tutelage.specialisation.certificates.scene import Scene, certificate


@certificate("deep-lowest-layer", source="Tian 2020, Theorem 5", layers="deep")
def deep_lowest_layer(
    scene: Scene, *, epsilon: float = 0.1, epsilon_0: float | None = None, regions: int = 20_000
) -> Sequence[Finding]:
    r"""A small gradient on enough samples brings a student unit of the lowest layer of a deep network within epsilon.

    As ``polynomial-samples`` with K replaced by the number Q of flat pieces that the boundaries of all hidden units of
    both networks have, and :math:`|\alpha_{kj}|` by its least value over the regions on which it is constant. Both are
    found exactly, on the box of the samples, when there are at most ``regions`` regions; otherwise the pieces that the
    samples prove there to be are counted, and at best the certificate is not decided.
    """
    around = [boundaries(scene, member, epsilon, regions) for member in range(scene.members)]
    return findings(scene, around, epsilon, epsilon_0, "agnostic")
