"""`tutelage match`: the units of two networks matched, and what lies between the networks."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tutelage.cli.options import Activation, Json, Layout, Slope, names_to_keep, read_networks
from tutelage.cli.points import read_samples
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from tutelage.functions import Barrier, BarrierReasons

_WAYS = ("best", "weights", "activations", "both")


def match(
    first: Annotated[Path, typer.Argument(metavar="A", help="Network: a .safetensors, .onnx or .nnet file.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Network of the same architecture.")],
    data: Annotated[
        Path,
        typer.Option(
            metavar="DATA.safetensors",
            help=r"Arrays points \[N, d] and labels: classes \[N], or numbers \[N, C]; without labels, those of A.",
        ),
    ],
    by: Annotated[str, typer.Option(help=f"What units are matched by: {', '.join(_WAYS)}.")] = "best",
    repair: Annotated[
        bool, typer.Option("--repair", help="Also repair the statistics of hidden units on the line.")
    ] = False,
    reasons: Annotated[
        bool, typer.Option("--reasons", help="Also say which layers the loss half-way comes from, and why.")
    ] = False,
    steps: Annotated[int, typer.Option(help="Number of places on the line less one.")] = 20,
    out: Annotated[Path | None, typer.Option(help="File to save B to, its units in the order of A's.")] = None,
    layout: Layout = "tutelage",
    figure: Annotated[Path | None, typer.Option(help="File to draw the loss along the line to.")] = None,
    activation: Activation = None,
    slope: Slope = None,
    as_json: Json = False,
) -> None:
    """Match the units of two networks and measure the line between them, before and after.

    The path may be bent with `tutelage connect`, which looks for one of low loss.

    Exit code 0: done; 2: bad input.
    """
    from tutelage.functions import barrier, explain_barrier
    from tutelage.networks import Network, read_network, save_network

    if by not in _WAYS:
        raise TutelageError(f"--by must be one of {', '.join(_WAYS)}, got '{by}'")
    network, other = read_networks(read_network, (first, second), activation, slope)
    names = names_to_keep(second, out, layout, other.members)
    points, labels = read_samples(data, network)
    result = barrier(network, other, points, labels, by=by, repair=repair, steps=steps)  # type: ignore[arg-type]
    explained = explain_barrier(network, result, points, labels) if reasons else None
    if out is not None:
        assert isinstance(result.second, Network)
        save_network(result.second, out, layout, names)  # type: ignore[arg-type]
    if figure is not None:
        _draw(result, figure)
    if as_json:
        print(json.dumps(_data(result, out, explained)))
        return
    console = Console()
    console.print(_table(result))
    if explained is not None:
        _print_reasons(console, explained)
    if out is not None:
        console.print(f"written: {out}", soft_wrap=True, highlight=False, markup=False)
    if figure is not None:
        console.print(f"drawn: {figure}", soft_wrap=True, highlight=False, markup=False)


def _lines(result: Barrier) -> list[tuple[str, Any, Any, Any]]:
    """Name, barrier, losses and accuracies of every line that was computed."""
    rows = [
        ("as they are", result.height("loss"), result.loss, result.accuracy),
        ("matched", result.height("matched"), result.matched, result.matched_accuracy),
    ]
    if result.repaired is not None:
        rows.append(("repaired", result.height("repaired"), result.repaired, result.repaired_accuracy))
    return rows


def _table(result: Barrier) -> Table:
    title = f"Straight line from A to B, units matched by {', '.join(dict.fromkeys(result.how))}; mean over members"
    table = Table(title=title, title_justify="left")
    for column in ("line", "loss at A", "highest", "loss at B", "barrier", "least accuracy"):
        table.add_column(column, justify="left" if column == "line" else "right")
    for name, height, loss, accuracy in _lines(result):
        ends = (loss[0].mean(), loss.amax(0).mean(), loss[-1].mean(), height.mean())
        least = "" if accuracy is None else f"{100 * float(accuracy.amin(0).mean()):.1f} %"
        table.add_row(name, *(f"{float(v):.4g}" for v in ends), least)
    return table


def _print_reasons(console: Console, explained: BarrierReasons) -> None:
    """Layer by layer, the mean over members."""
    table = Table(title="Half-way between A and matched B, mean over members", title_justify="left")
    for column in ("layer", "loss above the ends, this layer half-way", "spread of units", "agreement of pairs"):
        table.add_column(column, justify="right")
    for layer, excess in enumerate(explained.layer.mean(1).tolist()):
        hidden = layer < len(explained.spread)
        units = (
            [f"{float(v[layer].mean()):.2f}" for v in (explained.spread, explained.agreement)] if hidden else ["", ""]
        )
        table.add_row(str(layer + 1), f"{excess:.4g}", *units)
    console.print(table)
    excess, restored = (float(v.mean()) for v in (explained.excess, explained.repaired))
    console.print(f"all layers: {excess:.4g} above the ends, {restored:.4g} with the spread of hidden units restored")


def _data(result: Barrier, out: Path | None, explained: BarrierReasons | None) -> dict[str, Any]:
    lines = {
        name: {
            "barrier": height.tolist(),
            "loss": loss.tolist(),
            "accuracy": None if accuracy is None else accuracy.tolist(),
        }
        for name, height, loss, accuracy in _lines(result)
    }
    return {
        "places": result.places.tolist(),
        "matched_by": list(result.how),
        "lines": lines,
        "written": None if out is None else str(out),
        "reasons": None
        if explained is None
        else {f.name: getattr(explained, f.name).tolist() for f in fields(explained)},
    }


def _draw(result: Barrier, path: Path) -> None:
    """Loss along each line, the mean over members."""
    from matplotlib.figure import Figure

    from tutelage.studies.figures import PALETTE, house_style

    with house_style():
        figure = Figure(figsize=(4.2, 3.0), layout="constrained")
        axes = figure.subplots()
        for colour, (name, _, loss, _) in zip(PALETTE, _lines(result), strict=False):
            axes.plot(result.places, loss.mean(1), color=colour, label=name)
        axes.set(xlabel="place on the line from A to B", ylabel="loss")
        axes.legend()
        try:
            figure.savefig(path, dpi=160)
        except (OSError, ValueError) as error:
            raise TutelageError(f"the figure cannot be written to {path} ({error})") from None
