"""Two-layer networks on orthogonally separable data, trained by SGD (Phuong 2021, Fig. 3.1)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.margins.studies._practice import HIGH, SeparableNetworks, SeparableTraining, trained_networks
from tutelage.studies.claims import DIRECTION, MOST, SHARE, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.figures.panels import band
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 16, "paper": 64}
EPOCHS: dict[Scale, tuple[int, ...]] = {
    "smoke": (2, 5, 10),
    "quick": (20, 100, 500, 2_000),
    "paper": (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000),
}
THEIRS = 500
"""Epochs of the paper; the longest below that where a scale has none as long."""


@study(
    "orthogonal-two-layer",
    paper="phuong2021",
    figure="3.1",
    shows="500 points in 20 dimensions, 100 units: W has two non-zero singular values, its rows lie on two rays, and "
    "the cosine of units with the max-margin vector of their sign is above 0.9 for most.",
)
def orthogonal_two_layer(scale: Scale) -> Plan:
    """Two-layer networks on orthogonally separable data."""
    claims = [rank_two, most_are_high, beyond_the_sum, still_turning]
    experiments = [SeparableTraining(epochs=number, seeds=fresh_seeds(scale, SEEDS[scale])) for number in EPOCHS[scale]]
    return Plan(experiments, draw, claims, view=trained_networks)


def as_in_the_paper(runs: list[SeparableNetworks]) -> SeparableNetworks:
    """Networks trained as long as the paper's."""
    return [run for run in runs if run.epochs <= THEIRS][-1]


def draw(runs: list[SeparableNetworks]) -> Figure:
    """Fig. 3.1 a to c over all seeds, with both directions; and both cosines against the length of training."""
    figure = Figure(figsize=(10.4, 2.7), layout="constrained")
    axes, networks = figure.subplots(1, 4), as_in_the_paper(runs)
    numbers = np.arange(1, networks.singular.shape[2] + 1)
    axes[0].plot(numbers, networks.singular[:, 0].T, color=PALETTE[0], linewidth=0.5, alpha=0.5)
    axes[0].plot(numbers, networks.singular[:, 0].mean(0), "o", color=PALETTE[6], markersize=3)
    axes[0].set(
        title=f"singular values of W, {networks.epochs} epochs", xlabel="number", xticks=numbers, ylim=(0, None)
    )
    for sign, colour in ((1, PALETTE[1]), (-1, PALETTE[0])):
        rows = networks.rows[0][networks.signs == sign]
        axes[1].plot(*rows.T, "o", color=colour, markersize=2.5, label=f"fan-out {'>' if sign > 0 else '<'} 0")
    axes[1].set(title="units of one network", xlabel="1st singular direction", ylabel="2nd")
    axes[1].set_aspect("equal", adjustable="datalim")  # stretched, opposite rays look perpendicular
    axes[1].legend(fontsize=6)
    histograms(axes[2], networks)
    for column, (name, colour) in enumerate(_NAMES):
        values = np.stack([np.median((a.max_margin, a.class_sum)[column], axis=1) for a in runs])
        band(axes[3], np.array([a.epochs for a in runs]), values, colour, f"{name}, median unit")
        weighed = np.stack([a.means()[column] for a in runs])
        band(axes[3], np.array([a.epochs for a in runs]), weighed, colour, f"{name}, by $|w|^2$", "--", False)
    axes[3].set(title="over training", xlabel="epochs", xscale="log", ylabel="cosine")
    axes[3].legend(fontsize=6, loc="lower right")
    return figure


LOW = 0.7
_NAMES = (("max margin", PALETTE[3]), ("class sum", PALETTE[2]))


def histograms(panel, networks: SeparableNetworks) -> None:
    """Cosines of all units with both directions, lower ones in the first bin: filled, all alike; outlined, by |w|^2."""
    edges = np.linspace(LOW, 1, 46)
    for (name, colour), values in zip(_NAMES, (networks.max_margin, networks.class_sum), strict=True):
        kept, weight = values.ravel().clip(LOW), networks.weight.ravel()
        panel.hist(kept, edges, density=True, color=colour, alpha=0.4, label=name)
        panel.hist(kept, edges, density=True, weights=weight, histtype="step", color=colour)
    panel.axvline(HIGH, color="#666666", linewidth=0.8, linestyle=":")
    panel.set(title=f"units after {networks.epochs} epochs", xlabel="cosine (outlined: by $|w|^2$)", yticks=[])
    panel.set_xticks([LOW, 0.8, 0.9, 1.0], [rf"$\leq${LOW:g}", "0.8", "0.9", "1"])
    panel.legend(fontsize=6, loc="upper left")


rank_two = Claim(
    "W has two non-zero singular values",
    statistic="its third singular value over its first, as the figure is drawn, after the paper's 500 epochs",
    expected="< 0.1",
    values=lambda runs: {"first layer": as_in_the_paper(runs).gap()[:, 0]},
    reason="'non-zero' needs the others to be effectively zero, which is read as a tenth",
    possible=SHARE,
    place="Fig. 3.1",
)

most_are_high = Claim(
    "the cosine with the max-margin vector is above 0.9 for most units",
    statistic="share of the units, and of |W|^2, with a cosine above 0.9 to w_+ or w_-, by the sign of the "
    "fan-out, after the paper's 500 epochs",
    expected="> 0.5",
    values=lambda runs: {
        "units": as_in_the_paper(runs).high(),
        "by norm": as_in_the_paper(runs).high(True),
    },
    reason=MOST,
    possible=SHARE,
    kind="share",
    place="Fig. 3.1",
)

beyond_the_sum = Claim(
    "units point at the max-margin vector rather than at the class sum, where the first phase leads",
    statistic="mean cosine with the max-margin vector less that with the class sum, after the paper's 500 epochs",
    expected="> 0",
    values=lambda runs: {
        "units": as_in_the_paper(runs).nearer(),
        "by norm": as_in_the_paper(runs).nearer(True),
    },
    reason=DIRECTION,
)

still_turning = Claim(
    "with longer training units go on turning from the class sum to the max-margin vector",
    statistic="mean cosine with the max-margin vector less that with the class sum, at the longest training minus "
    "after the paper's 500 epochs, seed by seed",
    expected="> 0",
    values=lambda runs: {
        "units": runs[-1].nearer() - as_in_the_paper(runs).nearer(),
        "by norm": runs[-1].nearer(True) - as_in_the_paper(runs).nearer(True),
    },
    reason=DIRECTION,
)
