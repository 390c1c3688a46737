"""A teacher without students near it costs loss: seen by a slab around its hyperplane (Zhou et al. 2021, Lemma 8)."""

from typing import Any

from tutelage.certificates.records import Certificate, Part, check
from tutelage.local.certificates._local import ROUNDING, THRESHOLD, near, signed, size
from tutelage.local.exact import loss
from tutelage.local.grouping import groups
from tutelage.local.setting import LocalSetting
from tutelage.local.slab import lower_bound

CONSTANT = 2.0
"""Of Lemma 8, empirical: the paper gives none."""


def slab_bound(setting: LocalSetting, *, threshold: float = THRESHOLD, constant: float = CONSTANT) -> list[Certificate]:
    """L >= <h, R>^2 / (2 ||h||^2) for every teacher; half of each teacher's mass lies within the angle of Lemma 8."""
    value, lower = loss(setting), lower_bound(setting)
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

    statement = "The loss is at least what a slab around a teacher's hyperplane sees."
    settings: dict[str, Any] = {
        "threshold": threshold,
        "constant": constant,
        "empirical": "threshold and constant of Lemma 8",
    }
    return signed(setting, "slab bound", "Lemma 8", statement, parts, **settings)
