"""What a small loss E R^2 / 2 says of the residual R = f - f* (Zhou et al. 2021, Lemmas 8 to 13, C.3, C.4).

A test function h bounds the loss from below by Cauchy-Schwarz, E R^2 >= <h, R>^2 / ||h||^2. A slab around the
hyperplane of a teacher sees the mass that is missing there, a Hermite function of high degree sees mass away from all
teachers, and the matrix M of the teachers sees average errors. No sampling: every side is exact up to rounding, which
is granted as ``ROUNDING`` times the size of all units. Constants that the paper leaves open are empirical, and the
settings of a certificate say so.
"""

from typing import Any

from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.local.bounds import average_error, gradient_size, mass_gap, separation_bound, spikes
from tutelage.local.bounds import smoothness as remainder
from tutelage.local.certificates._local import ROUNDING, THRESHOLD, certificate, findings, near, size
from tutelage.local.descent import usual_rate
from tutelage.local.exact import gradient, loss
from tutelage.local.grouping import groups
from tutelage.local.hermite import angle_energy_bound
from tutelage.local.hermite import lower_bound as hermite_lower_bound
from tutelage.local.residuals import least_eigenvalue
from tutelage.local.setting import LocalSetting
from tutelage.local.slab import lower_bound as slab_lower_bound

_SLAB = 2.0
"""Of Lemma 8, empirical: the paper gives none."""


@certificate("slab-bound", "Lemma 8")
def slab_bound(setting: LocalSetting, *, threshold: float = THRESHOLD, constant: float = _SLAB) -> list[Finding]:
    """The loss is at least what a slab around a teacher's hyperplane sees.

    L >= <h, R>^2 / (2 ||h||^2) for every teacher; half of each teacher's mass lies within the angle of Lemma 8.
    """
    value, lower = loss(setting), slab_lower_bound(setting)
    rounding = ROUNDING * size(setting) ** 2
    angle = groups(setting).half_mass_angle()
    rate = setting.r * setting.longest * setting.shortest ** (-5 / 3) * value ** (1 / 3)

    def parts(s: int) -> tuple[Part, ...]:
        out = []
        for i in range(setting.r):
            tau = f"the best slab of all has tau {float(lower.tau[s]):.3g}" if i == int(lower.teacher[s]) else ""
            below = check("slab bound", float(lower.each[s, i]), "<=", float(value[s] + rounding[s]), tau or "L")
            out.append(Part(f"teacher {i}", (), below))
        if float(rate[s]) > 0:
            held = check("angle with half of every mass", float(angle[s]), "<=", constant * float(rate[s]))
            out.append(Part("Lemma 8", (near(setting, s, value, threshold),), held))
        return tuple(out)

    settings: dict[str, Any] = {
        "threshold": threshold,
        "constant": constant,
        "empirical": "threshold and constant of Lemma 8",
    }
    return findings(setting, parts, **settings)


@certificate("hermite-bound", "Lemma C.4")
def hermite_bound(setting: LocalSetting) -> list[Finding]:
    """The loss bounds the mass of students away from every teacher.

    L >= <h, R>^2 / (2 ||h||^2), and sum |w_j|^2 delta_j^2 is at most what the loss allows: no empirical constant.

    The paper's O(sqrt L) leaves out the r equal pairs in ||h||^2; with them logarithms of 1 / L come in.
    """
    value, lower = loss(setting), hermite_lower_bound(setting)
    energy, most = groups(setting).angle_energy(), angle_energy_bound(setting, value=value)
    off = ROUNDING * size(setting)

    def parts(s: int) -> tuple[Part, ...]:
        degree = f"degree {int(lower.degree[s])}"
        bound = check("Hermite bound", float(lower.value[s]), "<=", float(value[s] + off[s] ** 2), degree)
        spread = check("sum |w_j|^2 delta_j^2", float(energy[s]), "<=", float(most[s] + off[s]))
        return Part("loss", (), bound), Part("angles", (), spread)

    return findings(setting, parts, rounding=ROUNDING)


_MATRIX = 0.02
"""Of lambda_min(M) >= C Delta^3 / r^3, empirical: the proof's own is about 1e-5 of the truth."""


@certificate("teacher-matrix", "Lemmas 9, 10, 11")
def teacher_matrix(setting: LocalSetting, *, separation: float = 0.0, constant: float = _MATRIX) -> list[Finding]:
    """Average errors are seen by the loss as far as teachers are separated.

    lambda_min(M) lies above the proved bound and above C Delta^3 / r^3; |v| and ||R2|| are bounded as they say.

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

    settings = {"constant": constant, "empirical": "constant of the rate in Lemma 10"}
    return findings(setting, parts, conditions, **settings)


_REMAINDER = 3.0
"""Of Lemma 12, empirical: the paper gives none."""


@certificate("smoothness", "Lemmas 12, 13, C.3")
def smoothness(setting: LocalSetting, step: Tensor | None = None, *, constant: float = _REMAINDER) -> list[Finding]:
    """The loss stays near its tangent, and mass and gradient are bounded by the loss and the teachers.

    Lemma 12 for a step U [S, m, d] (one of gradient descent by default), Lemma 13 and the mass of Lemma C.3.
    """
    moved = -usual_rate(setting)[:, None, None] * gradient(setting) if step is None else step
    rest, slopes, gap = remainder(setting, moved), gradient_size(setting), mass_gap(setting)
    off = ROUNDING * size(setting)

    def parts(s: int) -> tuple[Part, ...]:
        k = int((slopes.value[s] - slopes.bound[s]).argmax())
        allowed = constant * float(rest.bound[s]) + float(off[s]) ** 2 + float(off[s])
        return (
            Part("Lemma 12", (), check("L(W + U) - L - <grad L, U>", float(rest.value[s]), "<=", allowed)),
            Part(
                "Lemma 13",
                (),
                check(
                    "|grad L| of a student", float(slopes.value[s, k]), "<=", float(slopes.bound[s, k]), f"student {k}"
                ),
            ),
            Part("Lemma C.3", (), check("|mass - sum |w*||", float(gap.value[s]), "<=", float(gap.bound[s] + off[s]))),
        )

    settings: dict[str, Any] = {"constant": constant, "empirical": "constant of Lemma 12"}
    return findings(setting, parts, **settings)
