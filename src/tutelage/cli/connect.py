"""`tutelage connect`: a path of low loss between two networks, and what lies on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tutelage.cli.options import Activation, Json, Slope, read_networks
from tutelage.cli.points import read_samples
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from torch import Tensor

    Lines = dict[str, tuple[Tensor, Tensor, Tensor | None]]


def connect(
    first: Annotated[Path, typer.Argument(metavar="A", help="Network: a .safetensors, .onnx or .nnet file.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Network of the same architecture.")],
    data: Annotated[
        Path,
        typer.Option(
            metavar="DATA.safetensors",
            help=r"Arrays points \[N, d] and labels: classes \[N], or numbers \[N, C]; without labels, those of A.",
        ),
    ],
    excess: Annotated[
        float, typer.Option(help="Share by which the loss of two-layer students may grow to free a unit.")
    ] = 0.0,
    bend_steps: Annotated[int, typer.Option(help="Gradient steps for the bend of deeper networks.")] = 300,
    steps: Annotated[int, typer.Option(help="Places per piece of a path.")] = 10,
    figure: Annotated[Path | None, typer.Option(help="File to draw the loss along the paths to.")] = None,
    activation: Activation = None,
    slope: Slope = None,
    as_json: Json = False,
) -> None:
    """Build a path of low loss between two networks and measure it, beside the straight lines.

    Which unit of one is which of the other is the question of `tutelage match`.

    The loss is the cross-entropy for classes and half the squared error for numbers. Exit code 0: done; 2: bad input.
    """
    from tutelage.functions import connect as build
    from tutelage.functions import straight, straight_after_matching
    from tutelage.functions.matching.paths import judged_along
    from tutelage.networks import read_network

    if steps < 1:
        raise TutelageError(f"--steps must be at least 1, got {steps}")
    student, second_student = read_networks(read_network, (first, second), activation, slope)
    points, labels = read_samples(data, student)
    path = build(student, second_student, points, labels=labels, excess=excess, bend_steps=bend_steps)
    paths = {
        "straight": straight(student, second_student),
        "straight, units matched": straight_after_matching(student, second_student, points, labels),
        "path": path,
    }
    lines = {name: judged_along(each, points, labels, steps) for name, each in paths.items()}
    if figure is not None:
        _draw(lines, figure)
    if as_json:
        print(json.dumps(_data(lines, path.what)))
        return
    console = Console()
    console.print(_table(lines))
    words = [", ".join(pieces) for pieces in dict.fromkeys(path.what)]
    note = ["the path was found on these points: measure it on others too"]
    for line in (*[f"pieces: {w}" for w in words[:4]], *note, *([f"drawn: {figure}"] if figure else [])):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def _table(lines: Lines) -> Table:
    table = Table(title="From A to B; mean over members", title_justify="left")
    for column in ("way", "loss at A", "highest", "loss at B", "least accuracy"):
        table.add_column(column, justify="left" if column == "way" else "right")
    for name, (_, loss, accuracy) in lines.items():
        ends = loss[0].mean(), loss.amax(0).mean(), loss[-1].mean()
        least = "" if accuracy is None else f"{100 * float(accuracy.amin(0).mean()):.1f} %"
        table.add_row(name, *(f"{float(v):.4g}" for v in ends), least)
    return table


def _data(lines: Lines, what: tuple[tuple[str, ...], ...]) -> dict[str, Any]:
    return {
        "pieces": [list(words) for words in what],
        "lines": {
            name: {
                "share": share.tolist(),
                "loss": loss.tolist(),
                "accuracy": None if accuracy is None else accuracy.tolist(),
            }
            for name, (share, loss, accuracy) in lines.items()
        },
    }


def _draw(lines: Lines, path: Path) -> None:
    """Loss along each way, and accuracy for classes; the mean over members."""
    from matplotlib.figure import Figure

    from tutelage.studies.figures import PALETTE, house_style

    panels = [("loss", 1), ("accuracy", 2)] if all(line[2] is not None for line in lines.values()) else [("loss", 1)]
    with house_style():
        figure = Figure(figsize=(4.2 * len(panels), 3.0), layout="constrained")
        for axes, (name, place) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            for colour, (way, line) in zip(PALETTE, lines.items(), strict=False):
                values = line[place]
                assert values is not None
                axes.plot(line[0].mean(1), values.mean(1), color=colour, label=way)
            axes.set(xlabel="share of the way from A to B", ylabel=name)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(lines))
        try:
            figure.savefig(path, dpi=160)
        except (OSError, ValueError) as error:
            raise TutelageError(f"the figure cannot be written to {path} ({error})") from None
