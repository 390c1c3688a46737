"""Student specialisation in two layers (Tian 2020, Theorem 1; Tian 2019, Theorem 2)."""

from collections.abc import Sequence

from tutelage.certificates.records import Finding
from tutelage.specialisation.certificates._aligned import findings, look
from tutelage.specialisation.certificates.scene import Scene, certificate


@certificate("alignment", source="Tian 2020, Theorem 1; Tian 2019, Theorem 2")
def alignment(scene: Scene, *, tolerance: float | None = None, alignment: float | None = None) -> Sequence[Finding]:
    r"""Where the gradient is zero, every observed teacher unit has a student unit with the same boundary.

    R_0 is the convex hull of the samples, and the gradient is asked for at the samples and at the three points the
    proof uses for each teacher unit j (:mod:`.evidence`). There :math:`\alpha_{kj}` can be cancelled by students with
    this boundary alone, unless what is left of the gradient hides it:
    :math:`4\max|g_k| \ge |\alpha_{kj}|\,\mathrm{kink}`, which only a tolerance above rounding allows.

    tolerance: the largest gradient taken for zero; alignment: the distance up to which two boundaries count as the
    same (Tian 2020, Def. 3). Both are at the level of rounding by default.
    """
    return findings(scene, look(scene, tolerance, alignment))
