"""From a teacher, students and inputs to the task that engines train on."""

import logging
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import BlackBox, Network, from_module, outputs
from tutelage.networks.black_box import black_box
from tutelage.training.inputs import Inputs
from tutelage.training.losses import labels
from tutelage.training.settings import Training
from tutelage.training.task import Batches, Task

log = logging.getLogger(__name__)


def as_teacher(
    teacher: Network | BlackBox | nn.Module | Callable[[Tensor], Tensor] | None, students: Network, inputs: Inputs
) -> Network | BlackBox:
    """A teacher with as many members as there are students.

    A torch module that is a plain stack of layers becomes a network, whose units can be measured; any other module or
    function is evaluated as it is. None stands for the labels that the inputs bring along.
    """
    if teacher is None:
        if inputs.train_labels is None:
            raise TutelageError("teacher=None needs inputs with labels: use tutelage.inputs.from_tensors(x, y, seeds)")
        points = inputs.train
        return BlackBox(
            None, points.shape[2], inputs.train_labels.shape[2], students.members, points.dtype, points.device
        )
    if isinstance(teacher, nn.Sequential):
        try:
            teacher = from_module(teacher).to(inputs.train.device, inputs.train.dtype)
        except TutelageError as why:
            log.info("the teacher is used through its outputs alone: %s", why)
    if not isinstance(teacher, Network | BlackBox):
        if not callable(teacher):
            raise TutelageError(
                f"teacher must be a Network, a torch module, a function or None, got {type(teacher).__name__}"
            )
        teacher = black_box(teacher, inputs.train)
    return teacher.expand(students.members) if teacher.members == 1 else teacher


def make_task(
    students: Network,
    teacher: Network | BlackBox,
    inputs: Inputs,
    settings: Training,
    batches: Batches | None = None,
) -> Task:
    """The task of learning this teacher from these inputs; an error when the shapes do not fit."""
    _check(students, teacher, inputs)
    taught = inputs.train_labels if inputs.train_labels is not None else outputs(teacher, inputs.train)
    if taught.shape[-1] == 1 and settings.loss in ("cross-entropy", "soft-cross-entropy"):
        raise TutelageError(
            f"the loss '{settings.loss}' compares outputs, and there is one: use 'logistic' or 'binary-cross-entropy'"
        )
    settings.layer_factors(students.widths)  # raises an error where layers are named that are not there
    points, wanted, generated = inputs.train, taught, batches is not None or settings.generated
    noise, moved = settings.label_noise, settings.input_noise
    once = settings.sampling != "online" and batches is None
    key = draws.keys(inputs.seeds, "label noise", points.device)
    if once and noise is not None and not noise.fresh:
        wanted = noise.on_values(wanted, key)
    wanted = labels(settings.loss, wanted, settings.temperature)
    if once and noise is not None and not noise.fresh:
        wanted = noise.on_labels(wanted, key, settings.loss)
    if once and moved is not None and not moved.fresh:
        points = moved.on_values(points, draws.keys(inputs.seeds, "input noise", points.device))
    return Task(
        points,
        wanted,
        settings,
        inputs.seeds,
        teacher=teacher if generated else None,
        distribution=inputs.distribution if settings.sampling == "online" else None,
        batches=batches,
        point_seeds=_point_seeds(inputs) if settings.sampling == "online" else None,
        taught=_kept(taught, wanted, settings) if generated and once else None,
    )


def _kept(taught: Tensor, wanted: Tensor, settings: Training) -> Tensor:
    """What labels are made of at every step: outputs where their noise is fresh, and else the labels as they are."""
    if settings.label_noise is not None and settings.label_noise.fresh:
        return taught
    if settings.loss == "soft-cross-entropy":  # the softmax of log-probabilities over T is taken again at every step
        return wanted.clamp_min(torch.finfo(wanted.dtype).tiny).log() * settings.temperature
    return wanted if settings.loss != "binary-cross-entropy" else 2 * wanted - 1


def _point_seeds(inputs: Inputs) -> tuple[int, ...]:
    shared = inputs.distribution is not None and inputs.distribution.shared
    return (inputs.seeds[0],) * len(inputs.seeds) if shared else inputs.seeds


def _check(students: Network, teacher: Network | BlackBox, inputs: Inputs) -> None:
    if (students.inputs, students.outputs) != (teacher.inputs, teacher.outputs):
        raise TutelageError(
            f"the students have {students.inputs} inputs and {students.outputs} outputs, but the teacher has "
            f"{teacher.inputs} and {teacher.outputs}: build the students for this teacher"
        )
    if not len(inputs.seeds) == teacher.members == students.members:
        raise TutelageError(
            f"there are {students.members} students, {teacher.members} teachers and inputs for {len(inputs.seeds)} "
            "members: build all three with the same seeds"
        )
    if teacher.depth == students.depth > 1 and all(
        a > b for a, b in zip(teacher.widths[1:-1], students.widths[1:-1], strict=True)
    ):
        hidden = ", ".join(map(str, teacher.widths[1:-1])), ", ".join(map(str, students.widths[1:-1]))
        log.warning("the teacher (%s hidden units) is wider than its students (%s): the teacher comes first", *hidden)
