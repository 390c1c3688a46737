"""Separated teachers make the flat part of the residual see every average error (Zhou et al. 2021, Lemmas 9, 10 and
11).
"""

from tutelage.certificates.records import Certificate, Condition, Part, check
from tutelage.local.bounds import average_error, separation_bound, spikes
from tutelage.local.certificates._local import ROUNDING, signed, size
from tutelage.local.residuals import least_eigenvalue
from tutelage.local.setting import LocalSetting

CONSTANT = 0.02
"""Of lambda_min(M) >= C Delta^3 / r^3, empirical: the proof's own is about 1e-5 of the truth."""


def teacher_matrix(setting: LocalSetting, *, separation: float = 0.0, constant: float = CONSTANT) -> list[Certificate]:
    """lambda_min(M) lies above the proved bound and above C Delta^3 / r^3; |v| and ||R2|| are bounded as they say.

    separation: the least Delta to be asked for (Zhou et al. 2021, Assumption 1).
    """
    least, proved, apart = least_eigenvalue(setting), separation_bound(setting), setting.separation
    error, spiky, off = average_error(setting), spikes(setting), ROUNDING * size(setting)

    def conditions(s: int) -> tuple[Condition, ...]:
        return (check("separation of teachers", float(apart[s]), ">=", separation),)

    def parts(s: int) -> tuple[Part, ...]:
        rate = constant * float(apart[s]) ** 3 / setting.r**3
        value = float(least[s])
        return (
            Part("Lemma 10, proved bound", (), check("lambda_min(M)", value, ">=", float(proved[s]) - ROUNDING)),
            Part("Lemma 10, rate", (), check("lambda_min(M)", value, ">=", rate, "C Delta^3 / r^3, C empirical")),
            Part("Lemma 9", (), check("|v|", float(error.value[s]), "<=", float(error.bound[s] + off[s]))),
            Part("Lemma 11", (), check("||R2||^2", float(spiky.value[s]), "<=", float(spiky.bound[s] + off[s] ** 2))),
        )

    statement = "Average errors are seen by the loss as far as teachers are separated."
    settings = {"constant": constant, "empirical": "constant of the rate in Lemma 10"}
    return signed(setting, "teacher matrix", "Lemmas 9, 10, 11", statement, parts, conditions, **settings)
