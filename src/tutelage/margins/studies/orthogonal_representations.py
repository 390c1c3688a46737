"""Whether deep representations become orthogonally separable (Phuong 2021, Figs. 3.3 and 3.4).

Convolutional networks on two classes of images, and the inner products of their layers over training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy import stats
from torch import Tensor

from tutelage import draws
from tutelage.data import Images, load_images
from tutelage.data.blobs import blobs
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.margins.studies._pairs import pair_histogram, pair_shares
from tutelage.networks.layered import Architecture, Conv, Dense, Layered
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, SIGNED, STRONG, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Adam, Training
from tutelage.training.layered import accuracy, fit

SMALLER = 0.05
"""What the weights of the two dense layers are multiplied by before training (Phuong 2021, section 3.4.3)."""
FIELDS = ("cross_positive", "same_not", "ahead", "gap")
"""Of PairShares."""
LARGE = 0.1
"""A singular value above this share of the largest counts as clearly non-zero."""
VARIANTS: dict[str, dict[str, Any]] = {
    "biases from 0": {"zero_biases": True},
    "biases drawn": {},
    "standardised pixels": {"zero_biases": True, "standardised": True},
    "rate 0.0001": {"zero_biases": True, "rate": 1e-4},
}
"""The first (raw pixels, rate 0.001) is taken for the paper's own, whose theory has no biases; each of the others
differs from it in one thing."""
SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": {"images": "blobs", "train": 128, "pairs": 20, "channels": (3, 4), "dense": 8, "batch": 32, "seeds": 2},
    "quick": {"images": "mnist", "train": 2_048, "pairs": 200, "channels": (8, 16), "dense": 32, "seeds": 3},
    "paper": {"images": "mnist", "train": 12_665, "pairs": 900, "channels": (32, 64), "dense": 128, "seeds": 8},
}
EPOCHS: dict[Scale, int] = {"smoke": 2, "quick": 12, "paper": 50}
RECORDED: dict[Scale, tuple[int, ...]] = {
    "smoke": (0, 1, 2),
    "quick": (0, 1, 2, 4, 8, 12),
    "paper": (0, 1, 2, 5, 10, 20, 30, 50),
}


@study(
    "orthogonal-representations",
    paper="phuong2021",
    figure="3.3, 3.4",
    shows="Inner products of the pre-activations of a convolutional network trained on MNIST 0 and 1: those of one "
    "class move to the right of those of two, more so with depth, and layer 7 is orthogonally separable; its weights "
    "have five or ten large singular values.",
)
def orthogonal_representations(scale: Scale) -> Plan:
    """Whether deep representations become orthogonally separable."""
    claims = [to_the_right, gap_grows, cross_class, same_class, more_than_two]
    course = {"epochs": EPOCHS[scale], "recorded": RECORDED[scale]}
    experiments = [RepresentationTraining(**course, **SIZES[scale], **variant) for variant in VARIANTS.values()]
    return Plan(experiments, draw, claims, view=representations)


class RepresentationTraining(Experiment, kind="representation-training", numerics=1):
    """Convolutional networks trained on two classes of images by Adam, and the inner products of their layers.

    images: "blobs" or the name of a data set, of which the first two classes are taken; train: number of training
    images; pairs: images per class to pair up; channels, dense: widths of the layers; recorded: epochs after which
    products are measured; standardised: pixels have mean 0 and deviation 1, instead of lying in [0, 1];
    zero_biases: biases start at 0, instead of being drawn.
    """

    images: str
    train: int
    pairs: int
    channels: tuple[int, int]
    dense: int
    epochs: int
    recorded: tuple[int, ...]
    batch: int = 128
    rate: float = 1e-3
    standardised: bool = False
    zero_biases: bool = False
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 1e-5 * self.members * self.epochs * self.train * self.channels[1]

    def run(self, context: Context) -> Arrays:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):  # signs of small products need all their bits
            return self._train(context)

    def _train(self, context: Context) -> Arrays:
        x, y, test, test_y = _pixels(_two_classes(self.images, self.train), self.standardised, context.device)
        x, y = x[: self.train], y[: self.train]
        chosen = {"train": _some(x, y, self.pairs), "test": _some(test, test_y, self.pairs)}
        plan = _plan(tuple(x.shape[1:]), self.channels, self.dense)
        model = started(plan, self.seeds, self.zero_biases).to(context.device)
        shares: dict[str, list[Any]] = {"train": [], "test": []}
        right: list[Tensor] = []

        def record(epoch: int, model: Layered) -> None:
            context.progress(epoch / self.epochs)
            if epoch in self.recorded:
                for part, (points, labels) in chosen.items():
                    shares[part].append([pair_shares(h, labels) for h in _layers(model, points)])
                right.append(accuracy(model, test, test_y))

        settings = Training(
            epochs=self.epochs,
            batch=self.batch,
            learning_rate=self.rate,
            loss="binary-cross-entropy",
            optimiser=Adam(),
        )
        losses = fit(model, x, y, settings, on_epoch=record)
        over_time = {
            f"{part}_{field}": np.array([[getattr(h, field).numpy() for h in layers] for layers in shares[part]])
            for part in chosen
            for field in FIELDS
        }  # [T, layers, S] each
        return {
            **{name: values.transpose(2, 0, 1) for name, values in over_time.items()},
            "accuracy": torch.stack(right, 1).numpy(),
            "loss": losses[-1].numpy(),
            **_last_layer(model),
            **_histograms(model, *chosen["train"]),
        }


@dataclass(frozen=True)
class RepresentationCourse:
    """Networks of one variant over training, layer 0 the pixels themselves.

    shares: of training and of test pairs, for each field of PairShares [T, S, 8]; accuracy: on the test images [T, S];
    loss: at the end [S]; singular: of the weights of layer 7 at the end [S, 10]; rows: those of member 0 along its two
    largest singular directions [units, 2]; signs: of the fan-outs of member 0's units.
    """

    name: str
    epochs: tuple[int, ...]
    shares: dict[str, dict[str, np.ndarray]]
    accuracy: np.ndarray
    loss: np.ndarray
    singular: np.ndarray
    rows: np.ndarray
    signs: np.ndarray


@dataclass(frozen=True)
class Representations:
    """Courses of all variants, the histogram of every layer of the first one's member 0 at the end, and how many images
    of either class are paired up."""

    images: str
    courses: list[RepresentationCourse]
    histograms: list[tuple[np.ndarray, np.ndarray]]
    pairs: int

    @property
    def step(self) -> float:
        """One pair of a class among all: the smallest difference between two shares."""
        return 1 / (self.pairs * (self.pairs - 1))


def representations(results: Results) -> Representations:
    """Courses of all variants, and the histograms of the first."""
    courses = []
    for name, r in zip(VARIANTS, results, strict=True):
        shares = {
            part: {field: np.ascontiguousarray(r[f"{part}_{field}"].swapaxes(0, 1)) for field in FIELDS}
            for part in ("train", "test")
        }
        ends = (r["loss"], r["singular"], r["first_rows"], r["first_signs"])
        right = np.ascontiguousarray(r["accuracy"].T)
        courses.append(RepresentationCourse(name, r.setting("recorded"), shares, right, *ends))
    first = next(iter(results))
    histograms = list(zip(first["edges"], first["density"], strict=True))
    return Representations(first.setting("images"), courses, histograms, first.setting("pairs"))


def _two_classes(name: str, train: int) -> Images:
    """The first two classes of a data set; of blobs, which are drawn, enough for so many training images."""
    images = blobs(5 * train, 320, 12, 0.5) if name == "blobs" else load_images(name)
    return images.of_classes(0, 1)


def _last_layer(model: Layered) -> dict[str, np.ndarray | Shared]:
    """Singular values of layer 7 [S, 10], and of member 0 the units along the two largest, and signs of fan-outs."""
    w = model.weights[-2].detach().mT.double().cpu()  # [S, units, inputs]
    left, values, _ = torch.linalg.svd(w, full_matrices=False)
    signs = model.weights[-1][0, :, 0].detach().sign().cpu()
    return {
        "singular": values[:, :10].numpy(),
        "first_rows": Shared((left[0, :, :2] * values[0, :2]).numpy()),
        "first_signs": Shared(signs.numpy()),
    }


def _histograms(model: Layered, points: Tensor, y: Tensor) -> dict[str, Shared]:
    """Products of every layer of member 0: edges [8, BINS + 1], density [8, 3, BINS]."""
    edges, density = zip(*(pair_histogram(h[0], y) for h in _layers(model, points)), strict=True)
    return {"edges": Shared(np.stack(edges)), "density": Shared(np.stack(density))}


def _plan(inputs: tuple[int, ...], channels: tuple[int, int], dense: int) -> Architecture:
    """Table 3.1 of the paper, with the given widths."""
    a, b = channels
    hidden = (Conv(a), Conv(a), Conv(a, 5, 2, 2), Conv(b), Conv(b), Conv(b, 5, 2, 2), Dense(dense))
    return Architecture(inputs, hidden, outputs=1, pool=False)


def started(plan: Architecture, seeds: Sequence[int], zero_biases: bool) -> Layered:
    """Weights and biases uniform in +-1/sqrt(fan in), as torch's own layers start; those of dense layers smaller."""
    model = Layered(plan, seeds, stream="representations")
    with torch.no_grad():
        for layer, fan in enumerate(plan.fan_ins()):
            dense = len(fan) == 1
            top = layer == len(plan.hidden)
            model.weights[layer].mul_((1 / 3 if top else 1 / 6) ** 0.5 * (SMALLER if dense else 1))
            if not zero_biases:
                key = draws.keys(seeds, f"representations-biases-{layer}")
                drawn = 2 * draws.uniforms(key, model.biases[layer].shape[1]) - 1
                model.biases[layer].copy_(drawn / float(np.prod(fan)) ** 0.5)
    return model


