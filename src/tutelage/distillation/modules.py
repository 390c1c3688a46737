"""Distilling any torch module into any other: teachers are asked once, the student learns from what they said."""

import copy
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tutelage import draws
from tutelage.distillation.targets import Softening, distillation_loss, log_probabilities, soft_targets
from tutelage.errors import TutelageError
from tutelage.printing import printed
from tutelage.training.optimisers import Adam
from tutelage.training.settings import Supported, Training, given, set_rate

_SUPPORTED = Supported("distil", "epochs", "epochs", whole_batch=True)
_BATCH = 512  # samples a teacher is asked about at once


@printed
@dataclass(frozen=True, eq=False)
class Distilled:
    """A distilled student.

    Attributes
    ----------
    student
        The trained copy.
    losses
        Mean loss of every epoch.
    agreement
        Share of held-out samples on which the student's class is the teachers'.
    accuracy, teacher_accuracy
        Shares on which the student's and the teachers' class is the label; None without labels.
    """

    student: nn.Module
    losses: tuple[float, ...]
    agreement: float
    accuracy: float | None
    teacher_accuracy: float | None

    def __str__(self) -> str:
        right = "" if self.accuracy is None else f", accuracy {self.accuracy:.1%} (teacher {self.teacher_accuracy:.1%})"
        last = f"loss {self.losses[-1]:.4g} after {len(self.losses)} epochs, " if self.losses else ""
        return f"{last}agreement with the teacher {self.agreement:.1%}{right}"


def distil(
    teacher: nn.Module | Sequence[nn.Module],
    student: nn.Module,
    data: Tensor | tuple[Tensor, Tensor] | Iterable,
    settings: Training | None = None,
    *,
    held_out: Tensor | tuple[Tensor, Tensor] | None = None,
    softening: Softening | None = None,
    seed: int = 0,
    on_epoch: Callable[[int, float], None] | None = None,
    seconds: float | None = None,
    **training: Any,
) -> Distilled:
    """Train a copy of the student on the outputs of one or several teachers.

    Parameters
    ----------
    teacher
        One module or several; they run once, in evaluation mode, and their outputs [N, C] are kept.
    student
        A module with the same outputs; it is left as it is.
    data
        Inputs [N, ...], or (inputs, labels), or a loader of batches of either, which is read once and kept.
    settings
        Length, batch, learning rate and optimiser. Alternatively pass fields by name; those left out are 10 epochs of
        Adam with batches of 128 and learning rate 1e-3. The last batch of an epoch may be smaller.
    held_out
        Inputs (and labels) on which agreement and accuracy are measured; default: the data itself.
    softening
        Temperature and share of hard labels.
    seed
        Of the batches.
    on_epoch
        Called with the epoch and its mean loss.
    seconds
        Time limit; training then ends after the current step.
    **training
        Fields of :class:`~tutelage.training.Training`, if ``settings`` is not given.

    Returns
    -------
    Distilled
        The trained copy and how the training went.

    Notes
    -----
    Soft labels help where the teacher knows more than the labels do: from other data, or as an ensemble. One that was
    fitted to the same labels gives these back. ``Softening(hard_share=1)`` learns from labels alone, to compare with.

    Examples
    --------
    >>> teacher = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
    >>> x = torch.randn(200, 2)
    >>> done = distil(teacher, nn.Linear(2, 3), x, epochs=5)
    >>> bool(done.losses[-1] < done.losses[0]), done.student
    (True, Linear(in_features=2, out_features=3, bias=True))
    """
    how = softening or Softening()
    settings = given(settings, training, epochs=10, batch=128, learning_rate=1e-3, optimiser=Adam())
    epochs = _checked_epochs(settings, seconds)
    x, y = _inputs_and_labels(data)
    teachers = [teacher] if isinstance(teacher, nn.Module) else list(teacher)
    logits = [_asked(each, x, f"teacher {i + 1}") for i, each in enumerate(teachers)]
    targets = soft_targets(logits, how.temperature)
    pupil = copy.deepcopy(student)
    _fits(_asked(pupil, x[:2], "student"), targets, y)
    key = draws.keys([seed], "distil", x.device)
    losses: list[float] = []
    batch = len(x) if settings.batch == "all" else settings.batch
    per_epoch = math.ceil(len(x) / batch)
    rates = settings.rates(epochs * per_epoch, per_epoch)
    step = settings.optimiser.for_module(pupil.parameters(), settings.rate)
    end = math.inf if seconds is None else time.monotonic() + seconds
    for epoch in range(epochs):
        if time.monotonic() >= end:
            break
        pupil.train()
        total, samples = 0.0, 0
        # The order is a function of seed and epoch alone, so a run that is cut short by `seconds` saw what a longer one
        # sees first.
        for rows in draws.permutations(key, len(x), epoch)[0].split(batch):
            set_rate(next(rates), step)
            total += _learn(pupil, step, x[rows], targets[rows], None if y is None else y[rows], how)
            samples += len(rows)
            if time.monotonic() >= end:
                break
        losses.append(total / samples)
        if not torch.isfinite(torch.tensor(losses[-1])):
            raise TutelageError(f"the student diverged in epoch {epoch + 1}: lower the learning rate {settings.rate:g}")
        if on_epoch:
            on_epoch(epoch + 1, losses[-1])
    pupil.train(student.training)
    return Distilled(pupil, tuple(losses), *_judged(teachers, pupil, held_out if held_out is not None else (x, y)))


