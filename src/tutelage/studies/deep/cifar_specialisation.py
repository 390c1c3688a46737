"""Convolutional students of a pruned teacher, on real images (seed 000, Fig. 10; seed 001, Fig. 13)."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import torch
from matplotlib.figure import Figure
from torch import Tensor

from tutelage.data import Images, blobs, load_images, shifted_and_flipped
from tutelage.figures import PALETTE, panel_grid
from tutelage.measures.streaming import StreamedCorrelation
from tutelage.networks.channel_pruning import pruned, strongest, unit_strengths
from tutelage.networks.layered import Architecture, Conv, Layered, Norm, folded
from tutelage.studies.claims import Claim
from tutelage.studies.packs import Packs
from tutelage.studies.study import Plan, Scale, study
from tutelage.training.layered import Fit, accuracy, fit

MULTIPLES = (1, 2, 4)


@dataclass(frozen=True)
class Size:
    """What a scale means here: which images, how many, how wide the teacher, how long the trainings."""

    images: str
    train: int
    test: int
    channels: int
    members: int
    teacher_epochs: int
    tuning_epochs: int
    epochs: int
    recorded: tuple[int, ...]
    batch: int


SIZES: dict[Scale, Size] = {
    "smoke": Size("blobs", 240, 60, 6, 2, 2, 1, 2, (0, 1, 2), batch=60),
    "quick": Size("fashion-mnist", 4_000, 300, 12, 3, 6, 3, 6, (0, 1, 2, 4, 6), batch=64),
    "paper": Size("cifar10", 50_000, 2_000, 64, 4, 20, 5, 20, (0, 1, 2, 5, 10, 15, 20), batch=256),
}


@study(
    "cifar-specialisation",
    seed="000",
    figure="10",
    shows="A 64-64-64-64 ConvNet is trained on CIFAR-10 and pruned to its strong channels; students are over-realised "
    "on what remains. Mean best correlation of every layer and accuracy over epochs: more over-realisation, better "
    "specialisation in all layers and better generalisation.",
)
def cifar_specialisation(scale: Scale) -> Plan:
    """Convolutional students of a pruned teacher, on real images."""
    claims = [wider_specialises, wider_generalises, every_layer, lowest_best]
    return Plan([], draw, claims, table, lambda packs, tell: look(packs, tell, scale))


@dataclass(frozen=True)
class Course:
    """Students of one width over training: rho [T, S, L] and accuracy [T, S] at the recorded epochs."""

    multiple: float
    epochs: tuple[int, ...]
    rho: np.ndarray
    accuracy: np.ndarray


@dataclass(frozen=True)
class Evidence:
    """Courses of all widths, and the accuracy of the teachers [S]: whole, pruned, and trained on after it."""

    images: str
    courses: list[Course]
    whole: np.ndarray
    cut: np.ndarray
    tuned: np.ndarray


def look(packs: Packs, progress: Callable[[float], None], scale: Scale) -> Evidence:
    """Teachers, one a member, pruned to half their channels; students learn their outputs on moved, flipped images."""
    size, device = SIZES[scale], "cuda" if torch.cuda.is_available() else "cpu"
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):  # ten bits are not enough for correlations near 1
        data = _images(size).tensors(device)
        x, y, test, test_labels = data[0][: size.train], data[1][: size.train], *data[2:]
        share, about = 0.15, {"what": "cifar-specialisation", **asdict(size)}
        taught = packs.kept.part(about | {"part": "teacher"}, partial(_teacher, size, x, y, test, test_labels))
        progress(share)
        plan = _plan(x, test_labels, size.channels // 2, norm="off")
        teacher = Layered(plan, range(size.members)).to(device).eval()
        teacher.load_state_dict({name: torch.from_numpy(taught[name]) for name in teacher.state_dict()})
        courses = []
        for place, multiple in enumerate(MULTIPLES):
            work = partial(_course, multiple, size, teacher, x, y, test, test_labels)
            courses.append(Course(multiple, size.recorded, **packs.kept.part(about | {"multiple": multiple}, work)))
            progress(share + (1 - share) * (place + 1) / len(MULTIPLES))
    return Evidence(size.images, courses, *(taught[name] for name in ("whole", "cut", "tuned")))


def _course(
    multiple: float, size: Size, teacher: Layered, x: Tensor, y: Tensor, test: Tensor, labels: Tensor
) -> dict[str, np.ndarray]:
    """rho and accuracy of a :class:`Course`."""
    seen: list[tuple[Tensor, Tensor]] = []

    def record(epoch: int, students: Layered) -> None:
        if epoch in size.recorded:
            seen.append((rho_means(teacher, students, test[: size.test]), accuracy(students, test, labels)))

    plan, (centre, spread) = teacher.architecture, _output_moments(teacher, x)
    widths = [max(1, round(multiple * w)) for w in plan.widths()]
    wider = Architecture(plan.inputs, plan.with_widths(widths).hidden, plan.outputs, norm="before")
    students = Layered(wider, teacher.seeds, stream=f"student-{multiple}").to(x.device)
    settings = Fit(size.epochs, size.batch, loss="mse", optimiser="adam", learning_rate=1e-3)
    fit(
        students, x, y, settings, augment=shifted_and_flipped, on_epoch=record,
        teach=lambda batch: (_outputs(teacher, batch) - centre) / spread,
    )  # fmt: skip
    rho, right = (torch.stack(part).numpy() for part in zip(*seen, strict=True))
    return {"rho": rho, "accuracy": right}


def _images(size: Size) -> Images:
    if size.images != "blobs":
        return load_images(size.images)
    return blobs(size.train, size.test, side=12, noise=0.5)


def _plan(x: Tensor, labels: Tensor, width: int, norm: Norm) -> Architecture:
    hidden = Conv(width), Conv(width, stride=2), Conv(width), Conv(width, stride=2)
    return Architecture(tuple(x.shape[1:]), hidden, int(labels.max()) + 1, norm=norm)


def _teacher(size: Size, x: Tensor, y: Tensor, test: Tensor, labels: Tensor) -> dict[str, np.ndarray]:
    """Trained with batch norm, pruned to half the channels, trained on for a while; then batch norm is folded in.

    Weights by name, and accuracies: whole, cut, tuned.
    """
    plan = _plan(x, labels, size.channels, norm="before")
    full = Layered(plan, range(size.members), stream="teacher").to(x.device)
    fit(full, x, y, Fit(size.teacher_epochs, size.batch, weight_decay=5e-4), augment=shifted_and_flipped)
    kept = strongest(unit_strengths(full.eval(), x[:2000].split(500)), [size.channels // 2] * len(plan.hidden))
    small = pruned(full, kept)
    found = {name: accuracy(model, test, labels) for name, model in (("whole", full), ("cut", small))}
    tuning = Fit(size.tuning_epochs, size.batch, learning_rate=0.02, weight_decay=5e-4)
    fit(small, x, y, tuning, augment=shifted_and_flipped)
    teacher = folded(small.eval())
    found |= teacher.state_dict() | {"tuned": accuracy(teacher, test, labels)}
    return {name: values.cpu().numpy() for name, values in found.items()}


def _outputs(teacher: Layered, x: Tensor) -> Tensor:
    with torch.no_grad():
        return teacher(x)


def _output_moments(teacher: Layered, x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation of every teacher's outputs over the training images: [S, 1, C] each."""
    y = torch.cat([_outputs(teacher, part) for part in x.split(1000)], dim=1)
    return y.mean(1, keepdim=True), y.std(1, keepdim=True)


