"""The experiment behind the studies of exits: one network with exits, trained on images of which few have a label."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt
from torch import Tensor

from tutelage.data import load_images
from tutelage.data.augmentation import shifted_and_flipped
from tutelage.data.blobs import blobs
from tutelage.data.cache import cache_folder
from tutelage.data.folders import image_folder
from tutelage.data.photographs import Photographs
from tutelage.data.pixels import Pixels, pixels
from tutelage.data.subsets import class_subset
from tutelage.exits.inference import exit_accuracy
from tutelage.exits.msdnet import CIFAR, IMAGENET
from tutelage.exits.multi_exit import MultiExit, multi_exit_conv
from tutelage.exits.objective import UNLABELLED, Annealing, constant
from tutelage.exits.training import (
    PAPER_SGD,
    Augment,
    ExitObjective,
    ExitTask,
    Samples,
    State,
    TrainedExits,
    train_side_by_side,
)
from tutelage.lab import Context, Experiment
from tutelage.lab.experiment import Arrays
from tutelage.training import Drops, Training

Teaching = Literal["none", "last", "later"]
TRACE = "temperatures", "adjusted_confidence", "raw_confidence"
"""Results by epoch [1, E], where an exit teaches: the temperature, the teachers' confidence with it and without."""
_AT_ONCE = 25  # networks trained side by side on a GPU


class ExitNetwork(Experiment, kind="exit-network", numerics=1):
    """Accuracy of every exit of one network, trained on a subset of a data set with few labels."""

    images: str
    """A data set by name, "blobs" for images made on the spot, or "imagenet" for a folder of pictures."""
    folder: Path | None = None
    """Where the folders train/CLASS and val/CLASS of "imagenet" are; None for imagenet in the folder of data sets."""
    labelled: PositiveInt
    """Labelled images per class, with those held."""
    held: NonNegativeInt
    """Labelled images per class that are not learnt from; they choose the exit."""
    total: PositiveInt
    """Images per class, labelled or not."""
    unlabelled: bool = False
    """Whether the images without a label are learnt from too."""
    teachers: Teaching = "last"
    """Exits that teach the others."""
    temperature: PositiveFloat | None = None
    """Constant temperature of distillation; None for one that is raised while the teachers are surer than ``limit``."""
    limit: PositiveFloat = 0.5
    network: Literal["conv", "msdnet", "msdnet, large"] = "conv"
    """A small one of four blocks with ``width`` channels, or the MSDNet of the paper for CIFAR or for ImageNet."""
    width: PositiveInt = 16
    halve: tuple[int, ...] = ()
    """Blocks of the small network that halve the image."""
    epochs: PositiveInt
    batch: PositiveInt = 32
    learning_rate: PositiveFloat = 0.1
    drops: tuple[int, ...] = ()
    """Epochs after which the learning rate is divided by 10."""
    mixed: bool = False
    """Whether products are computed in bfloat16."""
    top: PositiveInt = 1
    """A class counts as found among so many likeliest."""
    seed: int = 0
    """Of the subset, the initial weights and the batches."""

    @property
    def cost(self) -> float:
        per_image = {"conv": 3e-4 * (self.width / 16) ** 2, "msdnet": 3e-2, "msdnet, large": 1.0}[self.network]
        learnt = max(1, self.labelled - self.held) * (2 if self.unlabelled else 1)  # per class, of some ten classes
        return 10 * per_image * self.epochs * learnt

    @property
    def training(self) -> Training:
        """How the network is trained."""
        return Training(
            epochs=self.epochs,
            batch=self.batch,
            learning_rate=self.learning_rate,
            schedule=Drops(at=self.drops, unit="epochs"),
            optimiser=PAPER_SGD,
            mixed_precision=self.mixed,
        )

    @property
    def objective(self) -> ExitObjective:
        """What its exits learn from besides labels."""
        fixed = self.temperature
        annealing = Annealing(limit=self.limit) if fixed is None else constant(fixed)
        return ExitObjective(self.teachers, annealing, power=2)  # the paper's

    def description(self) -> dict[str, Any]:
        """With the names and sizes of the pictures of a folder: their contents are too many bytes to be read here."""
        out = super().description()
        if self.images == "imagenet" and (folder := _pictures(self.folder)).is_dir():
            out["pictures"] = _listing(folder)
        return out

    def run(self, context: Context) -> Arrays:
        return train_networks([self], context.device, context.progress, [context])[0]

    @classmethod
    def run_all(cls, experiments: Sequence[Experiment], context: Context) -> Iterator[tuple[Experiment, Arrays]]:
        """On a GPU some networks are trained side by side, else one after the other."""
        if context.device.type != "cuda":
            yield from super().run_all(experiments, context)
            return
        for together in side_by_side(cast(Sequence[ExitNetwork], experiments)):
            with ExitStack() as stack:
                contexts = [stack.enter_context(context.of(experiment)) for experiment in together]
                began = time.perf_counter()
                arrays = train_networks(together, context.device, partial(_tell_all, context, together), contexts)
            rate = (time.perf_counter() - began) / sum(e.cost for e in together)
            yield from ((e, _Shared(result, rate * e.cost)) for e, result in zip(together, arrays, strict=True))


