"""How far the loss may leave its tangent, how large the gradient and the mass may be (Zhou et al. 2021, Lemmas 12, 13
and C.3).
"""

from typing import Any

from torch import Tensor

from tutelage.certificates.records import Certificate, Part, check
from tutelage.local.bounds import gradient_size, mass_gap
from tutelage.local.bounds import smoothness as remainder
from tutelage.local.certificates._local import ROUNDING, signed, size
from tutelage.local.descent import usual_rate
from tutelage.local.exact import gradient
from tutelage.local.setting import LocalSetting

CONSTANT = 3.0
"""Of Lemma 12, empirical: the paper gives none."""


def smoothness(setting: LocalSetting, step: Tensor | None = None, *, constant: float = CONSTANT) -> list[Certificate]:
    """Lemma 12 for a step U [S, m, d] (one of gradient descent by default), Lemma 13 and the mass of Lemma C.3."""
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

    statement = "The loss stays near its tangent, and mass and gradient are bounded by the loss and the teachers."
    settings: dict[str, Any] = {"constant": constant, "empirical": "constant of Lemma 12"}
    return signed(setting, "smoothness", "Lemmas 12, 13, C.3", statement, parts, **settings)
