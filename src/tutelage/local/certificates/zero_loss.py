"""Where the loss is zero, every student lies on the line of a teacher (Zhou et al. 2021, Theorem 2)."""

from tutelage.certificates.records import Certificate, Part, check
from tutelage.local.certificates._local import signed, size
from tutelage.local.exact import loss
from tutelage.local.grouping import groups
from tutelage.local.setting import LocalSetting

ZERO = 1e-26
"""Of the squared size of all units: a loss that counts as zero."""
ENERGY = 1e-12
"""Of the size of all units: sum |w_j|^2 delta_j^2 that counts as zero."""


def zero_loss(setting: LocalSetting, *, zero: float = ZERO, energy: float = ENERGY) -> list[Certificate]:
    """Theorem 2: a loss of zero leaves no mass off the lines of teachers; zero students have no mass.

    A loss of ``zero`` still allows angles of its cube root, so the conclusion is held against ``energy``.
    """
    value, grouping, scale = loss(setting), groups(setting), size(setting)
    spread = grouping.angle_energy()
    idle = setting.idle.sum(1)

    def parts(s: int) -> tuple[Part, ...]:
        widest = int((grouping.weight[s] * grouping.angle[s] ** 2).argmax())
        witness = f"most of it in student {widest}"
        if int(idle[s]):
            witness += f"; {int(idle[s])} students are zero, and would never move"
        bound = energy * float(scale[s])
        return (Part("all students", (), check("sum |w_j|^2 delta_j^2", float(spread[s]), "<=", bound, witness)),)

    return signed(
        setting, "zero loss", "Theorem 2", "Where the loss is zero every student is on the line of a teacher.", parts,
        lambda s: (check("loss", float(value[s]), "<=", zero * float(scale[s]) ** 2, "as good as zero"),),
        zero=zero, energy=energy,
    )  # fmt: skip
