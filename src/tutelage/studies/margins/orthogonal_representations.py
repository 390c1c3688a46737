"""Whether deep representations become orthogonally separable (seed 004, Figs. 3.3 and 3.4)."""

from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from scipy import stats

from tutelage.figures import PALETTE
from tutelage.studies.claims import Claim
from tutelage.studies.margins._representations import Evidence, look
from tutelage.studies.study import Plan, Scale, study

LARGE = 0.1
"""A singular value above this share of the largest counts as clearly non-zero."""


@study(
    "orthogonal-representations",
    seed="004",
    figure="3.3, 3.4",
    shows="Inner products of the pre-activations of a convolutional network trained on MNIST 0 and 1: those of one "
    "class move to the right of those of two, more so with depth, and layer 7 is orthogonally separable; its weights "
    "have five or ten large singular values.",
)
def orthogonal_representations(scale: Scale) -> Plan:
    """Whether deep representations become orthogonally separable."""
    claims = [to_the_right, gap_grows, cross_class, same_class, more_than_two]
    return Plan([], draw, claims, table, lambda packs, tell: look(packs, tell, scale))


def table(evidence: Evidence) -> pa.Table:
    rows = [
        {
            "setting": c.setting.name,
            "epoch": epoch,
            "member": s,
            "layer": layer,
            "pairs": part,
            **{name: values[t, s, layer] for name, values in c.shares[part].items()},
            "accuracy": c.accuracy[t, s],
        }
        for c in evidence.courses
        for part in c.shares
        for t, epoch in enumerate(c.epochs)
        for s in range(c.accuracy.shape[1])
        for layer in range(c.shares[part]["gap"].shape[2])
    ]
    return pa.Table.from_pylist(rows)


def draw(evidence: Evidence) -> Figure:
    """Products of every layer of one network; violations by layer and over epochs; the weights of layer 7."""
    figure = Figure(figsize=(9.6, 7.0), layout="constrained")
    axes = figure.subplots(3, 4)
    for layer, (panel, (edges, density)) in enumerate(zip(axes[:2].flat, evidence.histograms, strict=True)):
        for row, colour, name in zip(density, (PALETTE[0], PALETTE[1], PALETTE[2]), _KINDS, strict=True):
            panel.stairs(row, edges, fill=True, color=colour, alpha=0.5, label=name)
        panel.axvline(0, color="#444444", linewidth=0.8)
        panel.set_title(f"layer {layer}" if layer else "pixels")
        panel.set_yticks([])
    for panel in axes[1]:
        panel.set_xlabel(r"$h_i \cdot h_j$ / mean $|h|^2$")
    axes[0, 0].legend(fontsize=6, title=evidence.images, title_fontsize=6)
    _violations(axes[2, 0], axes[2, 1], evidence)
    for course, colour in zip(evidence.courses, _COLOURS, strict=False):
        top = course.singular / course.singular[:, :1]
        axes[2, 2].plot(np.arange(1, top.shape[1] + 1), top.T, "o-", color=colour, markersize=2, linewidth=0.8)
    axes[2, 2].set(title="singular values of layer 7", xlabel="number", ylabel="over the largest")
    axes[2, 2].set(ylim=(0, None), xticks=(1, 4, 7, 10))
    first = evidence.courses[0]
    for sign, colour in ((1, PALETTE[1]), (-1, PALETTE[0])):
        mine = first.rows[first.signs == sign]
        axes[2, 3].plot(*mine.T, "o", color=colour, markersize=2.5, label=f"fan-out {'>' if sign > 0 else '<'} 0")
    axes[2, 3].set(title="units of layer 7", xlabel="1st singular direction", ylabel="2nd")
    axes[2, 3].legend(fontsize=6)
    return figure


_KINDS = ("two classes", "both 0", "both 1")
_COLOURS = (PALETTE[6], PALETTE[1], PALETTE[0], PALETTE[3])


def _violations(by_layer: Any, by_epoch: Any, evidence: Evidence) -> None:
    for course, colour in zip(evidence.courses, _COLOURS, strict=True):
        shares = course.shares["train"]
        layers = np.arange(shares["gap"].shape[2])
        label = f"{course.setting.name} ({course.epochs[-1]})"
        by_layer.plot(layers, shares["cross_positive"][-1].mean(0), "o-", color=colour, markersize=2.5)
        by_layer.plot(layers, shares["same_not"][-1].mean(0), "--", color=colour, linewidth=0.9)
        by_epoch.plot(course.epochs, shares["cross_positive"][:, :, -1], color=colour, linewidth=1.0)
        by_epoch.plot(course.epochs, shares["same_not"][:, :, -1], "--", color=colour, linewidth=0.9)
        by_epoch.plot([], [], color=colour, label=label)
    by_layer.set(title="violating pairs, at the end", xlabel="layer", ylabel="share", ylim=(-0.03, 1.03))
    by_epoch.set(title="violating pairs of layer 7", xlabel="epoch", ylim=(-0.03, 1.03))
    by_epoch.legend(fontsize=5, title="setting (epochs); dashes: same class", title_fontsize=5, loc="upper right")


def _last(evidence: Evidence, field: str, part: str) -> dict[str, np.ndarray]:
    """A field at the end by setting: [S, 8] each."""
    suffix = "" if part == "train" else ", test pairs"
    return {c.setting.name + suffix: c.shares[part][field][-1] for c in evidence.courses}


to_the_right = Claim(
    "inner products within a class lie to the right of those across classes",
    statistic="chance that a product of one class exceeds one of two classes, the least over layers 1 to 7, at the end",
    expected="> 0.9",
    refuted_by="an interval over members below 0.9 for that setting",
    values=lambda e: {name: v[:, 1:].min(1) for name, v in _last(e, "ahead", "train").items()},
)

gap_grows = Claim(
    "the gap between them grows with depth",
    statistic="rank correlation of the layer (0 the pixels, to 7) with the gap: mean product within classes less that "
    "across, over the mean squared length; at the end",
    expected="> 0.5",
    refuted_by="an interval over members below 0.5 for that setting",
    values=lambda e: {
        name: np.array([stats.spearmanr(np.arange(v.shape[1]), row).statistic for row in v])
        for name, v in _last(e, "gap", "train").items()
    },
)

cross_class = Claim(
    "layer 7 is orthogonally separable: inner products across classes are not positive",
    statistic="share of the pairs of two classes with a positive product of pre-activations in layer 7, at the end",
    expected="< 0.01",
    refuted_by="an interval over members above 0.01 for that setting",
    values=lambda e: {k: v[:, -1] for part in ("train", "test") for k, v in _last(e, "cross_positive", part).items()},
)

same_class = Claim(
    "layer 7 is orthogonally separable: inner products within a class are positive",
    statistic="share of the pairs of one class whose product in layer 7 is not positive, at the end",
    expected="< 0.01",
    refuted_by="an interval over members above 0.01 for that setting",
    values=lambda e: {k: v[:, -1] for part in ("train", "test") for k, v in _last(e, "same_not", part).items()},
)

more_than_two = Claim(
    "about five or ten singular values of layer 7 are clearly non-zero, not two",
    statistic="how many of the ten largest are above a tenth of the largest, at the end",
    expected="> 2.5",
    refuted_by="an interval over members below 2.5 for that setting",
    values=lambda e: {c.setting.name: (c.singular > LARGE * c.singular[:, :1]).sum(1) for c in e.courses},
)