def _layers(model: Layered, points: Tensor) -> list[Tensor]:
    """The points themselves and the pre-activations of every hidden layer: [S, N, features] each."""
    with torch.no_grad():
        parts = [model.preactivations(x) for x in points.split(200)]
    hidden = [torch.cat([part[layer].flatten(2) for part in parts], 1) for layer in range(len(parts[0]))]
    return [points.flatten(1).expand(model.members, -1, -1), *hidden]


def _pixels(images: Images, standardised: bool, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x, y, test, test_y = images.tensors(device)
    if standardised:
        return x, y, test, test_y
    raw = [torch.from_numpy(part).to(device).float().div_(255).permute(0, 3, 1, 2).contiguous() for part in
           (images.train, images.test)]  # fmt: skip
    return raw[0], y, raw[1], test_y


def _some(x: Tensor, y: Tensor, each: int) -> tuple[Tensor, Tensor]:
    """The first so many points of either class."""
    rows = torch.cat([(y == c).nonzero()[:each, 0] for c in (0, 1)])
    return x[rows], y[rows]


def draw(result: Representations) -> Figure:
    """Products of every layer of one network; violations by layer and over epochs; the weights of layer 7."""
    figure = Figure(figsize=(9.6, 7.4), layout="constrained")
    axes = figure.subplots(3, 4)
    for layer, (panel, (edges, density)) in enumerate(zip(axes[:2].flat, result.histograms, strict=True)):
        for row, colour, name in zip(density, (PALETTE[0], PALETTE[1], PALETTE[2]), _KINDS, strict=True):
            panel.stairs(row, edges, fill=True, color=colour, alpha=0.5, label=name)
        panel.axvline(0, color="#444444", linewidth=0.8)
        panel.set_title(f"layer {layer}" if layer else "pixels")
        panel.set_yticks([])
    for panel in axes[1]:
        panel.set_xlabel(r"$h_i \cdot h_j$ / mean $|h|^2$")
    axes[0, 0].legend(fontsize=6, title=result.images, title_fontsize=6)
    _violations(axes[2, 0], axes[2, 1], result)
    for course, colour in zip(result.courses, _COLOURS, strict=False):
        top = course.singular / course.singular[:, :1]
        axes[2, 2].plot(np.arange(1, top.shape[1] + 1), top.T, "o-", color=colour, markersize=2, linewidth=0.8)
    axes[2, 2].set(title="singular values of layer 7", xlabel="number", ylabel="over the largest")
    axes[2, 2].set(ylim=(0, None), xticks=(1, 4, 7, 10))
    first = result.courses[0]
    for sign, colour in ((1, PALETTE[1]), (-1, PALETTE[0])):
        mine = first.rows[first.signs == sign]
        axes[2, 3].plot(*mine.T, "o", color=colour, markersize=2.5, label=f"fan-out {'>' if sign > 0 else '<'} 0")
    axes[2, 3].set(title="units of layer 7", xlabel="1st singular direction", ylabel="2nd")
    axes[2, 3].legend(fontsize=6)
    pairs = [*zip(VARIANTS, _COLOURS, strict=True), ("violating pairs of the same class", "#666666")]
    lines = [Line2D([], [], color=colour, label=name) for name, colour in pairs]
    lines[-1].set_linestyle("--")
    figure.legend(handles=lines, loc="outside lower center", ncols=5, fontsize=7)
    return figure


_KINDS = ("two classes", "both 0", "both 1")
_COLOURS = (PALETTE[6], PALETTE[1], PALETTE[0], PALETTE[3])


def _violations(by_layer: Any, by_epoch: Any, result: Representations) -> None:
    for course, colour in zip(result.courses, _COLOURS, strict=True):
        shares = course.shares["train"]
        layers = np.arange(shares["gap"].shape[2])
        by_layer.plot(layers, shares["cross_positive"][-1].mean(0), "o-", color=colour, markersize=2.5)
        by_layer.plot(layers, shares["same_not"][-1].mean(0), "--", color=colour, linewidth=0.9)
        by_epoch.plot(course.epochs, shares["cross_positive"][:, :, -1], color=colour, linewidth=1.0)
        by_epoch.plot(course.epochs, shares["same_not"][:, :, -1], "--", color=colour, linewidth=0.9)
    by_layer.set(title="violating pairs, at the end", xlabel="layer", ylabel="share", ylim=(-0.03, 1.03))
    by_epoch.set(title="violating pairs of layer 7", xlabel="epoch", ylim=(-0.03, 1.03))


def _last(result: Representations, field: str, part: str) -> dict[str, np.ndarray]:
    """A field at the end by setting: [S, 8] each."""
    suffix = "" if part == "train" else ", test pairs"
    return {c.name + suffix: c.shares[part][field][-1] for c in result.courses}


to_the_right = Claim(
    "inner products within a class lie to the right of those across classes",
    statistic="chance that a product of one class exceeds one of two classes, the least over layers 1 to 7, at the end",
    expected="> 0.9",
    values=lambda result: {name: v[:, 1:].min(1) for name, v in _last(result, "ahead", "train").items()},
    reason="nine of ten pairs",
    possible=SHARE,
    kind="share",
)

gap_grows = Claim(
    "the gap between them grows with depth",
    statistic="rank correlation of the layer (0 the pixels, to 7) with the gap: mean product within classes less that "
    "across, over the mean squared length; at the end",
    expected="> 0.5",
    values=lambda result: {
        name: np.array([stats.spearmanr(np.arange(v.shape[1]), row).statistic for row in v])
        for name, v in _last(result, "gap", "train").items()
    },
    reason=STRONG,
    possible=SIGNED,
    place="Fig. 3.3",
)

cross_class = Claim(
    "layer 7 is orthogonally separable: inner products across classes are not positive",
    statistic="share of the pairs of two classes with a positive product of pre-activations in layer 7, at the end",
    expected="< 0.01",
    values=lambda result: {
        k: Measured(v[:, -1], step=result.step)
        for part in ("train", "test")
        for k, v in _last(result, "cross_positive", part).items()
    },
    reason="one pair in a hundred",
    possible=SHARE,
    kind="share",
    place="Fig. 3.3",
)

same_class = Claim(
    "layer 7 is orthogonally separable: inner products within a class are positive",
    statistic="share of the pairs of one class whose product in layer 7 is not positive, at the end",
    expected="< 0.01",
    values=lambda result: {
        k: Measured(v[:, -1], step=result.step)
        for part in ("train", "test")
        for k, v in _last(result, "same_not", part).items()
    },
    reason="one pair in a hundred",
    possible=SHARE,
    kind="share",
    place="Fig. 3.3",
)

more_than_two = Claim(
    "about five or ten singular values of layer 7 are clearly non-zero, not two",
    statistic="how many of the ten largest are above a tenth of the largest, at the end",
    expected="> 3.5",
    values=lambda result: {c.name: (c.singular > LARGE * c.singular[:, :1]).sum(1) for c in result.courses},
    reason="half way between the two of orthogonally separable data and the five of the sentence",
    possible=(1.0, 10.0),
    published="about five or ten, read off Fig. 3.4a",
    place="Fig. 3.4",
)
