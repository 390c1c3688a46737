"""Whether deep representations become orthogonally separable (seed 004, Figs. 3.3 and 3.4)."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from matplotlib.figure import Figure
from scipy import stats
from torch import Tensor

from tutelage import draws
from tutelage.data import Images, blobs, load_images
from tutelage.figures import PALETTE
from tutelage.networks.layered import Architecture, Conv, Dense, Layered
from tutelage.studies.claims import Claim
from tutelage.studies.margins.pairs import pair_histogram, pair_shares
from tutelage.studies.packs import Packs
from tutelage.studies.study import Plan, Scale, study
from tutelage.training.layered import Fit, accuracy, fit

SMALLER = 0.05
"""What the weights of the two dense layers are multiplied by before training (004, section 3.4.3)."""
FIELDS = ("cross_positive", "same_not", "ahead", "gap")
"""Of PairShares."""
LARGE = 0.1
"""A singular value above this share of the largest counts as clearly non-zero."""


@dataclass(frozen=True)
class Setting:
    """What the seed leaves open: the rate of Adam, pixels in [0, 1] or standardised, biases drawn or 0 at the start."""

    name: str
    rate: float = 1e-3
    standardised: bool = False
    zero_biases: bool = False


SETTINGS = (
    Setting("raw pixels, rate 0.001"),
    Setting("standardised pixels", standardised=True),
    Setting("rate 0.0001", rate=1e-4),
    Setting("biases from 0", zero_biases=True),
)
"""The first is taken for the seed's own, and trained longest; each of the others differs from it in one thing."""


@dataclass(frozen=True)
class Size:
    """What a scale means here. pairs: images of a class to pair up; epochs: of the first setting, of the others."""

    images: str
    train: int
    pairs: int
    channels: tuple[int, int]
    dense: int
    members: int
    epochs: tuple[int, int]
    recorded: tuple[int, ...]
    batch: int = 128


SIZES: dict[Scale, Size] = {
    "smoke": Size("blobs", 128, 20, (3, 4), 8, 2, (2, 1), (0, 1, 2), batch=32),
    "quick": Size("mnist", 2_048, 200, (8, 16), 32, 3, (12, 8), (0, 1, 2, 4, 8, 12)),
    "paper": Size("mnist", 12_665, 900, (32, 64), 128, 4, (50, 30), (0, 1, 2, 5, 10, 20, 30, 50)),
}


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


@dataclass(frozen=True)
class Course:
    """Networks of one setting over training, layer 0 the pixels themselves.

    shares: of training and of test pairs, for each field of PairShares [T, S, 8]; accuracy: on the test images [T, S];
    singular: of the weights of layer 7 at the end [S, 10]; rows: those of member 0 along its two largest singular
    directions [units, 2]; signs: of the fan-outs of member 0's units.
    """

    setting: Setting
    epochs: tuple[int, ...]
    shares: dict[str, dict[str, np.ndarray]]
    accuracy: np.ndarray
    loss: np.ndarray
    singular: np.ndarray
    rows: np.ndarray
    signs: np.ndarray


@dataclass(frozen=True)
class Evidence:
    """Courses of all settings, and the histogram of every layer of the first one's member 0 at the end."""

    images: str
    courses: list[Course]
    histograms: list[tuple[np.ndarray, np.ndarray]]


