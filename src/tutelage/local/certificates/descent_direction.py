"""There is a direction along which the loss must fall (Zhou et al. 2021, Lemma 7, and Lemma C.1 with its constants)."""

from tutelage.certificates.records import Certificate, Condition, Part, check
from tutelage.local.bounds import descent_loss
from tutelage.local.certificates._local import ROUNDING, THRESHOLD, near, signed, size
from tutelage.local.directions import direction
from tutelage.local.setting import LocalSetting


def descent_direction(setting: LocalSetting, *, threshold: float = THRESHOLD) -> list[Certificate]:
    """Lemma 7: <grad L, D> >= L for small losses; and without a threshold, Lemma C.1, the norm of D, and what follows.

    delta_max is the least angle within which every teacher has half of its mass, as Lemma 8 promises.
    """
    d = direction(setting)
    promised = descent_loss(setting).value
    rounding = ROUNDING * size(setting) ** 2
    mass = d.found.mass(d.angle)

    def conditions(s: int) -> tuple[Condition, ...]:
        least = int((mass[s] / setting.lengths[s]).argmin())
        share = float(mass[s, least] / setting.lengths[s, least])
        return (
            check(
                "share of a teacher's mass within delta_max",
                share,
                ">=",
                0.5,
                f"teacher {least}, delta_max {float(d.angle[s]):.4g}",
            ),
        )

    def parts(s: int) -> tuple[Part, ...]:
        inner, loss, off = float(d.inner[s]), float(d.loss[s]), float(rounding[s])
        if not d.met[s]:
            nothing = Condition("<grad L, D>", None, ">=", None, None, "not evaluated: a teacher has no student near")
            return (Part("Lemma 7", (), nothing),)
        bound, norm = float(d.norm_bound[s]), float(d.norm[s])
        following = check("|grad L| |D|", float(d.gradient[s]) * norm, ">=", inner - off, "<grad L, D>")
        return (
            Part("Lemma 7", (near(setting, s, d.loss, threshold),), check("<grad L, D>", inner, ">=", loss, "L")),
            Part("Lemma C.1", (), check("<grad L, D>", inner, ">=", float(promised[s]) - off, "2 L less what v costs")),
            Part("length of D", (), check("|D|", norm, "<=", bound * (1 + ROUNDING))),
            Part("Theorem 3", (), following),
        )

    return signed(
        setting, "descent direction", "Lemma 7, Lemma C.1", "Along D the loss falls at least at the rate of the loss.",
        parts, conditions, threshold=threshold, empirical="threshold of Lemma 7",
    )  # fmt: skip
