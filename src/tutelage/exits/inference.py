"""Using a network with exits: the best exit within a budget, an answer at any time, or as soon as one is sure."""

import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map

from tutelage.data.pixels import Pixels
from tutelage.distillation.targets import log_probabilities
from tutelage.errors import TutelageError
from tutelage.exits.multi_exit import MultiExit
from tutelage.files import write_atomically
from tutelage.printing import printed

_BATCH = 512  # samples judged at once


@printed
@dataclass(frozen=True, eq=False)
class ExitAccuracy:
    """Share of samples whose class is among the ``top`` likeliest: of each exit alone, and of the first m together."""

    single: Tensor
    ensemble: Tensor
    agreement: Tensor
    """Share of samples on which two exits name the same class: [M, M]."""


def exit_accuracy(model: MultiExit, x: Tensor | Pixels, y: Tensor, top: int = 1) -> ExitAccuracy:
    """Accuracy of every exit and of every running ensemble on x [N, ...] with labels y [N]: float64 [M] each."""
    if not len(x) or len(x) != len(y):
        raise TutelageError(
            f"accuracy was asked on {len(x)} samples with {len(y)} labels: give at least one, a label each"
        )
    sums: list[list[Tensor]] = []
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            for start in range(0, len(x), _BATCH):
                labels = y[start : start + _BATCH]
                p = torch.stack([log_probabilities(z).exp() for z in model(x[start : start + _BATCH])])
                counts = torch.arange(1, len(p) + 1, device=p.device).view(-1, 1, 1)
                said = p.argmax(-1)
                same = (said[:, None] == said[None]).sum(-1)
                sums.append([_right(p, labels, top), _right(p.cumsum(0) / counts, labels, top), same])
    finally:
        model.train(was)
    single, ensemble, agreement = (torch.stack(part).sum(0).double().cpu() / len(x) for part in zip(*sums, strict=True))
    return ExitAccuracy(single, ensemble, agreement)


def _right(p: Tensor, labels: Tensor, top: int) -> Tensor:
    """How many samples have their class among the likeliest: [M, N, C], [N] -> [M]."""
    if not 1 <= top <= p.shape[-1]:
        raise TutelageError(f"the {top} likeliest of {p.shape[-1]} classes were asked for")
    return (p.topk(top, -1).indices == labels[:, None]).any(-1).sum(1)


def best_exits(validation: Sequence[float] | Tensor) -> tuple[int, ...]:
    """For 1, 2, ... exits available, the one with the best validation accuracy; the earlier one where two are equal.

    >>> best_exits([0.7, 0.9, 0.8, 0.9])
    (1, 2, 2, 2)
    """
    accuracy = [float(a) for a in validation]
    if not accuracy:
        raise TutelageError("there is no exit to choose from: give the validation accuracy of at least one")
    return tuple(1 + max(range(m + 1), key=lambda i: (accuracy[i], -i)) for m in range(len(accuracy)))


def exit_within(budget: float, costs: Sequence[float] | Tensor, validation: Sequence[float] | Tensor) -> int:
    """The exit with the best validation accuracy among those that cost no more than the budget, numbered from 1.

    costs: of each exit alone, in the budget's unit (:func:`exit_times`); often but not always the latest affordable one
    is the best.
    """
    if len(costs) != len(validation):
        raise TutelageError(f"{len(costs)} costs and {len(validation)} accuracies were given: give one of each an exit")
    within = [m for m, cost in enumerate(costs) if float(cost) <= budget]
    if not within:
        raise TutelageError(
            f"a budget of {budget:g} is below the cheapest exit, which costs {min(map(float, costs)):g}"
        )
    return 1 + max(within, key=lambda m: (float(validation[m]), -m))


def running_ensemble(model: MultiExit, x: Tensor) -> Iterator[Tensor]:
    """Anytime mode: after each exit the mean of the probabilities so far, (1/m) sum_{i <= m} p_i(x) [B, C]."""
    total: Tensor | None = None
    for m, logits in enumerate(model.anytime(x), 1):
        p = log_probabilities(logits).exp()
        total = p if total is None else total + p
        yield total / m


@printed
@dataclass(frozen=True, eq=False)
class EarlyAnswer:
    """Probabilities of the exit at which each sample left [N, C], and the number of that exit [N]."""

    probabilities: Tensor
    exit_number: Tensor


