"""Is some det M_i never positive (seed 002, Conjecture 5.5)? Figs. 2 to 4 with signs that are proved, not rounded."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from scipy import stats

from tutelage import draws
from tutelage.figures import PALETTE
from tutelage.studies.claims import Claim
from tutelage.studies.study import Plan, Scale, study
from tutelage.theory.alignment.determinants import DEGENERATE, Signs, determinants, separation, signs

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
class Seen:
    """Angle sets of one setting: angles [S, m], proved signs, z = min_i det M_i [S], least separation [S]."""

    label: str
    angles: np.ndarray
    signs: Signs
    z: np.ndarray
    apart: np.ndarray


def seen(label: str, angles: np.ndarray) -> Seen:
    """Determinants of angle sets and what is proved of their signs; z of coincident angles is 0 without computing."""
    apart = separation(angles)[0]
    z = np.where(apart < DEGENERATE, 0.0, determinants(angles)[1].min(1))
    return Seen(label, angles, signs(angles), z, apart)


def grid(scale: Scale, fixed: tuple[float, ...]) -> np.ndarray:
    """theta_1 and, for m = 4, theta_4 fixed; theta_2 and theta_3 at the middles of equal cells: [cells^2, m]."""
    middles = (np.arange(GRID[scale]) + 0.5) * (2 * math.pi / GRID[scale])
    second, third = (a.ravel() for a in np.meshgrid(middles, middles, indexing="ij"))
    return np.stack([np.full_like(second, fixed[0]), second, third, *(np.full_like(second, t) for t in fixed[1:])], 1)


def look_at_grids(fixed: Sequence[tuple[float, ...]], progress: Callable[[float], None], scale: Scale) -> list[Seen]:
    out = []
    for done, angles in enumerate(fixed, start=1):
        names = ("theta_1",) if len(angles) == 1 else ("theta_1", "theta_4")
        label = ", ".join(f"{name} = {angle:g}" for name, angle in zip(names, angles, strict=True))
        out.append(seen(label, grid(scale, angles)))
        progress(done / len(fixed))
    return out


def look_at_random(progress: Callable[[float], None], scale: Scale) -> list[Seen]:
    """Angles uniform on the circle, a stream a block."""
    out = []
    for done, m in enumerate(RANDOM, start=1):
        count = SETS[scale] // BLOCKS
        uniform = draws.uniforms(draws.keys(range(BLOCKS), f"angles of {m}"), count * m)
        out.append(seen(f"m = {m}", 2 * math.pi * uniform.view(-1, m).numpy()))
        progress(done / len(RANDOM))
    return out


@study(
    "determinants-m3",
    seed="002",
    figure="2",
    shows="z = min_i det M_i over theta_2 and theta_3 for m = 3 and theta_1 = 1, 2, 3: the surface is never above 0.",
)
def three(scale: Scale) -> Plan:
    """The least determinant of three students is not positive."""
    claims = [never_positive, definite]
    return Plan([], draw_grids, claims, table, lambda packs, tell: look_at_grids(THREE, tell, scale))


@study(
    "determinants-m4",
    seed="002",
    figure="3",
    shows="The same for m = 4 with (theta_1, theta_4) = (1, 4), (1, 6), (2, 4): the surface is never above 0.",
)
def four(scale: Scale) -> Plan:
    """The least determinant of four students is not positive."""
    claims = [never_positive, definite]
    return Plan([], draw_grids, claims, table, lambda packs, tell: look_at_grids(FOUR, tell, scale))


@study(
    "determinants-random",
    seed="002",
    figure="4",
    shows="z = min_i det M_i of 100,000 random angle sets each for m = 6 and m = 9, clipped: no point above 0.",
)
def random(scale: Scale) -> Plan:
    """The least determinant of random students is not positive."""
    claims = [never_positive, definite, a_potential]
    return Plan([], draw_random, claims, table, lambda packs, tell: look_at_random(tell, scale))


def table(found: list[Seen]) -> pa.Table:
    parts = []
    for s in found:
        columns = {f"theta_{k + 1}": s.angles[:, k] for k in range(s.angles.shape[1])}
        columns |= {"z": s.z, "separation": s.apart, "proved_negative": s.signs.nonpositive}
        columns |= {"proved_positive": s.signs.counterexample, "full_sign": s.signs.full}
        columns |= {"degenerate": s.signs.degenerate, "more_digits": s.signs.precise}
        parts.append(pa.table({"setting": [s.label] * len(s.z)} | columns))
    return pa.concat_tables(parts, promote_options="default")


# ----------------------------------------------------------------------------------------------------------------
# The figures


def draw_grids(found: list[Seen]) -> Figure:
    """-z as heat maps on a logarithmic scale; sets without a proved negative determinant are crosses."""
    figure = Figure(figsize=(3.0 * len(found) + 1.0, 3.7), layout="constrained")
    axes = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
    norm = mpl.colors.LogNorm(FLOOR, max(-s.z.min() for s in found))
    for panel, s in zip(axes, found, strict=True):
        side = math.isqrt(len(s.z))
        drop = np.clip(-s.z, FLOOR, None).reshape(side, side)
        image = panel.imshow(drop.T, origin="lower", extent=(0, 2 * math.pi) * 2, norm=norm, cmap="viridis")
        missing = ~s.signs.nonpositive & ~s.signs.degenerate
        panel.plot(s.angles[missing, 1], s.angles[missing, 2], "x", color="#D55E00", markersize=5)
        title = s.label.replace("theta_", r"\theta_").replace(", ", r",\ ")
        panel.set(title=f"${title}$", xlabel=r"$\theta_2$")
        panel.set_xticks([0, math.pi, 2 * math.pi], ["0", "$\\pi$", "$2\\pi$"])
        panel.set_yticks([0, math.pi, 2 * math.pi], ["0", "$\\pi$", "$2\\pi$"])
    axes[0].set_ylabel(r"$\theta_3$")
    figure.colorbar(image, ax=axes, shrink=0.85).set_label(r"$-\min_i \det M_i$")
    return figure


def draw_random(found: list[Seen]) -> Figure:
    """-z of every angle set over its least separation, both on logarithmic scales."""
    figure = Figure(figsize=(3.4 * len(found) + 0.6, 3.0), layout="constrained")
    axes = figure.subplots(1, len(found), squeeze=False, sharex=True)[0]
    for panel, s, colour in zip(axes, found, PALETTE, strict=False):
        kept = s.signs.nonpositive
        panel.plot(s.apart[kept], -s.z[kept], ".", color=colour, markersize=1.5, alpha=0.4, rasterized=True)
        panel.set(xscale="log", yscale="log", xlabel="least angle of two units", title=f"${s.label}$")
        text = f"{int(s.signs.counterexample.sum())} of {len(s.z):,} proved positive"
        panel.text(0.04, 0.95, text, transform=panel.transAxes, va="top")
    axes[0].set_ylabel(r"$-\min_i \det M_i$")
    return figure


# ----------------------------------------------------------------------------------------------------------------
# The claims

never_positive = Claim(
    "z is always non-positive (Conjecture 5.5)",
    statistic="share of the angle sets, coincident and antipodal ones left out, with some det M_i proved negative",
    expected="> 0.999999",
    refuted_by="an interval below 0.999999, or one set in which all are proved positive",
    values=lambda found: {s.label: s.signs.nonpositive[~s.signs.degenerate] for s in found},
)

definite = Claim(
    "and det M is positive (the other half of the determinant condition, Theorem 5.1)",
    statistic="share of the same sets with M proved positive definite",
    expected="> 0.999999",
    refuted_by="an interval below 0.999999",
    values=lambda found: {s.label: s.signs.full[~s.signs.degenerate] == 1 for s in found},
)

a_potential = Claim(
    "the further from being degenerate, the further z is from being non-negative",
    statistic="rank correlation of -z with the least angle between two units, over the sets of a block",
    expected="> 0.3",
    refuted_by="an interval over blocks below 0.3",
    values=lambda found: {
        s.label: np.array(
            [
                stats.spearmanr(apart, -z).statistic
                for apart, z in zip(np.split(s.apart, BLOCKS), np.split(s.z, BLOCKS), strict=True)
            ]
        )
        for s in found
    },
)
