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
from tutelage.exits.objective import UNLABELLED
from tutelage.files import write_atomically
from tutelage.printing import printed

_BATCH = 512  # samples judged at once


@printed
@dataclass(frozen=True, eq=False)
class ExitAccuracy:
    """Share of samples whose class is among the most probable ones.

    Attributes
    ----------
    single
        Of each exit alone, [M].
    ensemble
        Of the mean of the first m exits, [M].
    agreement
        Share of samples on which an exit has the same class as the last one, [M].
    """

    single: Tensor
    ensemble: Tensor
    agreement: Tensor
    """Share of samples on which two exits name the same class: [M, M]."""


def exit_accuracy(model: MultiExit, x: Tensor | Pixels, y: Tensor, top: int = 1) -> ExitAccuracy:
    """Accuracy of every exit and of every running ensemble.

    Parameters
    ----------
    model
        The network.
    x, y
        Samples [N, ...] and labels [N].
    top
        How many of the most probable classes count.

    Returns
    -------
    ExitAccuracy
        float64 [M] each.

    Examples
    --------
    >>> from tutelage.exits import multi_exit_mlp
    >>> exit_accuracy(multi_exit_mlp(4, [8, 8], 3), torch.randn(50, 4), torch.arange(50) % 3, top=3)
    ExitAccuracy(single=float64 [2], ensemble=float64 [2], agreement=float64 [2, 2])
    """
    if not len(x) or len(x) != len(y):
        raise TutelageError(
            f"accuracy needs at least one sample and one label per sample, got {len(x)} samples and {len(y)} labels"
        )
    if y.is_floating_point() or (y == UNLABELLED).any():
        raise TutelageError("accuracy needs the class of every sample, a whole number: leave out those without a label")
    sums: list[list[Tensor]] = []
    was = model.training
    model.eval()
    try:
        with torch.no_grad():
            for start in range(0, len(x), _BATCH):
                labels = y[start : start + _BATCH]
                p = torch.stack([log_probabilities(z).exp() for z in model(x[start : start + _BATCH])])
                # All exits of a batch at once: the running ensemble is a cumulative mean over the first axis.
                counts = torch.arange(1, len(p) + 1, device=p.device).view(-1, 1, 1)
                predicted = p.argmax(-1)
                same = (predicted[:, None] == predicted[None]).sum(-1)
                sums.append([_right(p, labels, top), _right(p.cumsum(0) / counts, labels, top), same])
    finally:
        model.train(was)
    single, ensemble, agreement = (torch.stack(part).sum(0).double().cpu() / len(x) for part in zip(*sums, strict=True))
    return ExitAccuracy(single, ensemble, agreement)


def _right(p: Tensor, labels: Tensor, top: int) -> Tensor:
    """How many samples have their class among the likeliest: [M, N, C], [N] -> [M]."""
    if not 1 <= top <= p.shape[-1]:
        raise TutelageError(f"top must be from 1 to {p.shape[-1]}, the number of classes, got {top}")
    return (p.topk(top, -1).indices == labels[:, None]).any(-1).sum(1)


def best_exits(validation: Sequence[float] | Tensor) -> tuple[int, ...]:
    """Best exit by validation accuracy, for 1, 2, ... available exits.

    Parameters
    ----------
    validation
        Accuracy of every exit.

    Returns
    -------
    tuple of int
        Exits counted from 1; the earlier one where two are equal.

    Examples
    --------
    >>> best_exits([0.7, 0.9, 0.8, 0.9])
    (1, 2, 2, 2)
    """
    accuracy = [float(a) for a in validation]
    if not accuracy:
        raise TutelageError("there is no exit to choose from: give the validation accuracy of at least one")
    return tuple(1 + max(range(m + 1), key=lambda i: (accuracy[i], -i)) for m in range(len(accuracy)))


def exit_within(budget: float, costs: Sequence[float] | Tensor, validation: Sequence[float] | Tensor) -> int:
    """Best exit within a budget, by validation accuracy.

    Parameters
    ----------
    budget
        Largest cost.
    costs
        Cost of each exit alone, in the same unit (:func:`exit_times`).
    validation
        Accuracy of each exit.

    Returns
    -------
    int
        Exit, counted from 1.

    Examples
    --------
    >>> exit_within(2.5, costs=[1.0, 2.0, 3.0], validation=[0.7, 0.8, 0.9])
    2
    """
    if len(costs) != len(validation):
        raise TutelageError(
            f"wanted one cost and one accuracy per exit, not {len(costs)} costs and {len(validation)} accuracies"
        )
    within = [m for m, cost in enumerate(costs) if float(cost) <= budget]
    if not within:
        raise TutelageError(
            f"a budget of {budget:g} is below the cheapest exit, which costs {min(map(float, costs)):g}"
        )
    return 1 + max(within, key=lambda m: (float(validation[m]), -m))


