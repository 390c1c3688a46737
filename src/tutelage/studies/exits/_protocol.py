"""What the studies of exits share: images, the three ways of training, repeats with new subsets and new starts."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from time import perf_counter

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from tutelage.data import blobs, load_images, shifted_and_flipped
from tutelage.data.cache import at_hand, cache_folder
from tutelage.data.folders import image_folder
from tutelage.data.photographs import Photographs
from tutelage.data.pixels import Pixels, pixels
from tutelage.data.subsets import class_subset
from tutelage.distillation.exit_inference import best_exits, exit_accuracy
from tutelage.distillation.exit_training import (
    Augment,
    ExitTask,
    ExitTraining,
    Samples,
    TrainedExits,
    train_side_by_side,
)
from tutelage.distillation.exits import UNLABELLED, Teachers, constant
from tutelage.networks.msdnet import CIFAR, IMAGENET
from tutelage.networks.multi_exit import MultiExit, multi_exit_conv
from tutelage.studies.kept import Kept
from tutelage.studies.study import Scale


@dataclass(frozen=True)
class Method:
    """A way of training. temperature: one that stays, or None for annealing."""

    name: str
    teachers: Teachers = "last"
    temperature: float | None = None
    unlabelled: bool = False


EXIT_WISE = Method("exit-wise", teachers="none")
DISTILLED = Method("distilled")
WITH_UNLABELLED = Method("distilled, with unlabelled", unlabelled=True)
THREE = (EXIT_WISE, DISTILLED, WITH_UNLABELLED)
COLOURS = {EXIT_WISE.name: "#0072B2", DISTILLED.name: "#009E73", WITH_UNLABELLED.name: "#D55E00"}


_AT_ONCE = 10  # networks trained side by side on a GPU


@dataclass(frozen=True)
class Size:
    """What a scale means here. labelled: images a class, with those held for selection; total: with the unlabelled.

    held: images a class, None for a tenth of the labelled ones.
    network: "conv" is the small one of four blocks, ``width`` channels each, of which ``halve`` halve the image;
    "msdnet" and "msdnet, large" those of the seed's CIFAR and ImageNet experiments. top: a class counts as found among
    so many likeliest.
    """

    images: str
    labelled: tuple[int, ...]
    held: int | None
    total: int
    network: str
    members: int
    training: ExitTraining
    few: int
    width: int = 16
    halve: tuple[int, ...] = ()
    top: int = 1

    def held_of(self, labelled: int) -> int:
        """Images a class that are held of so many."""
        return labelled // 10 if self.held is None else self.held


SIZES: dict[Scale, Size] = {
    "smoke": Size("blobs", (10, 14), 4, 20, "conv", 2, ExitTraining(2, batch=20, drops=(1,)), 8, width=4),
    "quick": Size("digits", (55, 70), 50, 130, "conv", 8, ExitTraining(180, batch=32, drops=(90, 135)), 54),
    "paper": Size(
        "cifar10", (150, 250, 350, 500), 50, 500, "msdnet", 5,
        ExitTraining(300, batch=64, learning_rate=0.5, drops=(150, 225), mixed=True), 80,
    ),
}  # fmt: skip
"""Quick: 5 and 20 digits a class to learn from. Paper: the seed's CIFAR protocol, on the ten classes at hand."""


def sized(scale: Scale) -> Size:
    """What a scale means here; where the files of CIFAR-100 are at hand, the seed's own images and its own measure."""
    size = SIZES[scale]
    if size.images == "cifar10" and at_hand("cifar100"):
        return replace(size, images="cifar100", top=5)
    return size


@dataclass(frozen=True, eq=False)
class Trained:
    """One trained network: accuracy of exits, of ensembles, on test and on held images [M]; trace by epoch [3, E]."""

    single: np.ndarray
    ensemble: np.ndarray
    held: np.ndarray
    trace: np.ndarray | None

    def arrays(self) -> dict[str, np.ndarray]:
        """As it is kept."""
        named = {"single": self.single, "ensemble": self.ensemble, "held": self.held, "trace": self.trace}
        return {name: array for name, array in named.items() if array is not None}

    @property
    def budget(self) -> np.ndarray:
        """Test accuracy with 1, 2, ... exits available, the exit chosen on the held images: [M]."""
        return self.single[np.array(best_exits(self.held.tolist()), dtype=int) - 1]


@dataclass(frozen=True, eq=False)
class Evidence:
    """All repeats of every method at every number of labelled images a class: runs[labelled, method] one a member."""

    images: str
    size: Size
    runs: dict[tuple[int, str], list[Trained]]

    def values(self, labelled: int, method: Method, kind: str) -> np.ndarray:
        """Accuracies in percent: "single", "ensemble" or "budget": [S, M]."""
        return 100 * np.stack([getattr(run, kind) for run in self.runs[labelled, method.name]])

    def gain(self, labelled: int, better: Method, worse: Method, kind: str) -> np.ndarray:
        """Differences of two methods on the same repeats, in points: [S, M]."""
        return self.values(labelled, better, kind) - self.values(labelled, worse, kind)