def look(packs: Packs, progress: Callable[[float], None], scale: Scale) -> Evidence:
    """Convolutional networks on two classes, by Adam and binary cross-entropy, at each of the settings."""
    size, device = SIZES[scale], "cuda" if torch.cuda.is_available() else "cpu"
    images = blobs(5 * size.train, 320, 12, 0.5) if size.images == "blobs" else load_images(size.images)
    images = images.of_classes(0, 1)
    courses: list[Course] = []
    histograms: list[tuple[np.ndarray, np.ndarray]] = []
    total, done = size.epochs[0] + size.epochs[1] * (len(SETTINGS) - 1), 0
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):  # signs of small products need all their bits
        for place, setting in enumerate(SETTINGS):
            epochs = size.epochs[min(place, 1)]
            before = done

            def tell(epoch: int, before: int = before) -> None:
                progress((before + epoch) / total)

            settings = {"setting": asdict(setting), "epochs": epochs, "size": asdict(size), "smaller": SMALLER}
            work = partial(_arrays, setting, epochs, size, images, device, tell)
            part = packs.kept.part({"what": "orthogonal-representations", **settings}, work)
            courses.append(_course(setting, epochs, size, part))
            if not place:
                histograms = list(zip(part["edges"], part["density"], strict=True))
            done += epochs
            progress(done / total)
    return Evidence(size.images, courses, histograms)


def _course(setting: Setting, epochs: int, size: Size, part: dict[str, np.ndarray]) -> Course:
    shares = {pairs: {field: part[f"{pairs} {field}"] for field in FIELDS} for pairs in ("train", "test")}
    others = {name: part[name] for name in ("accuracy", "loss", "singular", "rows", "signs")}
    return Course(setting, _recorded(size, epochs), shares, **others)


def _recorded(size: Size, epochs: int) -> tuple[int, ...]:
    return tuple(e for e in size.recorded if e <= epochs)


def _arrays(
    setting: Setting, epochs: int, size: Size, images: Images, device: str, tell: Callable[[int], None]
) -> dict[str, np.ndarray]:
    """What a :class:`Course` holds, and the histograms of member 0: edges [8, BINS + 1], density [8, 3, BINS]."""
    x, y, test, test_y = _pixels(images, setting.standardised, device)
    x, y = x[: size.train], y[: size.train]
    chosen = {"train": _some(x, y, size.pairs), "test": _some(test, test_y, size.pairs)}
    model = started(_plan(tuple(x.shape[1:]), size), range(size.members), setting.zero_biases).to(device)
    seen: dict[str, list[Any]] = {"train": [], "test": [], "accuracy": []}
    recorded = _recorded(size, epochs)

    def record(epoch: int, model: Layered) -> None:
        tell(epoch)
        if epoch in recorded:
            for part, (points, labels) in chosen.items():
                seen[part].append([pair_shares(h, labels) for h in _layers(model, points)])
            seen["accuracy"].append(accuracy(model, test, test_y))

    settings = Fit(epochs, size.batch, "binary", "adam", setting.rate, cosine=False)
    losses = fit(model, x, y, settings, on_epoch=record)
    found = {
        f"{part} {f}": np.array([[getattr(layer, f).numpy() for layer in row] for row in seen[part]]).swapaxes(1, 2)
        for part in chosen
        for f in FIELDS
    }
    w = model.weights[-2].detach().mT.double().cpu()  # layer 7: [S, units, inputs]
    left, values, _ = torch.linalg.svd(w, full_matrices=False)
    rows = (left[0, :, :2] * values[0, :2]).numpy()
    signs = model.weights[-1][0, :, 0].detach().sign().cpu().numpy()
    found |= {"singular": values[:, :10].numpy(), "rows": rows, "signs": signs, "loss": losses[-1].numpy()}
    found["accuracy"] = torch.stack(seen["accuracy"]).numpy()
    points, y = chosen["train"]
    edges, density = zip(*(pair_histogram(h[0], y) for h in _layers(model, points)), strict=True)
    return found | {"edges": np.stack(edges), "density": np.stack(density)}


def _plan(inputs: tuple[int, ...], size: Size) -> Architecture:
    """Table 3.1 of the seed, with the widths of a scale."""
    a, b = size.channels
    hidden = (Conv(a), Conv(a), Conv(a, 5, 2, 2), Conv(b), Conv(b), Conv(b, 5, 2, 2), Dense(size.dense))
    return Architecture(inputs, hidden, outputs=1, pool=False)


def started(plan: Architecture, seeds: range, zero_biases: bool) -> Layered:
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


def _pixels(images: Images, standardised: bool, device: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
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