def rho_means(teacher: Layered, students: Layered, points: Tensor, batch: int = 100) -> Tensor:
    """mean_j max_k rho_jk of every hidden layer over all pixels of the points (000, eq. 9): float64 [S, L]."""
    running = [StreamedCorrelation() for _ in teacher.architecture.hidden]
    with torch.no_grad():
        for x in points.split(batch):
            for sums, a, b in zip(running, teacher.features(x)[0], students.features(x)[0], strict=True):
                sums.add(_places(a), _places(b))
    return torch.stack([sums.correlations().amax(2).mean(1) for sums in running], dim=1).cpu()


def _places(f: Tensor) -> Tensor:
    """[S, B, C, H, W] -> [S, B H W, C]."""
    return f.flatten(3).transpose(2, 3).flatten(1, 2)


def table(evidence: Evidence) -> pa.Table:
    rows = [
        {
            "multiple": c.multiple,
            "epoch": epoch,
            "member": s,
            "accuracy": c.accuracy[t, s],
            "teacher_accuracy": evidence.tuned[s],
        }
        | {f"rho_mean_{layer + 1}": c.rho[t, s, layer] for layer in range(c.rho.shape[2])}
        for c in evidence.courses
        for t, epoch in enumerate(c.epochs)
        for s in range(c.rho.shape[1])
    ]
    return pa.Table.from_pylist(rows)


