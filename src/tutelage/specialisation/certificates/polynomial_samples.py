"""Specialisation from polynomially many samples (Tian 2020, Theorems 3 and 6)."""

from collections.abc import Sequence

from tutelage.certificates.records import Finding
from tutelage.specialisation.certificates._small_gradient import findings, first_layers
from tutelage.specialisation.certificates.scene import Scene, certificate


@certificate("polynomial-samples", source="Tian 2020, Theorems 3 and 6")
def polynomial_samples(scene: Scene, *, epsilon: float = 0.1, epsilon_0: float | None = None) -> Sequence[Finding]:
    r"""A small gradient on enough samples, each moved along every axis, brings a student unit within epsilon.

    The proof works in a band of half-width :math:`\varepsilon' = \varepsilon/(c K^{3/2}\sqrt d)` around teacher
    boundary j, K = m + n. The paper leaves c open; here eps' is the widest with :math:`M_1\varepsilon' \le \varepsilon`
    and :math:`M_2\varepsilon' \le \varepsilon` for the eta and mu measured in the band. Asked for: more than
    :math:`(\gamma+3)K(d+1)` samples of the band where student k is active, :math:`\gamma = 2\sqrt d`, and
    :math:`\|g_1\|_\infty \le |\alpha_{kj}|(1 - c_\mathrm{leaky})\varepsilon'/5` on the samples and on those of the band
    moved by :math:`\pm 2\sqrt d\,\varepsilon' e_u` (Def. 7a). The paper writes alpha for its absolute value.

    epsilon_0: teacher units must be further apart than this (Assumption 3a); epsilon itself by default.
    """
    return findings(scene, first_layers(scene), epsilon, epsilon_0, "agnostic")