class _Shared(dict[str, np.ndarray]):
    """Results of a network that was trained beside others; its share of their time goes into the log."""

    def __init__(self, arrays: dict[str, np.ndarray], seconds: float) -> None:
        super().__init__(arrays)
        self.seconds = seconds

    def about(self, experiment: Experiment) -> dict[str, Any]:
        return {"seconds": round(self.seconds, 3)}


def _tell_all(context: Context, together: Sequence[ExitNetwork], share: float) -> None:
    for experiment in together:
        context.on_done(experiment, share)


def side_by_side(experiments: Sequence[ExitNetwork], most: int = _AT_ONCE) -> list[list[ExitNetwork]]:
    """Experiments in groups that can be trained together: the same images, network and number of epochs."""
    alike: dict[tuple, list[ExitNetwork]] = {}
    for e in experiments:
        alike.setdefault((e.images, e.folder, e.total, e.network, e.epochs), []).append(e)
    return [group[start : start + most] for group in alike.values() for start in range(0, len(group), most)]


def train_networks(
    experiments: Sequence[ExitNetwork],
    device: torch.device,
    progress: Callable[[float], None],
    contexts: Sequence[Context],
) -> list[dict[str, np.ndarray]]:
    """Results of networks with the same images, architecture and epochs, at the same time where there is a GPU.

    The state of a network is kept after every tenth of its training, in its own context.
    """

    def keep(number: int, part: int, work: Callable[[], State]) -> State:
        return contexts[number].part(f"training, part {part + 1}", work)

    first = experiments[0]
    x, y, test, test_y = _images(first.images, first.folder, first.total, str(device))
    classes = int(test_y.max()) + 1
    tasks, held = [], []
    for e in experiments:
        rows = class_subset(
            y, e.labelled, held=e.held, unlabelled=e.total - e.labelled, classes=classes, seed=e.seed,
        )  # fmt: skip
        chosen = torch.cat([rows.train, rows.unlabelled]) if e.unlabelled else rows.train
        labels = y[chosen].clone()
        labels[len(rows.train) :] = UNLABELLED
        model = _network(e, x.shape[1], classes).to(x.device)
        samples = x.of(chosen) if isinstance(x, Pixels) else x[chosen]
        tasks.append(ExitTask(model, samples, labels, e.training, e.objective, e.seed))
        apart = x.of(rows.held, test.shape[2]) if isinstance(x, Pixels) else x[rows.held]
        held.append((apart, y[rows.held]))
    done = train_side_by_side(tasks, augment=_augmentation(first, x, test), progress=progress, keep=keep)
    return [_judged(e, run, (test, test_y), pair) for e, run, pair in zip(experiments, done, held, strict=True)]


def _judged(
    e: ExitNetwork, run: TrainedExits, test: tuple[Samples, Tensor], held: tuple[Samples, Tensor]
) -> dict[str, np.ndarray]:
    """Accuracies [1, M], and by epoch [1, E] where an exit teaches: temperature, confidence with it and without."""
    tested, chosen_on = (exit_accuracy(run.model, *pair, e.top) for pair in (test, held))
    arrays = {"single": tested.single, "ensemble": tested.ensemble, "held_out": chosen_on.single}
    if run.trace:
        mean = run.trace.by_epoch(e.epochs)
        arrays |= dict(zip(TRACE, (mean.temperature, mean.adjusted, mean.raw), strict=True))
    return {name: array.numpy()[None] for name, array in arrays.items()}


def _network(e: ExitNetwork, channels: int, classes: int) -> MultiExit:
    if e.network == "conv":
        return multi_exit_conv(channels, classes, width=e.width, halve=e.halve, seed=e.seed)
    return {"msdnet": CIFAR, "msdnet, large": IMAGENET}[e.network].build(classes, channels, e.seed)


def _augmentation(e: ExitNetwork, x: Samples, test: Samples) -> Augment | None:
    if isinstance(x, Pixels):
        return Photographs(test.shape[2], x.mean, x.deviation)
    return shifted_and_flipped if e.network == "msdnet" else None


@lru_cache(maxsize=2)
def _images(name: str, folder: Path | None, total: int, device: str) -> tuple[Samples, Tensor, Samples, Tensor]:
    """Training images and labels, test images and labels."""
    if name == "imagenet":
        images = image_folder(_pictures(folder), size=256, scaled=256, per_class=total)
        train, test = pixels(images, device, middle=224)
        labels = (torch.as_tensor(y, device=device) for y in (images.train_labels, images.test_labels))
        return train, next(labels), test, next(labels)
    images = blobs(300, 100) if name == "blobs" else load_images(name)
    return images.tensors(device)


def _pictures(folder: Path | None) -> Path:
    return cache_folder() / "imagenet" if folder is None else folder


@lru_cache(maxsize=2)
def _listing(folder: Path) -> str:
    """SHA-256 of the names and sizes of all files of a folder."""
    total = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        total.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
    return total.hexdigest()
