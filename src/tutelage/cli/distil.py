"""`tutelage distil`: teach one stored network by another, and say what theory expects of such data."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tutelage.cli.options import Activation, Json, Slope, read_networks
from tutelage.cli.points import read_points, real_points
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from torch import Tensor

    from tutelage.distillation import Outlook
    from tutelage.distillation.modules import Distilled
    from tutelage.networks import Network


def distil(
    teacher: Annotated[Path, typer.Argument(metavar="TEACHER", help="Teacher network: safetensors or ONNX.")],
    student: Annotated[
        Path, typer.Argument(metavar="STUDENT", help="Student network before training: safetensors or ONNX.")
    ],
    points: Annotated[Path, typer.Option(metavar="X.safetensors", help=r"Inputs \[N, d] to train on.")],
    labels: Annotated[
        bool, typer.Option("--labels", help=r"Read true classes \[N] from the array 'labels' of the same file.")
    ] = False,
    held_out: Annotated[
        Path | None,
        typer.Option(
            metavar="X.safetensors",
            help="Inputs to evaluate on, with labels if --labels; default: the training inputs.",
        ),
    ] = None,
    temperature: Annotated[
        float, typer.Option(help="Temperature: divisor of the logits of teacher and student.")
    ] = 1.0,
    hard_share: Annotated[float, typer.Option(help="Share of the loss that uses the labels.")] = 0.0,
    epochs: Annotated[int, typer.Option(min=0, help="Number of passes over the inputs.")] = 100,
    batch: Annotated[int, typer.Option(min=1, help="Inputs per step.")] = 128,
    learning_rate: Annotated[float, typer.Option(help="Adam learning rate.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Seed of the order of the inputs.")] = 0,
    seconds: Annotated[
        float | None, typer.Option(help="Time limit of the training in seconds; theory is left out once it is reached.")
    ] = None,
    activation: Activation = None,
    slope: Slope = None,
    out: Annotated[Path | None, typer.Option(help="File to save the student to.")] = None,
    as_json: Json = False,
) -> None:
    """Train a student on a teacher's soft labels, and print what theory expects of the last layer on these inputs.

    For example: tutelage distil teacher.safetensors student.safetensors --points x.safetensors --out new.safetensors
    """
    from torch import nn

    from tutelage.distillation import Softening, outlook
    from tutelage.distillation import distil as carry_out
    from tutelage.networks import from_module, read_network, save, to_module

    began, how = time.monotonic(), Softening(temperature, hard_share)
    if seconds is not None and not 0 < seconds < math.inf:
        raise TutelageError(f"seconds must be positive, got {seconds:g}")
    networks = read_networks(read_network, (teacher, student), activation, slope)
    taught, start = _one(networks[0], teacher), _one(networks[1], student)
    x, y = _samples(points, labels, taught)
    fresh, right = (x, y) if held_out is None else _samples(held_out, labels, taught)
    first, second = to_module(taught), to_module(start.to(dtype=taught.dtype))
    with _progress(epochs, as_json) as on_epoch:
        distilled = carry_out(
            first,
            second,
            x if y is None else (x, y),
            held_out=fresh if right is None else (fresh, right),
            softening=how,
            epochs=epochs,
            batch=batch,
            learning_rate=learning_rate,
            seed=seed,
            on_epoch=on_epoch,
            seconds=seconds,
        )
    if out is not None:
        assert isinstance(distilled.student, nn.Sequential)
        save(from_module(distilled.student), out)
    if not as_json:
        _print_found(distilled, epochs, seconds, out)
    late = seconds is not None and time.monotonic() - began >= seconds
    expected = None if late else outlook(first, x, None if held_out is None else fresh)
    if as_json:
        print(json.dumps(_data(distilled, expected, out), allow_nan=False))
    else:
        _print_expected(expected)


def _print_found(distilled: Distilled, epochs: int, seconds: float | None, out: Path | None) -> None:
    _print(str(distilled))
    if seconds is not None and len(distilled.losses) < epochs:
        _print(f"ended after {seconds:g} s, in epoch {len(distilled.losses)} of {epochs}")
    if out is not None:
        _print(f"written: {out}")


def _print_expected(expected: Outlook | None) -> None:
    if expected is None:
        _print("what theory expects is left out: the time limit is reached")
        return
    if not expected.vacuous:
        Console().print(_table(expected))
    _print(_words(expected))


def _print(text: str) -> None:
    Console().print(text, soft_wrap=True, highlight=False, markup=False)


@contextmanager
def _progress(epochs: int, quiet: bool) -> Iterator[Callable[[int, float], None]]:
    """A function to tell of an epoch and its loss; it draws on a terminal and is silent elsewhere."""
    console = Console(stderr=True)
    columns = TextColumn("epochs"), BarColumn(), MofNCompleteColumn(), TextColumn("loss {task.fields[loss]}")
    with Progress(
        *columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet or not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=epochs, loss="-")
        yield lambda epoch, loss: bar.update(task, completed=epoch, loss=f"{loss:.4g}")


def _one(network: Network, path: Path) -> Network:
    if network.members != 1:
        raise TutelageError(
            f"{path} has {network.members} networks, expected one: save a single member, such as load(...)[0]"
        )
    return network


def _samples(path: Path, labels: bool, teacher: Network) -> tuple[Tensor, Tensor | None]:
    """Inputs [N, d] in the teacher's precision, and their classes where they are asked for."""
    x, y = _arrays(path) if labels else (read_points(path), None)
    if x.ndim != 2 or x.shape[1] != teacher.inputs:
        raise TutelageError(
            f"the inputs of {path} must have shape [N, {teacher.inputs}] for this teacher, got {list(x.shape)}"
        )
    return x.to(teacher.dtype), y


