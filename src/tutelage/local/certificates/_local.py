"""What the certificates of Zhou et al. 2021 share: the threshold of the local region, and how members are signed."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from tutelage.certificates.records import Certificate, Condition, Part, check
from tutelage.local.setting import LocalSetting

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


def signed(
    setting: LocalSetting,
    theorem: str,
    source: str,
    statement: str,
    parts: Callable[[int], Sequence[Part]],
    conditions: Callable[[int], Sequence[Condition]] = lambda s: (),
    **settings: Any,
) -> list[Certificate]:
    """One certificate per member."""
    return [
        Certificate(
            theorem, f"Zhou et al. 2021, {source}", statement, s, tuple(conditions(s)), tuple(parts(s)), settings
        )
        for s in range(setting.members)
    ]


def size(setting: LocalSetting) -> Tensor:
    """sum |w_j|^2 + sum |w*_i|: [S]."""
    return setting.mass + setting.total
