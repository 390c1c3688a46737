"""Convolutional networks on two classes of images, and the inner products of their layers over training."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.data import Images, blobs, load_images
from tutelage.networks.layered import Architecture, Conv, Dense, Layered
from tutelage.studies.margins.pairs import pair_histogram, pair_shares
from tutelage.studies.packs import Packs
from tutelage.studies.study import Scale
from tutelage.training.layered import Fit, accuracy, fit

SMALLER = 0.05
"""What the weights of the two dense layers are multiplied by before training (004, section 3.4.3)."""
FIELDS = ("cross_positive", "same_not", "ahead", "gap")
"""Of PairShares."""


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
