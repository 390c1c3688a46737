"""Convolutional students of a pruned teacher, on real images (Tian 2020, Fig. 10; Tian 2019, Fig. 13)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from tutelage.data import load_images
from tutelage.data.augmentation import shifted_and_flipped
from tutelage.data.blobs import blobs
from tutelage.lab import Context, Experiment, Result, Results
from tutelage.lab.experiment import Arrays
from tutelage.measures.streaming import StreamedCorrelation
from tutelage.networks.channel_pruning import pruned, strongest, unit_strengths
from tutelage.networks.layered import Architecture, Conv, Layered, Norm, folded
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, SIGNED, Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import above_chance
from tutelage.studies.study import Plan, Scale, study
from tutelage.training import Adam, Cosine, Sgd, Training
from tutelage.training.layered import accuracy, fit

WIDTH_FACTORS = (1, 2, 4)


BLOB_TESTS = 60
"""Test images where images are drawn blobs."""
TEACHERS: dict[Scale, dict[str, Any]] = {
    "smoke": {"images": "blobs", "train": 240, "channels": 6, "seeds": 2, "epochs": 2, "tuning_epochs": 1, "batch": 60},
    "quick": {
        "images": "fashion-mnist", "train": 4_000, "channels": 12, "seeds": 3, "epochs": 6, "tuning_epochs": 3,
        "batch": 64,
    },
    "paper": {
        "images": "cifar10", "train": 50_000, "channels": 64, "seeds": 4, "epochs": 20, "tuning_epochs": 5,
        "batch": 256,
    },
}  # fmt: skip
STUDENTS: dict[Scale, dict[str, Any]] = {
    "smoke": {"points": 60, "epochs": 2, "recorded": (0, 1, 2), "batch": 60},
    "quick": {"points": 300, "epochs": 6, "recorded": (0, 1, 2, 4, 6), "batch": 64},
    "paper": {"points": 2_000, "epochs": 20, "recorded": (0, 1, 2, 5, 10, 15, 20), "batch": 256},
}


@study(
    "cifar-specialisation",
    paper="tian2020",
    figure="10",
    shows="A 64-64-64-64 ConvNet is trained on CIFAR-10 and pruned to its strong channels; students are over-realised "
    "on what remains. Mean best correlation of every layer and accuracy over epochs: more over-realisation, better "
    "specialisation in all layers and better generalisation.",
)
def cifar_specialisation(scale: Scale) -> Plan:
    """Convolutional students of a pruned teacher, on real images."""
    claims = [wider_specialises, wider_generalises, every_layer, lowest_best]
    teacher = PrunedConvTeacher(**TEACHERS[scale])
    students = [
        ConvStudents(teacher=teacher, width_factor=width_factor, **STUDENTS[scale]) for width_factor in WIDTH_FACTORS
    ]
    return Plan([teacher, *students], draw, claims, view=conv_courses)


class PrunedConvTeacher(Experiment, kind="pruned-conv-teacher", numerics=1):
    """Convolutional networks trained on images with batch norm, pruned to half their channels and trained on.

    Their weights after batch norm is folded in, and their accuracies whole, after pruning and after tuning.
    """

    images: str
    train: int
    channels: int
    seeds: Seeds
    epochs: int
    tuning_epochs: int
    batch: int

    @property
    def cost(self) -> float:
        return _seconds(self, self.epochs + self.tuning_epochs, self.channels)

    def run(self, context: Context) -> Arrays:
        with _full_precision():
            x, y, test, labels = self.tensors(context.device)
            plan = _plan(x, labels, self.channels, norm="before")
            full = Layered(plan, self.seeds, stream="teacher").to(x.device)
            fit(full, x, y, self.training(self.epochs, 0.1), augment=shifted_and_flipped)
            context.progress(0.7)
            kept = strongest(unit_strengths(full.eval(), x[:2000].split(500)), [self.channels // 2] * len(plan.hidden))
            small = pruned(full, kept)
            arrays = {"accuracy_whole": accuracy(full, test, labels), "accuracy_pruned": accuracy(small, test, labels)}
            fit(small, x, y, self.training(self.tuning_epochs, 0.02), augment=shifted_and_flipped)
            teacher = folded(small.eval())
            arrays |= {"accuracy_tuned": accuracy(teacher, test, labels)}
            arrays |= {_column(name): values for name, values in teacher.state_dict().items()}
        return {name: values.cpu().numpy() for name, values in arrays.items()}

    def training(self, epochs: int, rate: float) -> Training:
        """How classes are learnt."""
        sgd = Sgd(momentum=0.9, weight_decay=5e-4)
        return Training(
            epochs=epochs, batch=self.batch, learning_rate=rate, schedule=Cosine(), loss="cross-entropy", optimiser=sgd
        )

    def tensors(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Images and labels to train on, and those to test on."""
        some = blobs(self.train, BLOB_TESTS, side=12, noise=0.5) if self.images == "blobs" else load_images(self.images)
        x, y, test, labels = some.tensors(device)
        return x[: self.train], y[: self.train], test, labels

    def network(self, result: Result["PrunedConvTeacher"], x: Tensor, labels: Tensor) -> Layered:
        """The stored teachers, on the device of the images."""
        teacher = Layered(_plan(x, labels, self.channels // 2, norm="off"), self.seeds).to(x.device).eval()
        teacher.load_state_dict({name: torch.from_numpy(result[_column(name)]) for name in teacher.state_dict()})
        return teacher


class ConvStudents(Experiment, kind="conv-students", numerics=1):
    """Wider students that learn the outputs of pruned teachers on shifted and flipped images, over training."""

    teacher: PrunedConvTeacher
    width_factor: float
    """Width of every hidden layer of the student over that of the teacher."""
    points: int
    """Test images on which correlations are measured."""
    epochs: int
    recorded: tuple[int, ...]
    batch: int

    @property
    def members(self) -> int:
        return self.teacher.members

    @property
    def cost(self) -> float:
        return _seconds(self.teacher, self.epochs, self.teacher.channels * (1 + self.width_factor) / 2)

    def run(self, context: Context) -> Arrays:
        with _full_precision():
            x, y, test, labels = self.teacher.tensors(context.device)
            teacher = self.teacher.network(context.result(self.teacher), x, labels)
            rho, right = zip(*self._course(teacher, x, y, test, labels, context), strict=True)
        return {"rho": torch.stack(rho, dim=1).numpy(), "accuracy": torch.stack(right, dim=1).numpy()}

    def _course(
        self, teacher: Layered, x: Tensor, y: Tensor, test: Tensor, labels: Tensor, context: Context
    ) -> list[tuple[Tensor, Tensor]]:
        """rho [S, L] and accuracy [S] at the recorded epochs."""
        course: list[tuple[Tensor, Tensor]] = []

        def record(epoch: int, students: Layered) -> None:
            if epoch in self.recorded:
                course.append((rho_means(teacher, students, test[: self.points]), accuracy(students, test, labels)))
            context.progress(epoch / self.epochs)

        plan, (centre, spread) = teacher.architecture, _output_moments(teacher, x)
        widths = [max(1, round(self.width_factor * w)) for w in plan.widths()]
        wider = Architecture(plan.inputs, plan.with_widths(widths).hidden, plan.outputs, norm="before")
        students = Layered(wider, teacher.seeds, stream=f"student-{self.width_factor:g}").to(x.device)
        settings = Training(
            epochs=self.epochs, batch=self.batch, learning_rate=1e-3, schedule=Cosine(), loss="mse", optimiser=Adam()
        )
        fit(
            students, x, y, settings, augment=shifted_and_flipped, on_epoch=record,
            teach=lambda batch: (_outputs(teacher, batch) - centre) / spread,
        )  # fmt: skip
        return course


def _full_precision() -> Any:
    """Convolutions on a GPU without TF32: its ten bits are not enough for correlations near 1."""
    return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)


def _column(name: str) -> str:
    """The array that holds a parameter: weights.0 -> weights_0."""
    return name.replace(".", "_")


def _seconds(teacher: PrunedConvTeacher, epochs: int, channels: float) -> float:
    return 1e-6 * teacher.members * teacher.train * epochs * channels**2


@dataclass(frozen=True)
class ConvCourse:
    """Students of one width over training: rho [T, S, L] and accuracy [T, S] at the recorded epochs."""

    width_factor: float
    epochs: tuple[int, ...]
    rho: np.ndarray
    accuracy: np.ndarray

    @property
    def beyond_chance(self) -> np.ndarray:
        """rho at the end, counted from that of the untrained students to 1: [S, L]."""
        return above_chance(self.rho[-1], self.rho[0])


@dataclass(frozen=True)
class ConvCourses:
    """Courses of all widths, and the accuracy of the teachers [S] after pruning and tuning."""

    images: str
    courses: list[ConvCourse]
    tuned: np.ndarray


def conv_courses(results: Results) -> ConvCourses:
    """What figure, claims and table read."""
    (teacher,) = results.of(PrunedConvTeacher)
    courses = []
    for r in results.of(ConvStudents):
        rho, right = (np.ascontiguousarray(r[name].swapaxes(0, 1)) for name in ("rho", "accuracy"))
        courses.append(ConvCourse(r.setting("width_factor"), r.setting("recorded"), rho, right))
    return ConvCourses(teacher.setting("images"), courses, teacher["accuracy_tuned"])


def _plan(x: Tensor, labels: Tensor, width: int, norm: Norm) -> Architecture:
    hidden = Conv(width), Conv(width, stride=2), Conv(width), Conv(width, stride=2)
    return Architecture(tuple(x.shape[1:]), hidden, int(labels.max()) + 1, norm=norm)


def _outputs(teacher: Layered, x: Tensor) -> Tensor:
    with torch.no_grad():
        return teacher(x)


def _output_moments(teacher: Layered, x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation of every teacher's outputs over the training images: [S, 1, C] each."""
    y = torch.cat([_outputs(teacher, part) for part in x.split(1000)], dim=1)
    return y.mean(1, keepdim=True), y.std(1, keepdim=True)


def rho_means(teacher: Layered, students: Layered, points: Tensor, batch: int = 100) -> Tensor:
    """mean_j max_k rho_jk of every hidden layer over all pixels of the points (Tian 2020, eq. 9): float64 [S, L]."""
    running = [StreamedCorrelation() for _ in teacher.architecture.hidden]
    with torch.no_grad():
        for x in points.split(batch):
            for sums, a, b in zip(running, teacher.features(x)[0], students.features(x)[0], strict=True):
                sums.add(_places(a), _places(b))
    return torch.stack([sums.correlations().amax(2).mean(1) for sums in running], dim=1).cpu()


def _places(f: Tensor) -> Tensor:
    """[S, B, C, H, W] -> [S, B H W, C]."""
    return f.flatten(3).transpose(2, 3).flatten(1, 2)


def draw(result: ConvCourses) -> Figure:
    """rho_mean of every layer and accuracy over epochs, mean and deviation over members; dotted: untrained students."""
    layers = result.courses[0].rho.shape[2]
    titles = [*(f"layer {layer + 1}" for layer in range(layers)), "accuracy"]
    figure, axes = panel_grid([""], titles, "epoch", r"$\rho_{mean}$", size=(1.8, 2.3), sharey=False)
    for colour, course in zip(PALETTE, result.courses, strict=False):
        for panel, values in zip(axes[0], [*np.moveaxis(course.rho, 2, 0), course.accuracy], strict=True):
            mean, spread = values.mean(1), values.std(1)
            panel.plot(course.epochs, mean, color=colour, label=f"{course.width_factor:g}x")
            panel.fill_between(course.epochs, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
            panel.axhline(mean[0], color=colour, linewidth=0.7, linestyle=":")  # chance: untrained students
    for panel in axes[0, :-1]:
        panel.set_ylim(0, 1.02)
    for panel in axes[0, 1:-1]:
        panel.tick_params(labelleft=False)
    axes[0, -1].axhline(result.tuned.mean(), color="#666666", linewidth=0.8, linestyle="--", label="teacher")
    lines, _ = axes[0, -1].get_legend_handles_labels()
    chance = Line2D([], [], color="#666666", linewidth=0.7, linestyle=":", label="untrained students")
    figure.legend(handles=[*lines, chance], loc="outside lower center", ncols=5, fontsize=7)
    figure.suptitle(result.images, fontsize=9)
    return figure


def _gain(result: ConvCourses, layer: int | None) -> np.ndarray:
    """How much accuracy, or rho_mean of a layer beyond chance, the widest students have over the narrowest: [S]."""
    ends = result.courses[0], result.courses[-1]
    narrow, wide = (c.accuracy[-1] if layer is None else c.beyond_chance[:, layer] for c in ends)
    return wide - narrow


def _layers(result: ConvCourses) -> range:
    return range(result.courses[0].rho.shape[2])


wider_specialises = Claim(
    "more over-realisation gives better specialisation across all layers",
    statistic="rho_mean of the layer at the end, counted from that before training (the best of four times as many "
    "random filters is better by chance) to 1: at 4x minus that at 1x, member by member",
    expected="> 0",
    values=lambda e: {f"layer {layer + 1}": _gain(e, layer) for layer in _layers(e)},
    reason=DIRECTION,
    place="Fig. 10",
)

wider_generalises = Claim(
    "and better generalisation",
    statistic="accuracy on the test images at 4x minus that at 1x at the end, member by member",
    expected="> 0",
    values=lambda e: {"accuracy": _gain(e, None)},
    reason=DIRECTION,
    possible=SIGNED,
    place="Fig. 10",
)

every_layer = Claim(
    "over-realised students specialise in every layer",
    statistic="rho_mean of the layer at 4x, at the end minus before training, member by member",
    expected="> 0.1",
    values=lambda e: {
        f"layer {layer + 1}": e.courses[-1].rho[-1, :, layer] - e.courses[-1].rho[0, :, layer] for layer in _layers(e)
    },
    reason="a tenth of the range of a correlation",
    place="Fig. 10",
)

lowest_best = Claim(
    "the lowest layer specialises better than the highest",
    statistic="rho_mean at the end, counted from that before training to 1: of the lowest hidden layer minus that of "
    "the highest, member by member",
    expected="> 0",
    values=lambda e: {f"{c.width_factor:g}x": c.beyond_chance[:, 0] - c.beyond_chance[:, -1] for c in e.courses},
    reason=DIRECTION,
    standing="own",
)
