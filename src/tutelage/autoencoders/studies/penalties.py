"""The penalty C and the size of the code of mutual autoencoders (Phuong 2021, section 4.4)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tutelage.autoencoders.studies._toys import SYMBOLS, MutualAutoencoders
from tutelage.lab import Results
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study

TARGETS = {"normal": 1.2, "symbols": 1.5}
PENALTIES: dict[Scale, tuple[float, ...]] = {
    "smoke": (0.03, 1.0, 30.0),
    "quick": (0.03, 0.1, 1.0, 10.0, 30.0),
    "paper": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
}
INSIDE = (0.1, 10.0)
"""Where the paper says that C works best."""
LATENTS = (1, 2)
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 4, "paper": 8}
STEPS: dict[Scale, int] = {"smoke": 60, "quick": 1_000, "paper": 2_400}
MOST = {"normal": -0.5 * np.log(2 * np.pi * np.e), "symbols": -np.log(SYMBOLS)}
"""The largest E log p(x): minus the entropy of the data."""


@study(
    "penalties",
    paper="phuong2021",
    figure="sec. 4.4",
    shows="No figure: a finite penalty C above the multiplier suffices to meet the target; values from 0.1 to 10 work "
    "best.",
)
def penalties(scale: Scale) -> Plan:
    """Information met and likelihood lost against C, for codes of one and two numbers."""
    seeds = SEEDS[scale]
    experiments = [
        MutualAutoencoders(
            distribution=distribution,
            targets=(target,) * seeds,
            seeds=seeds,
            steps=STEPS[scale],
            learning_rate=2e-3 if distribution == "normal" else 5e-3,
            penalty=penalty,
            latent=latent,
        )
        for distribution, target in TARGETS.items()
        for latent in LATENTS
        for penalty in PENALTIES[scale]
    ]
    return Plan(experiments, draw, [met, likely, better_inside], view=by_penalty)


@dataclass(frozen=True, eq=False)
class PenaltyOutcome:
    """One distribution, code and C: |I - M| by quadrature, and what E log p(x) lacks to its largest value: [S]."""

    distribution: str
    latent: int
    penalty: float
    miss: np.ndarray
    lost: np.ndarray

    @property
    def name(self) -> str:
        return f"{self.distribution}, {self.latent} latent"

    @property
    def inside(self) -> bool:
        return INSIDE[0] <= self.penalty <= INSIDE[1]


def by_penalty(results: Results) -> list[PenaltyOutcome]:
    def outcome(r: Any) -> PenaltyOutcome:
        kind = r.setting("distribution")
        miss, lost = np.abs(r["information"] - TARGETS[kind]), MOST[kind] - r["likelihood"]
        return PenaltyOutcome(kind, r.setting("latent"), r.setting("penalty"), miss, lost)

    return [outcome(r) for r in results]


def draw(outcomes: list[PenaltyOutcome]) -> Figure:
    """|I - M| and the likelihood lost against C; the paper's range of C is grey."""
    names = list(dict.fromkeys(o.name for o in outcomes))
    rows = ["|I - M|, nats", "likelihood lost, nats"]
    figure, axes = panel_grid(rows, names, "C", "", size=(2.0, 1.9))
    for column, name in enumerate(names):
        group = [o for o in outcomes if o.name == name]
        for row, values in enumerate(([o.miss for o in group], [o.lost for o in group])):
            panel = axes[row, column]
            panel.axvspan(*INSIDE, color="#888888", alpha=0.15, lw=0)
            for o, v in zip(group, values, strict=True):
                panel.plot([o.penalty] * len(v), np.maximum(v, 1e-5), ".", color=PALETTE[row], ms=3, alpha=0.6)
            panel.plot([o.penalty for o in group], [max(np.median(v), 1e-5) for v in values], color=PALETTE[row], lw=1)
            panel.axhline(0.05, color="#000000", ls="--", lw=0.7)
            panel.set(xscale="log", yscale="log")
    return figure


met = Claim(
    "with C from 0.1 to 10 the information is that which was asked for",
    statistic="|I - M| with the exact I(x; z) by quadrature",
    expected="< 0.05",
    values=lambda outcomes: {f"{o.name}, C = {o.penalty:g}": o.miss for o in outcomes if o.inside},
    reason="a twentieth of a nat, where targets of interest are half a nat apart",
    possible=(0.0, np.inf),
)

likely = Claim(
    "and the likelihood does not suffer",
    statistic="what E log p(x) lacks to its largest value, which is minus the data's entropy, in nats",
    expected="< 0.05",
    values=lambda outcomes: {f"{o.name}, C = {o.penalty:g}": o.lost for o in outcomes if o.inside},
    reason="the same twentieth of a nat",
    possible=(0.0, np.inf),
)

better_inside = Claim(
    "outside that range it is worse than at C = 1",
    statistic="|I - M| plus the likelihood lost at that C, minus the same at C = 1, seed by seed, in nats",
    expected="> 0",
    values=lambda outcomes: {
        f"{o.name}, C = {o.penalty:g}": o.miss + o.lost - _at_one(outcomes, o) for o in outcomes if not o.inside
    },
    reason=DIRECTION,
)


def _at_one(outcomes: list[PenaltyOutcome], like: PenaltyOutcome) -> np.ndarray:
    (reference,) = (o for o in outcomes if o.name == like.name and o.penalty == 1.0)
    return reference.miss + reference.lost