def _learn(
    pupil: nn.Module, step: torch.optim.Optimizer, x: Tensor, targets: Tensor, y: Tensor | None, how: Softening
) -> float:
    """One step on a batch; the sum of its losses."""
    step.zero_grad()
    each = distillation_loss(pupil(x), targets, y, how)
    each.mean().backward()
    step.step()
    return float(each.detach().sum())


def _checked_epochs(settings: Training, seconds: float | None) -> int:
    _SUPPORTED.check(settings)
    if not 0 < settings.rate <= 1e30:  # beyond, single precision overflows before the first step
        raise TutelageError(f"learning_rate must be positive and at most 1e30, got {settings.rate:g}")
    if seconds is not None and not seconds > 0:
        raise TutelageError(f"seconds must be positive, got {seconds:g}")
    assert settings.epochs is not None  # or it would not be supported
    return settings.epochs


def _inputs_and_labels(data: Tensor | tuple | Iterable) -> tuple[Tensor, Tensor | None]:
    """Inputs and labels, or None, of whatever was given; a loader is read once."""
    if isinstance(data, Tensor):
        x, y = data, None
    elif isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], Tensor):
        x, y = data
    else:
        pieces = [piece if isinstance(piece, tuple | list) else (piece, None) for piece in data]
        if not pieces:
            raise TutelageError("there are no samples to distil on: the loader is empty")
        x = torch.cat([piece[0] for piece in pieces])
        labels = [piece[1] for piece in pieces]
        y = None if labels[0] is None else torch.cat(labels)
    if len(x) == 0:
        raise TutelageError("there are no samples to distil on: give at least one")
    if y is not None and y.shape != x.shape[:1]:
        raise TutelageError(f"labels have shape {list(y.shape)} for {len(x)} inputs: give one class per sample")
    return x, y


def _asked(module: nn.Module, x: Tensor, whose: str) -> Tensor:
    """Outputs of a module in evaluation mode, as logits [N, C]."""
    was = module.training
    module.eval()
    try:
        with torch.no_grad():
            out = torch.cat([module(part) for part in x.split(_BATCH)])
    except (RuntimeError, TypeError, ValueError) as error:
        message = str(error).splitlines()[0]
        raise TutelageError(f"the {whose} cannot take inputs of shape {list(x.shape)} ({message})") from None
    finally:
        module.train(was)
    if out.ndim != 2:
        raise TutelageError(f"the {whose} must return one row of logits per sample, got shape {list(out.shape)}")
    if not out.isfinite().all():
        raise TutelageError(f"the {whose} gives outputs that are not finite: it cannot be distilled")
    return out


def _fits(student: Tensor, targets: Tensor, labels: Tensor | None) -> None:
    classes = max(student.shape[1], 2)
    if classes != targets.shape[1]:
        raise TutelageError(f"the student has {classes} classes and the teacher {targets.shape[1]}: give both the same")
    if labels is not None and (labels.min() < 0 or labels.max() >= classes):
        raise TutelageError(
            f"labels must be from 0 to {classes - 1}, and some are {int(labels.min())} or {int(labels.max())}"
        )


def _judged(
    teachers: Sequence[nn.Module], student: nn.Module, data: Tensor | tuple[Tensor, Tensor | None]
) -> tuple[float, float | None, float | None]:
    x, y = data if isinstance(data, tuple) else (data, None)
    taught = soft_targets([_asked(each, x, "teacher") for each in teachers]).argmax(-1)
    got = log_probabilities(_asked(student, x, "student")).argmax(-1)
    agreement = float((got == taught).double().mean())
    if y is None:
        return agreement, None, None
    return agreement, float((got == y).double().mean()), float((taught == y).double().mean())
