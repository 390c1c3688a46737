"""Student specialisation in the lowest layer of deep networks (Tian 2019, Theorem 4)."""

from collections.abc import Sequence

from tutelage.certificates.records import Finding
from tutelage.specialisation.certificates._aligned import findings, look
from tutelage.specialisation.certificates.scene import Scene, certificate


@certificate("deep-alignment", source="Tian 2019, Theorem 4", layers="deep")
def deep_alignment(
    scene: Scene, *, tolerance: float | None = None, alignment: float | None = None
) -> Sequence[Finding]:
    r"""Where the gradient is zero, a teacher unit of the lowest layer seen in one linear region has a student unit.

    The region R is the one around three points that straddle the boundary while every unit above keeps its sign, so
    that :math:`\alpha_{kj}(R)` is a number. Whether such a region exists is searched on segments between samples:
    where none is found the certificate says that it is not decided.
    """
    return findings(scene, look(scene, tolerance, alignment))