def draw(evidence: Evidence) -> Figure:
    """rho_mean of every layer and accuracy over epochs, mean and deviation over members."""
    layers = evidence.courses[0].rho.shape[2]
    titles = [*(f"layer {layer + 1}" for layer in range(layers)), "accuracy"]
    figure, axes = panel_grid([""], titles, "epoch", r"$\rho_{mean}$", size=(1.8, 2.3), sharey=False)
    for colour, course in zip(PALETTE, evidence.courses, strict=False):
        for panel, values in zip(axes[0], [*np.moveaxis(course.rho, 2, 0), course.accuracy], strict=True):
            mean, spread = values.mean(1), values.std(1)
            panel.plot(course.epochs, mean, color=colour, label=f"{course.multiple:g}x")
            panel.fill_between(course.epochs, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    for panel in axes[0, :-1]:
        panel.set_ylim(0, 1.02)
    for panel in axes[0, 1:-1]:
        panel.tick_params(labelleft=False)
    axes[0, -1].axhline(evidence.tuned.mean(), color="#666666", linewidth=0.8, linestyle="--", label="teacher")
    axes[0, -1].legend(loc="lower right", fontsize=6)
    figure.suptitle(evidence.images, fontsize=9)
    return figure


def _gain(evidence: Evidence, layer: int | None) -> np.ndarray:
    """How much more rho_mean of a layer, or accuracy, the widest students have at the end than the narrowest: [S]."""
    narrow, wide = ((c.accuracy[-1] if layer is None else c.rho[-1, :, layer]) for c in _ends(evidence))
    return wide - narrow


def _ends(evidence: Evidence) -> tuple[Course, Course]:
    return evidence.courses[0], evidence.courses[-1]


def _layers(evidence: Evidence) -> range:
    return range(evidence.courses[0].rho.shape[2])


wider_specialises = Claim(
    "more over-realisation gives better specialisation across all layers",
    statistic="rho_mean of the layer at 4x minus that at 1x at the end, member by member",
    expected="> 0",
    refuted_by="an interval over members at or below 0 for that layer",
    values=lambda e: {f"layer {layer + 1}": _gain(e, layer) for layer in _layers(e)},
)

wider_generalises = Claim(
    "and better generalisation",
    statistic="accuracy on the test images at 4x minus that at 1x at the end, member by member",
    expected="> 0",
    refuted_by="an interval over members at or below 0",
    values=lambda e: {"accuracy": _gain(e, None)},
)

every_layer = Claim(
    "over-realised students specialise in every layer",
    statistic="rho_mean of the layer at 4x, at the end minus before training, member by member",
    expected="> 0.1",
    refuted_by="an interval over members below 0.1 for that layer",
    values=lambda e: {
        f"layer {layer + 1}": e.courses[-1].rho[-1, :, layer] - e.courses[-1].rho[0, :, layer] for layer in _layers(e)
    },
)

lowest_best = Claim(
    "the lowest layer specialises better than the highest",
    statistic="rho_mean of the lowest hidden layer minus that of the highest at the end, member by member",
    expected="> 0",
    refuted_by="an interval over members at or below 0 for that width",
    values=lambda e: {f"{c.multiple:g}x": c.rho[-1, :, 0] - c.rho[-1, :, -1] for c in e.courses},
)
