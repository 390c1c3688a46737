"""Four-layer residual networks on orthogonally separable data (Phuong 2021, Fig. 3.2)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.margins.studies._practice import SeparableNetworks, SeparableTraining, trained_networks
from tutelage.margins.studies.orthogonal_two_layer import histograms
from tutelage.studies.claims import DIRECTION, MOST, SHARE, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 8, "paper": 32}
EPOCHS: dict[Scale, int] = {"smoke": 5, "quick": 500, "paper": 500}
LAYERS = 4


@study(
    "orthogonal-residual",
    paper="phuong2021",
    figure="3.2",
    shows="The hidden layers of four-layer residual networks have two non-zero singular values each, and first-layer "
    "units a high cosine with the closer max-margin vector.",
)
def orthogonal_residual(scale: Scale) -> Plan:
    """Four-layer residual networks on orthogonally separable data."""
    claims = [rank_two, high, beyond_the_sum]
    experiment = SeparableTraining(epochs=EPOCHS[scale], layers=LAYERS, seeds=fresh_seeds(scale, SEEDS[scale]))
    return Plan([experiment], draw, claims, view=lambda results: trained_networks(results)[0])


def draw(networks: SeparableNetworks) -> Figure:
    """Singular values of the hidden layers over all seeds, rows of one network's, and cosines of the first layer."""
    figure = Figure(figsize=(10.4, 4.8), layout="constrained")
    axes = figure.subplots(2, 4)
    numbers = np.arange(1, networks.singular.shape[2] + 1)
    for layer in range(networks.singular.shape[1]):
        panel = axes[0, layer]
        panel.plot(numbers, networks.singular[:, layer].T, color=PALETTE[0], linewidth=0.5, alpha=0.5)
        panel.plot(numbers, networks.singular[:, layer].mean(0), "o", color=PALETTE[6], markersize=3)
        panel.set(title=f"singular values of layer {layer + 1}", xlabel="number", xticks=numbers, ylim=(0, None))
        axes[1, layer].plot(*networks.rows[layer].T, "o", color=PALETTE[0], markersize=2)
        axes[1, layer].set(title=f"units of layer {layer + 1}", xlabel="1st singular direction", ylabel="2nd")
        axes[1, layer].set_aspect("equal", adjustable="datalim")  # stretched, opposite rays look perpendicular
    histograms(axes[0, 3], networks)
    for name, values, colour in (
        ("max margin", networks.max_margin, PALETTE[3]),
        ("class sum", networks.class_sum, PALETTE[2]),
    ):
        axes[1, 3].plot(networks.weight.ravel(), values.ravel(), ".", color=colour, markersize=1, alpha=0.4, label=name)
    axes[1, 3].set(title="small units lag behind", xlabel="$|w|^2$", xscale="log", ylabel="cosine")
    axes[1, 3].legend(fontsize=6, markerscale=6, loc="lower right")
    return figure


rank_two = Claim(
    "every hidden layer has two non-zero singular values",
    statistic="the layer's third singular value over its first, as the figure is drawn, after 500 epochs",
    expected="< 0.1",
    values=lambda networks: {f"layer {layer + 1}": networks.gap()[:, layer] for layer in range(LAYERS - 1)},
    reason="'non-zero' needs the others to be effectively zero, which is read as a tenth",
    possible=SHARE,
    place="Fig. 3.2",
)

high = Claim(
    "first-layer units have a high cosine with the closer of the max-margin vectors",
    statistic="share of the units, and of |W|^2, with a cosine above 0.9, after 500 epochs (the paper gives no "
    "number, so most is asked for as with two layers)",
    expected="> 0.5",
    values=lambda networks: {"units": networks.high(), "by norm": networks.high(True)},
    reason=MOST,
    possible=SHARE,
    kind="share",
    place="Fig. 3.2",
)

beyond_the_sum = Claim(
    "first-layer units point at the max-margin vectors rather than at the class sums",
    statistic="mean cosine with the closer max-margin vector less that with the closer class sum, after 500 epochs",
    expected="> 0",
    values=lambda networks: {"units": networks.nearer(), "by norm": networks.nearer(True)},
    reason=DIRECTION,
)