def look(
    size: Size,
    labelled: Sequence[int],
    methods: Sequence[Method],
    kept: Kept,
    progress: Callable[[float], None],
    members: int | None = None,
) -> Evidence:
    """Train every method on every subset, a new subset and a new start a member; what is kept is not trained again.

    Unlabelled images are of no use where there are none: that method is left out there.
    """
    repeats = range(members or size.members)
    jobs = [
        Job(count, method, member)
        for count in labelled
        for method in methods
        if count < size.total or not method.unlabelled
        for member in repeats
    ]
    missing = [job for job in jobs if kept.recall(job.about(size)) is None]
    at_once = _AT_ONCE if torch.cuda.is_available() else 1
    for first in range(0, len(missing), at_once):
        together, began = missing[first : first + at_once], perf_counter()
        before = len(jobs) - len(missing) + first
        done = _trained(size, together, lambda share: progress((before + share * len(together)) / len(jobs)))  # noqa: B023
        for job, run in zip(together, done, strict=True):
            kept.keep(job.about(size), run.arrays(), (perf_counter() - began) / len(together))
    runs: dict[tuple[int, str], list[Trained]] = {}
    for job in jobs:
        arrays = kept.recall(job.about(size))
        assert arrays is not None
        found = Trained(arrays["single"], arrays["ensemble"], arrays["held"], arrays.get("trace"))
        runs.setdefault((job.labelled, job.method.name), []).append(found)
    return Evidence(size.images, size, runs)


@dataclass(frozen=True)
class Job:
    """One training: how many labelled images a class, which way, which repeat."""

    labelled: int
    method: Method
    member: int

    def about(self, size: Size) -> dict:
        """All that its outcome depends on, as plain data."""
        whose = ("images", "held", "total", "network", "width", "halve", "top")
        return {
            "what": "exits",
            "labelled": self.labelled,
            "member": self.member,
            "settings": asdict(self.settings(size)),
            "unlabelled": self.method.unlabelled,
            **{name: getattr(size, name) for name in whose},
        }

    def settings(self, size: Size) -> ExitTraining:
        """How this network is trained."""
        temperature = self.method.temperature
        annealing = size.training.annealing if temperature is None else constant(temperature)
        return replace(size.training, teachers=self.method.teachers, annealing=annealing)


def _trained(size: Size, jobs: Sequence[Job], progress: Callable[[float], None]) -> list[Trained]:
    """Networks trained at the same time where there is a GPU, and judged."""
    x, y, test, test_y = _images(size)
    classes = int(test_y.max()) + 1
    tasks, held = [], []
    for job in jobs:
        rows = class_subset(
            y, job.labelled, held=size.held_of(job.labelled), unlabelled=size.total - job.labelled, classes=classes,
            seed=job.member,
        )  # fmt: skip
        chosen = torch.cat([rows.train, rows.unlabelled]) if job.method.unlabelled else rows.train
        labels = y[chosen].clone()
        labels[len(rows.train) :] = UNLABELLED
        model = _network(size, x.shape[1], classes, job.member).to(x.device)
        own = x.of(chosen) if isinstance(x, Pixels) else x[chosen]
        tasks.append(ExitTask(model, own, labels, job.settings(size), job.member))
        apart = x.of(rows.held, test.shape[2]) if isinstance(x, Pixels) else x[rows.held]
        held.append((apart, y[rows.held]))
    done = train_side_by_side(tasks, augment=_augmentation(size, x, test), progress=progress)
    return [_judged(run, (test, test_y), own, size) for run, own in zip(done, held, strict=True)]


def _judged(run: TrainedExits, test: tuple[Samples, Tensor], held: tuple[Samples, Tensor], size: Size) -> Trained:
    found, chosen_on = (exit_accuracy(run.model, *pair, size.top) for pair in (test, held))
    trace = None
    if run.trace:
        by_epoch = run.trace.by_epoch(size.training.epochs)
        trace = torch.stack([by_epoch.temperature, by_epoch.adjusted, by_epoch.raw]).numpy()
    return Trained(found.single.numpy(), found.ensemble.numpy(), chosen_on.single.numpy(), trace)


def _network(size: Size, channels: int, classes: int, seed: int) -> MultiExit:
    if size.network == "conv":
        return multi_exit_conv(channels, classes, width=size.width, halve=size.halve, seed=seed)
    return {"msdnet": CIFAR, "msdnet, large": IMAGENET}[size.network].build(classes, channels, seed)


def _augmentation(size: Size, x: Samples, test: Samples) -> Augment | None:
    if isinstance(x, Pixels):
        return Photographs(test.shape[2], x.mean, x.deviation)
    return shifted_and_flipped if size.network == "msdnet" else None


@lru_cache(maxsize=2)
def _images(size: Size) -> tuple[Samples, Tensor, Samples, Tensor]:
    """Training images and labels, test images and labels."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if size.images == "imagenet":
        images = image_folder(cache_folder() / "imagenet", size=256, scaled=256, per_class=size.total)
        train, test = pixels(images, device, middle=224)
        labels = (torch.as_tensor(y, device=device) for y in (images.train_labels, images.test_labels))
        return train, next(labels), test, next(labels)
    images = blobs(300, 100) if size.images == "blobs" else load_images(size.images)
    return images.tensors(device)


def table(evidence: Evidence) -> pa.Table:
    """One row an exit, member, method and number of labelled images; accuracies in percent."""
    return pa.Table.from_pylist(
        [
            {
                "images": evidence.images,
                "top": evidence.size.top,
                "labelled": labelled,
                "method": method,
                "member": member,
                "exit": m + 1,
                "single": 100 * run.single[m],
                "budget": 100 * run.budget[m],
                "ensemble": 100 * run.ensemble[m],
                "held": 100 * run.held[m],
            }
            for (labelled, method), runs in evidence.runs.items()
            for member, run in enumerate(runs)
            for m in range(len(run.single))
        ]
    )