def running_ensemble(model: MultiExit, x: Tensor) -> Iterator[Tensor]:
    """Anytime mode: after each exit the mean of the probabilities so far.

    Parameters
    ----------
    model
        The network.
    x
        A batch [B, ...].

    Yields
    ------
    Tensor
        (1/m) sum_{i <= m} p_i(x), [B, C].
    """
    total: Tensor | None = None
    for m, logits in enumerate(model.anytime(x), 1):
        p = log_probabilities(logits).exp()
        total = p if total is None else total + p
        yield total / m


@printed
@dataclass(frozen=True, eq=False)
class EarlyAnswer:
    """Answers of a network whose samples leave at the first exit that is sure enough.

    Attributes
    ----------
    probabilities
        Of the exit at which each sample left, [N, C].
    exit_number
        That exit, counted from 1, [N].
    """

    probabilities: Tensor
    exit_number: Tensor


def early_exit(model: MultiExit, x: Tensor, threshold: float) -> EarlyAnswer:
    """Answer every sample at the first exit whose largest probability reaches a threshold, or at the last.

    Parameters
    ----------
    model
        A network in evaluation mode.
    x
        Samples [N, ...]; later stages run only on those that are left.
    threshold
        Between 0 and 1.

    Returns
    -------
    EarlyAnswer

    Examples
    --------
    >>> from tutelage.exits import multi_exit_mlp
    >>> early_exit(multi_exit_mlp(4, [8, 8], 3).eval(), torch.randn(5, 4), threshold=0.9)
    EarlyAnswer(probabilities=float32 [5, 3], exit_number=int64 [5])
    """
    if not 0 < threshold <= 1:
        raise TutelageError(f"threshold must lie between 0 and 1, got {threshold:g}")
    left, state = torch.arange(len(x), device=x.device), x
    answer, number = None, torch.full((len(x),), model.exits, device=x.device)
    for m, (stage, head) in enumerate(zip(model.stages, model.heads, strict=True), 1):
        # Invariant: `left` are the samples without an answer, and `state` holds what the stages so far made of them, in
        # that order. The last exit takes all that are left.
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
        raise TutelageError("a stage returns something without an axis of samples: samples cannot leave one by one")
    return tree_map(lambda part: part[kept], state)


@printed
@dataclass(frozen=True, eq=False)
class ExitTimes:
    """Measured seconds to an answer at every exit.

    Attributes
    ----------
    budget
        Running up to that exit and using it alone, [R repeats, M].
    anytime
        Using all exits up to it, [R, M].
    """

    budget: Tensor
    anytime: Tensor


def exit_times(model: MultiExit, x: Tensor, repeats: int = 20, warm_up: int = 3) -> ExitTimes:
    """Measure the time to an answer at every exit on this machine.

    Parameters
    ----------
    model
        The network.
    x
        A batch [B, ...].
    repeats
        Measurements; modes and exits take turns, so that a slow moment affects all.
    warm_up
        Runs before the first measurement.

    Returns
    -------
    ExitTimes

    Examples
    --------
    >>> from tutelage.exits import multi_exit_mlp
    >>> exit_times(multi_exit_mlp(4, [8, 8], 3), torch.randn(5, 4), repeats=2)
    ExitTimes(budget=float64 [2, 2], anytime=float64 [2, 2])
    """
    if repeats < 1:
        raise TutelageError(f"repeats must be at least 1, got {repeats}")
    was = model.training
    model.eval()
    budget, anytime = [], []
    with torch.no_grad():
        for turn in range(warm_up + repeats):
            # Modes and exits in turn within every repeat, so that a moment in which the machine is busy is shared by
            # all of them.
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
    """Write the network that ends at one exit as a program that torch alone can run.

    ``torch.export.load(path).module()(x)`` gives its logits [B, C] for any number of samples.

    Parameters
    ----------
    model
        The network; it is written in evaluation mode.
    exit_number
        Counted from 1.
    example
        Inputs [B, ...] of the shape to come.
    path
        File to write.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from tutelage.exits import multi_exit_mlp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_exit(multi_exit_mlp(4, [8, 8], 3), 1, torch.zeros(2, 4), Path(folder) / "exit.pt2")
    ...     torch.export.load(path).module()(torch.zeros(5, 4)).shape
    torch.Size([5, 3])
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
