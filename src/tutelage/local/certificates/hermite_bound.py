"""Mass far from every teacher costs loss: seen by a Hermite function (Zhou et al. 2021, Lemma C.4, with its norm put
right).
"""

from tutelage.certificates.records import Certificate, Part, check
from tutelage.local.certificates._local import ROUNDING, signed, size
from tutelage.local.exact import loss
from tutelage.local.grouping import groups
from tutelage.local.hermite import angle_energy_bound, lower_bound
from tutelage.local.setting import LocalSetting


def hermite_bound(setting: LocalSetting) -> list[Certificate]:
    """L >= <h, R>^2 / (2 ||h||^2), and sum |w_j|^2 delta_j^2 is at most what the loss allows: no empirical constant.

    The paper's O(sqrt L) leaves out the r equal pairs in ||h||^2; with them logarithms of 1 / L come in.
    """
    value, lower = loss(setting), lower_bound(setting)
    energy, most = groups(setting).angle_energy(), angle_energy_bound(setting, value=value)
    off = ROUNDING * size(setting)

    def parts(s: int) -> tuple[Part, ...]:
        degree = f"degree {int(lower.degree[s])}"
        bound = check("Hermite bound", float(lower.value[s]), "<=", float(value[s] + off[s] ** 2), degree)
        spread = check("sum |w_j|^2 delta_j^2", float(energy[s]), "<=", float(most[s] + off[s]))
        return Part("loss", (), bound), Part("angles", (), spread)

    statement = "The loss bounds the mass of students away from every teacher."
    return signed(setting, "hermite bound", "Lemma C.4", statement, parts, rounding=ROUNDING)
