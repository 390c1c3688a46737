"""Near the optimum the gradient is not small against the loss (Zhou et al. 2021, Theorem 3), nor its square where m =
r.
"""

from tutelage.certificates.records import Certificate, Condition, Part, check
from tutelage.local.bounds import KAPPA
from tutelage.local.certificates._local import THRESHOLD, near, signed
from tutelage.local.exact import loss_and_gradient
from tutelage.local.grouping import groups
from tutelage.local.residuals import least_eigenvalue
from tutelage.local.setting import LocalSetting


def lojasiewicz(setting: LocalSetting, *, threshold: float = THRESHOLD, constant: float = KAPPA) -> list[Certificate]:
    """Theorem 3: |grad L|_F >= constant L / sqrt(r w_max) for small losses, whatever m is.

    constant: 1 / sqrt 6 is what the proof gives; threshold: share of (sum |w*|)^2 below which a loss counts as small,
    which is empirical.

    >>> import torch
    >>> [certificate] = lojasiewicz(LocalSetting(torch.eye(2), 0.9 * torch.eye(2)))
    >>> certificate.verdict
    'holds'
    """
    loss, slope = loss_and_gradient(setting)
    norm = slope.flatten(1).norm(dim=1) * (setting.r * setting.longest).sqrt()

    def parts(s: int) -> tuple[Part, ...]:
        conclusion = check(
            "|grad L| sqrt(r w_max)", float(norm[s]), ">=", constant * float(loss[s]), "constant times L"
        )
        return (Part("all students", (), conclusion),)

    statement = "Where the loss is small, the norm of the gradient is at least a constant times the loss."
    return signed(
        setting, "lojasiewicz", "Theorem 3", statement, parts, lambda s: (near(setting, s, loss, threshold),),
        constant=constant, threshold=threshold, empirical="threshold",
    )  # fmt: skip


def polyak(setting: LocalSetting, *, threshold: float = 1e-3) -> list[Certificate]:
    """With one student per teacher, |grad L|^2 >= lambda_min(M) w_min L: half of the limit at the optimum (Claim 2)."""
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

    statement = "With one student per teacher the squared gradient is at least a constant times the loss."
    settings = {"threshold": threshold, "empirical": "threshold"}
    return signed(setting, "polyak", "section 4, Claim 2", statement, parts, conditions, **settings)