def early_exit(model: MultiExit, x: Tensor, threshold: float) -> EarlyAnswer:
    """Every sample leaves at the first exit whose largest probability reaches the threshold, or at the last.

    Later stages run on the samples that are left alone. The model should be in evaluation mode.
    """
    if not 0 < threshold <= 1:
        raise TutelageError(f"a threshold of confidence lies in 0 .. 1, not at {threshold:g}")
    left, state = torch.arange(len(x), device=x.device), x
    answer, number = None, torch.full((len(x),), model.exits, device=x.device)
    for m, (stage, head) in enumerate(zip(model.stages, model.heads, strict=True), 1):
        state = stage(state)
        p = log_probabilities(head(state)).exp()
        answer = p.new_zeros(len(x), p.shape[1]) if answer is None else answer
        sure = p.amax(1) >= threshold if m < model.exits else torch.ones_like(left, dtype=torch.bool)
        answer = answer.index_copy(0, left[sure], p[sure])
        number[left[sure]] = m
        if sure.all():
            break
        state, left = _rows(state, ~sure), left[~sure]
    assert answer is not None
    return EarlyAnswer(answer, number)


def _rows(state: Any, kept: Tensor) -> Any:
    """Some of the samples of what a stage hands on."""
    parts, _ = tree_flatten(state)
    if not all(isinstance(part, Tensor) and part.ndim and len(part) == len(kept) for part in parts):
        raise TutelageError("a stage hands on something that has no axis of samples: samples cannot leave one by one")
    return tree_map(lambda part: part[kept], state)


@printed
@dataclass(frozen=True, eq=False)
class ExitTimes:
    """Seconds to an answer at every exit, over repeats: budget (that exit alone), anytime (all to it): [R, M] each."""

    budget: Tensor
    anytime: Tensor


def exit_times(model: MultiExit, x: Tensor, repeats: int = 20, warm_up: int = 3) -> ExitTimes:
    """Measure inference on x [B, ...] on this machine; modes and exits take turns, so that a slow moment hits all."""
    if repeats < 1:
        raise TutelageError(f"times over {repeats} repeats were asked for: measure at least once")
    was = model.training
    model.eval()
    budget, anytime = [], []
    with torch.no_grad():
        for turn in range(warm_up + repeats):
            alone = [_seconds(lambda m=m: model.at(x, m), x) for m in range(1, model.exits + 1)]  # type: ignore[misc]
            together = _arrivals(running_ensemble(model, x), x)
            if turn >= warm_up:
                budget.append(alone)
                anytime.append(together)
    model.train(was)
    return ExitTimes(torch.tensor(budget, dtype=torch.float64), torch.tensor(anytime, dtype=torch.float64))


def _clock(x: Tensor) -> float:
    if x.is_cuda:
        torch.cuda.synchronize(x.device)
    return time.perf_counter()


def _seconds(call: Callable[[], object], x: Tensor) -> float:
    start = _clock(x)
    call()
    return _clock(x) - start


def _arrivals(answers: Iterator[Tensor], x: Tensor) -> list[float]:
    start = _clock(x)
    return [_clock(x) - start for _ in answers]


def save_exit(model: MultiExit, exit_number: int, example: Tensor, path: Path | str) -> Path:
    """Write the network that ends at one exit as a program that torch alone can run, on any number of samples.

    ``torch.export.load(path).module()(x)`` gives its logits [B, C]; neither this package nor the model's own code is
    needed. It is written in evaluation mode. example: inputs [B, ...] of the shape to come.
    """
    part, path = model.cut(exit_number), Path(path)
    if len(example) < 2:
        example = torch.cat([example, example])  # of one sample, torch would take the number for a constant
    modes = [(module, module.training) for module in part.modules()]
    part.eval()
    try:
        batch = torch.export.Dim("batch", min=1)
        program = torch.export.export(part, (example,), dynamic_shapes=({0: batch},), strict=False)
    except (RuntimeError, TypeError, ValueError) as error:
        raise TutelageError(f"the exit cannot be exported ({str(error).splitlines()[0]})") from None
    finally:
        for module, was in modes:
            module.training = was
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    write_atomically(path, buffer.getvalue())
    return path
