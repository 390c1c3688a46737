"""Random directions with the best lengths give a small loss once every teacher is covered (Zhou et al. 2021, Lemma
E.1).
"""

import math

from torch import Tensor

from tutelage.certificates.records import Certificate, Part, check
from tutelage.local.bounds import cover_probability
from tutelage.local.certificates._local import ROUNDING, signed, size
from tutelage.local.exact import loss
from tutelage.local.initialise import fit_lengths
from tutelage.local.setting import LocalSetting
from tutelage.population.kernels import pairs


def covering_start(teachers: Tensor, directions: Tensor, *, chance: float = 0.9) -> list[Certificate]:
    """L(W') <= (sum |w*_i| 2 sin(gamma / 2))^2 / 2, gamma the greatest angle from a teacher to the nearest direction.

    teachers [S, r, d] or [1, r, d], directions [S, m, d]; lengths are fitted exactly. ``chance``: the settings tell how
    many random directions would cover every teacher within this gamma with that probability (Zhou et al. 2021, Lemma
    E.1 with the probability exact; the paper's denominator has another limit).
    """
    start = LocalSetting(teachers, fit_lengths(directions, teachers))
    angle = pairs(directions.double(), start.teachers).angle
    apart = angle.minimum(math.pi - angle).amin(1)
    gamma, value, off = apart.amax(1), loss(start), ROUNDING * size(start)
    bound = (start.total * 2 * (gamma / 2).sin()) ** 2 / 2

    def parts(s: int) -> tuple[Part, ...]:
        teacher = int(apart[s].argmax())
        hit = cover_probability(float(gamma[s]), start.d)
        wanted = math.log((1 - chance) / start.r) / math.log1p(-hit) if 0 < hit < 1 else 1.0
        witness = f"gamma {float(gamma[s]):.3g} at teacher {teacher}; {math.ceil(wanted)} directions for {chance:.0%}"
        return (Part("loss", (), check("loss", float(value[s]), "<=", float(bound[s] + off[s] ** 2), witness)),)

    statement = "The best lengths in directions that cover every teacher give a loss that falls with the angle squared."
    return signed(start, "covering start", "Theorem 5, Lemma E.1", statement, parts, chance=chance)