def _arrays(path: Path) -> tuple[Tensor, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    try:
        arrays = load_file(path)
    except (SafetensorError, OSError) as error:
        raise TutelageError(f"{path} is not a safetensors file ({error})") from None
    if not {"points", "labels"} <= set(arrays):
        held = ", ".join(sorted(arrays)) or "none"
        raise TutelageError(f"{path} has the arrays {held}: name the samples 'points' and their classes 'labels'")
    y = arrays["labels"]
    if y.is_floating_point() or y.is_complex():
        raise TutelageError(f"the labels of {path} are {y.dtype}: give whole numbers, one class per sample")
    return real_points(arrays["points"], path), y.long()


def _table(expected: Outlook) -> Table:
    table = Table(title="What a linear student of the last layer would come to", title_justify="left")
    for column in ("class", "angle with the teacher", "share judged otherwise", "bound (Theorem 5.3)", "tighter"):
        table.add_column(column, justify="right")
    for line in expected.lines:
        table.add_row(
            line.name, f"{line.angle:.3g}°", f"{line.disagreement:.3g}", f"{line.bound:.3g}", f"{line.tighter:.3g}"
        )
    return table


def _words(e: Outlook) -> str:
    kind = "the log-odds of two classes" if len(e.lines) == 1 else "each class against the rest, by itself"
    where = "the held-out inputs" if e.held_out else "these inputs themselves"
    sentence = (
        "the student learns the teacher's last layer itself"
        if e.rank == e.dimension
        else "the student learns the teacher's projection onto the span of the features"
    )
    vacuous = (
        "the bounds of Theorem 5.3 are 1 for every class, so they say nothing about the share judged otherwise: take "
        "more inputs for these features. "
    )
    return (
        f"{vacuous if e.vacuous else ''}"
        f"n = {e.count} inputs, d = {e.dimension} features{' with the bias' if e.biased else ''}, rank {e.rank}: "
        f"{sentence} (Phuong 2021, Theorem 5.1). For {kind}; shares are of {where}; the bounds are on the expected "
        "share for inputs of the same distribution, with angles counted on these."
    )


def _data(distilled: Distilled, expected: Outlook | None, out: Path | None) -> dict[str, Any]:
    return {
        "agreement": distilled.agreement,
        "accuracy": distilled.accuracy,
        "teacher_accuracy": distilled.teacher_accuracy,
        "losses": list(distilled.losses),
        "theory": None if expected is None else asdict(expected),
        "written": None if out is None else str(out),
    }
