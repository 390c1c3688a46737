"""What theorems of Zhou, Ge and Jin (2021) are checked on, and what they share: the threshold of the local region."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.certificates.registry import Subject, Theorem
from tutelage.local.descent import Descent, descend
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers

THRESHOLD = 0.03
"""Share of (sum |w*_i|)^2: losses up to here count as local. Empirical, since the paper's own is out of reach."""
ROUNDING = 1e-13
"""Of the size of all units: what rounding may add to either side."""


def near(setting: LocalSetting, s: int, loss: Tensor, threshold: float) -> Condition:
    """The loss is in the local region: held against an empirical threshold, which the witness says."""
    bound = threshold * float(setting.total[s]) ** 2
    exponent = float(setting.threshold_exponent[s])
    witness = f"an empirical threshold, since the paper's eps_0 is about 10^{exponent:.1f} with constant 1"
    return check("loss", float(loss[s]), "<=", bound, witness, exponent=exponent)


def findings(
    setting: LocalSetting,
    parts: Callable[[int], Sequence[Part]],
    conditions: Callable[[int], Sequence[Condition]] = lambda s: (),
    **settings: Any,
) -> list[Finding]:
    """One finding per member."""
    return [Finding(parts(s), conditions(s), settings) for s in range(setting.members)]


def size(setting: LocalSetting) -> Tensor:
    """sum |w_j|^2 + sum |w*_i|: [S]."""
    return setting.mass + setting.total


STEPS = (0, 1, 10, 100, 1000)


def _example(
    *,
    teachers: int = 3,
    students: int = 6,
    dimension: int = 4,
    spread: float = 0.05,
    descent: bool = False,
    seed: int = 0,
) -> tuple[LocalSetting | Descent]:
    """Students near well-separated teachers, or a descent from there."""
    taught = separated_teachers(teachers, dimension, [seed])
    setting = LocalSetting(taught, local_students(taught, students, [seed], spread=spread))
    return (descend(setting, STEPS) if descent else setting,)


def _unfit(theorem: Theorem, scene: LocalSetting | Descent) -> str:
    if theorem.needs == "descent" and not isinstance(scene, Descent):
        return "needs a descent: pass what descend or descend_on_samples returns"
    if theorem.needs == "" and isinstance(scene, Descent):
        return "needs teachers and students: pass a LocalSetting"
    return ""


LOCAL = Subject(
    "local",
    about="teachers and students near them, or a descent from there (LocalSetting or Descent of tutelage.local)",
    accepts=lambda *about: len(about) == 1 and isinstance(about[0], LocalSetting | Descent),
    scenes=lambda about: [(0, about)],
    unfit=_unfit,
    example=_example,
)


def certificate(name: str, source: str, needs: str = "") -> Any:
    return LOCAL.certificate(name, source=f"Zhou et al. 2021, {source}", needs=needs)
