"""Is some det M_i never positive (Zhu et al. 2021, Conjecture 5.5)? Figs. 2 to 4 with signs that are proved, not
rounded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from tutelage import draws
from tutelage.alignment.determinants import DEGENERATE, Signs, determinants, separation, signs
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.studies.claims import MODERATE, SIGNED, Check, Claim
from tutelage.studies.study import Plan, Scale, study

GRID: dict[Scale, int] = {"smoke": 16, "quick": 90, "paper": 360}
SETS: dict[Scale, int] = {"smoke": 200, "quick": 10_000, "paper": 100_000}
BLOCKS = 20
"""Parts of the random sets over which a rank correlation gets its standard error."""
THREE = ((1.0,), (2.0,), (3.0,))
FOUR = ((1.0, 4.0), (1.0, 6.0), (2.0, 4.0))
RANDOM = (6, 9)
FLOOR = 1e-8
"""Smallest -z told apart in the heat maps."""


@dataclass(frozen=True, eq=False)
class AngleSets:
    """Angle sets of one setting: angles [S, m], proved signs, z = min_i det M_i [S], least separation [S]."""

    label: str
    angles: np.ndarray
    signs: Signs
    z: np.ndarray
    apart: np.ndarray


def judged(label: str, angles: np.ndarray) -> AngleSets:
    """Determinants of angle sets and what is proved of their signs; z of coincident angles is 0 without computing."""
    apart = separation(angles)[0]
    z = np.where(apart < DEGENERATE, 0.0, determinants(angles)[1].min(1))
    return AngleSets(label, angles, signs(angles), z, apart)


def grid(cells: int, fixed: Sequence[float]) -> np.ndarray:
    """theta_1 and, for m = 4, theta_4 fixed; theta_2 and theta_3 at the middles of equal cells: [cells^2, m]."""
    middles = (np.arange(cells) + 0.5) * (2 * math.pi / cells)
    second, third = (a.ravel() for a in np.meshgrid(middles, middles, indexing="ij"))
    return np.stack([np.full_like(second, fixed[0]), second, third, *(np.full_like(second, t) for t in fixed[1:])], 1)


class GridDeterminants(Experiment, kind="grid-determinants", numerics=1):
    """Signs of det M and of every det M_i on a grid of angles, proved; one member per angle set.

    fixed: theta_1 and, for four students, theta_4.
    """

    fixed: tuple[float, ...]
    cells: int

    @property
    def members(self) -> int:
        return self.cells**2

    def run(self, context: Context) -> Arrays:
        return _arrays(judged("", grid(self.cells, self.fixed)))

    @property
    def label(self) -> str:
        names = ("theta_1",) if len(self.fixed) == 1 else ("theta_1", "theta_4")
        return ", ".join(f"{name} = {angle:g}" for name, angle in zip(names, self.fixed, strict=True))


class RandomDeterminants(Experiment, kind="random-determinants", numerics=1):
    """The same for angles uniform on the circle, one random stream per block; one member per angle set."""

    students: int
    per_block: int
    blocks: int = BLOCKS

    @property
    def members(self) -> int:
        return self.blocks * self.per_block

    def run(self, context: Context) -> Arrays:
        keys = draws.keys(range(self.blocks), f"angles of {self.students}")
        uniform = draws.uniforms(keys, self.per_block * self.students)
        return _arrays(judged("", 2 * math.pi * uniform.view(-1, self.students).numpy()))

    @property
    def label(self) -> str:
        return f"m = {self.students}"


def _grids(fixed: Sequence[tuple[float, ...]], scale: Scale) -> list[GridDeterminants]:
    return [GridDeterminants(fixed=angles, cells=GRID[scale]) for angles in fixed]


SIGNS = tuple(field.name for field in fields(Signs))


def _arrays(sets: AngleSets) -> Arrays:
    proved = {f"sign_{name}": np.asarray(getattr(sets.signs, name)) for name in SIGNS}
    return {"angles": sets.angles, "z": sets.z, "separation": sets.apart, **proved}


def angle_sets(results: Results) -> list[AngleSets]:
    """The angle sets of every experiment, with what is proved of them."""
    return [
        AngleSets(
            r.experiment.label, r["angles"], Signs(**{name: r[f"sign_{name}"] for name in SIGNS}), r["z"],
            r["separation"],
        )
        for r in results
    ]  # fmt: skip


@study(
    "determinants-m3",
    paper="zhu2021",
    figure="2",
    shows="z = min_i det M_i over theta_2 and theta_3 for m = 3 and theta_1 = 1, 2, 3: the surface is never above 0.",
)
def three(scale: Scale) -> Plan:
    """The least determinant of three students is not positive."""
    claims = [never_positive, definite]
    return Plan(_grids(THREE, scale), draw_grids, claims, view=angle_sets)


@study(
    "determinants-m4",
    paper="zhu2021",
    figure="3",
    shows="The same for m = 4 with (theta_1, theta_4) = (1, 4), (1, 6), (2, 4): the surface is never above 0.",
)
def four(scale: Scale) -> Plan:
    """The least determinant of four students is not positive."""
    claims = [never_positive, definite]
    return Plan(_grids(FOUR, scale), draw_grids, claims, view=angle_sets)


@study(
    "determinants-random",
    paper="zhu2021",
    figure="4",
    shows="z = min_i det M_i of 100,000 random angle sets each for m = 6 and m = 9, clipped: no point above 0.",
)
def random(scale: Scale) -> Plan:
    """The least determinant of random students is not positive."""
    claims: list[Claim | Check] = [never_positive_at_random, definite_at_random, a_potential]
    experiments = [RandomDeterminants(students=m, per_block=SETS[scale] // BLOCKS) for m in RANDOM]
    return Plan(experiments, draw_random, claims, view=angle_sets)


# ----------------------------------------------------------------------------------------------------------------
# The figures


def draw_grids(angle_sets: list[AngleSets]) -> Figure:
    """-z as heat maps on a logarithmic scale; sets without a proved negative determinant are crosses."""
    figure = Figure(figsize=(3.0 * len(angle_sets) + 1.0, 3.7), layout="constrained")
    axes = figure.subplots(1, len(angle_sets), squeeze=False, sharey=True)[0]
    norm = mpl.colors.LogNorm(FLOOR, max(-s.z.min() for s in angle_sets))
    for panel, s in zip(axes, angle_sets, strict=True):
        side = math.isqrt(len(s.z))
        drop = np.clip(-s.z, FLOOR, None).reshape(side, side)
        image = panel.imshow(drop.T, origin="lower", extent=(0, 2 * math.pi) * 2, norm=norm, cmap="viridis")
        missing = ~s.signs.nonpositive & ~s.signs.degenerate
        panel.plot(s.angles[missing, 1], s.angles[missing, 2], "x", color="#D55E00", markersize=5)
        panel.grid(False)
        title = s.label.replace("theta_", r"\theta_").replace(", ", r",\ ")
        panel.set(title=f"${title}$", xlabel=r"$\theta_2$")
        panel.set_xticks([0, math.pi, 2 * math.pi], ["0", "$\\pi$", "$2\\pi$"])
        panel.set_yticks([0, math.pi, 2 * math.pi], ["0", "$\\pi$", "$2\\pi$"])
    axes[0].set_ylabel(r"$\theta_3$")
    figure.colorbar(image, ax=axes, shrink=0.85).set_label(r"$-\min_i \det M_i$")
    return figure


def draw_random(angle_sets: list[AngleSets]) -> Figure:
    """-z of the angle sets over their least separation, both on logarithmic scales; the shade is their number."""
    figure = Figure(figsize=(3.4 * len(angle_sets) + 0.6, 3.0), layout="constrained")
    axes = figure.subplots(1, len(angle_sets), squeeze=False, sharex=True)[0]
    for panel, s in zip(axes, angle_sets, strict=True):
        kept = s.signs.nonpositive & (s.z < 0)
        shown = panel.hexbin(
            s.apart[kept], -s.z[kept], xscale="log", yscale="log", bins="log", gridsize=50, mincnt=1, cmap="viridis",
            linewidths=0,
        )  # fmt: skip
        panel.set(xlabel="least angle of two units", title=f"${s.label}$")
        text = f"{int(s.signs.counterexample.sum())} of {len(s.z):,} proved positive"
        panel.text(0.03, 0.03, text, transform=panel.transAxes, fontsize=8)
        figure.colorbar(shown, ax=panel).set_label("angle sets")
    axes[0].set_ylabel(r"$-\min_i \det M_i$")
    return figure


# ----------------------------------------------------------------------------------------------------------------
# The claims

never_positive = Check(
    "for relu z is non-positive on the grid (Conjecture 5.5, which is false for other functions of the angle)",
    statistic="number of the angle sets, coincident and antipodal ones left out, without some det M_i proved negative",
    expected="<= 0",
    values=lambda angle_sets: {s.label: float((~s.signs.nonpositive & ~s.signs.degenerate).sum()) for s in angle_sets},
    reason="the conjecture allows no exception",
    place="Conj. 5.5",
)

definite = Check(
    "and det M is positive (the other half of the determinant condition, Theorem 5.1)",
    statistic="number of the same sets without a proof that M is positive definite",
    expected="<= 0",
    values=lambda angle_sets: {s.label: float(((s.signs.full != 1) & ~s.signs.degenerate).sum()) for s in angle_sets},
    reason="the theorem allows no exception",
)

never_positive_at_random = Check(
    "for relu z is always non-positive (Conjecture 5.5, which is false for other functions of the angle)",
    statistic="one where some det M_i is proved negative, else zero; coincident and antipodal sets left out",
    expected=">= 1",
    values=lambda angle_sets: {s.label: s.signs.nonpositive[~s.signs.degenerate].astype(float) for s in angle_sets},
    reason="the conjecture allows no exception",
    place="Conj. 5.5",
)

definite_at_random = Check(
    "and det M is positive (the other half of the determinant condition, Theorem 5.1)",
    statistic="one where M is proved positive definite, else zero; the same sets",
    expected=">= 1",
    values=lambda angle_sets: {s.label: (s.signs.full[~s.signs.degenerate] == 1).astype(float) for s in angle_sets},
    reason="the theorem allows no exception",
)

a_potential = Claim(
    "the further from being degenerate, the further z is from being non-negative",
    statistic="rank correlation of -z with the least angle between two units, over the sets of a block",
    expected="> 0.3",
    reason=MODERATE,
    possible=SIGNED,
    values=lambda angle_sets: {
        s.label: np.array(
            [
                stats.spearmanr(apart, -z).statistic
                for apart, z in zip(np.split(s.apart, BLOCKS), np.split(s.z, BLOCKS), strict=True)
            ]
        )
        for s in angle_sets
    },
    standing="own",
)
