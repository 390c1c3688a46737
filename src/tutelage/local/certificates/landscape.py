"""Where the loss is zero, and how it falls nearby (Zhou et al. 2021, Theorems 2 and 3, Lemmas 7 and C.1, Claim 2).

Each compares exact values at the students at hand. "Nearby" is a loss below an empirical threshold, since the constant
of the paper is out of reach of any float; conclusions that need no threshold are parts of their own.
"""

from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.local.bounds import KAPPA, descent_loss
from tutelage.local.certificates._local import ROUNDING, THRESHOLD, certificate, findings, near, size
from tutelage.local.directions import direction
from tutelage.local.exact import loss, loss_and_gradient
from tutelage.local.grouping import groups
from tutelage.local.residuals import least_eigenvalue
from tutelage.local.setting import LocalSetting

_ZERO = 1e-26
"""Of the squared size of all units: a loss that counts as zero."""
_ENERGY = 1e-12
"""Of the size of all units: sum |w_j|^2 delta_j^2 that counts as zero."""


@certificate("zero-loss", "Theorem 2")
def zero_loss(setting: LocalSetting, *, zero_below: float = _ZERO, energy: float = _ENERGY) -> list[Finding]:
    """Where the loss is zero, every student points along a teacher, up to sign.

    Theorem 2: a loss of zero leaves no mass off the lines of teachers; zero students have no mass.

    A loss of ``zero_below`` still allows angles of its cube root, so the conclusion is held against ``energy``.
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

    return findings(
        setting, parts,
        lambda s: (check("loss", float(value[s]), "<=", zero_below * float(scale[s]) ** 2, "as good as zero"),),
        zero_below=zero_below, energy=energy,
    )  # fmt: skip


@certificate("lojasiewicz", "Theorem 3")
def lojasiewicz(setting: LocalSetting, *, threshold: float = THRESHOLD, constant: float = KAPPA) -> list[Finding]:
    """Where the loss is small, the norm of the gradient is at least a constant times the loss.

    Theorem 3: |grad L|_F >= constant L / sqrt(r w_max) for small losses, whatever m is.

    constant: 1 / sqrt 6 is what the proof gives; threshold: share of (sum |w*|)^2 below which a loss counts as small,
    which is empirical.
    """
    loss, slope = loss_and_gradient(setting)
    norm = slope.flatten(1).norm(dim=1) * (setting.r * setting.longest).sqrt()

    def parts(s: int) -> tuple[Part, ...]:
        conclusion = check(
            "|grad L| sqrt(r w_max)", float(norm[s]), ">=", constant * float(loss[s]), "constant times L"
        )
        return (Part("all students", (), conclusion),)

    return findings(
        setting, parts, lambda s: (near(setting, s, loss, threshold),),
        constant=constant, threshold=threshold, empirical="threshold",
    )  # fmt: skip


@certificate("polyak", "section 4, Claim 2")
def polyak(setting: LocalSetting, *, threshold: float = 1e-3) -> list[Finding]:
    """With one student per teacher the squared gradient is at least a constant times the loss.

    With one student per teacher, |grad L|^2 >= lambda_min(M) w_min L: half of the limit at the optimum (Claim 2).
    """
    loss, slope = loss_and_gradient(setting)
    squared = slope.square().sum((1, 2))
    constant = least_eigenvalue(setting) * setting.shortest
    alone = groups(setting).within(4.0).sum(1)

    def conditions(s: int) -> tuple[Condition, ...]:
        most, least = int(alone[s].max()), int(alone[s].min())
        one_each = (
            check("most students of a teacher", most, "<=", 1, f"teacher {int(alone[s].argmax())}"),
            check("fewest students of a teacher", least, ">=", 1, f"teacher {int(alone[s].argmin())}"),
        )
        return (*one_each, near(setting, s, loss, threshold))

    def parts(s: int) -> tuple[Part, ...]:
        bound = float(constant[s] * loss[s])
        return (Part("all students", (), check("|grad L|^2", float(squared[s]), ">=", bound, "lambda_min(M) w_min L")),)

    settings = {"threshold": threshold, "empirical": "threshold"}
    return findings(setting, parts, conditions, **settings)


@certificate("descent-direction", "Lemma 7")
def descent_direction(setting: LocalSetting, *, threshold: float = THRESHOLD) -> list[Finding]:
    """Where the loss is small, a direction that is known lowers it.

    Lemma 7: <grad L, D> >= L for small losses; and without a threshold, Lemma C.1, the norm of D, and what follows.

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

    return findings(setting, parts, conditions, threshold=threshold, empirical="threshold of Lemma 7")
