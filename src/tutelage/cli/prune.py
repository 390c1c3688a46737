"""`tutelage prune`: a smaller network of the same function, and what went and why."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tutelage.cli.options import Json
from tutelage.cli.points import read_points
from tutelage.cli.progress import share_shown
from tutelage.errors import TutelageError
from tutelage.functions import Pruning
from tutelage.functions import prune as carry_out
from tutelage.functions.checks import rounded_up
from tutelage.networks import read_network, save

_SHOWN = 200  # rows of the table on a terminal


def prune(
    network: Annotated[Path, typer.Argument(metavar="NET", help="Network: a .safetensors, .onnx or .nnet file.")],
    out: Annotated[Path | None, typer.Option(help="File to save the smaller network to.")] = None,
    box: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LOW HIGH", help="Lower and upper bound for every input; default: unbounded."),
    ] = None,
    points: Annotated[
        Path | None, typer.Option(metavar="POINTS.safetensors", help=r"Inputs \[N, d] or \[S, N, d] to look at.")
    ] = None,
    on_samples: Annotated[
        bool,
        typer.Option("--on-samples", help="Also remove units that are redundant only on the points."),
    ] = False,
    tolerance: Annotated[
        float, typer.Option(help="Size of what may be removed or merged; 0 keeps the function.")
    ] = 0.0,
    member: Annotated[int | None, typer.Option(help="Member to prune, counted from 0; default: all.")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Time limit in seconds; the steps made so far are then the result.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Remove units without changing the function, and print what was removed and why.

    Exit code 0: done, with the bound that is printed; 2: bad input; 70: an internal error.
    """
    net = read_network(network)
    if member is not None:
        if not 0 <= member < net.members:
            raise TutelageError(f"--member must be from 0 to {net.members - 1} for {network}, got {member}")
        net = net[member]
    with share_shown("prune", as_json) as tell:
        found = carry_out(
            net,
            None if points is None else read_points(points),
            box,
            tolerance,
            on_samples=on_samples,
            seconds=seconds,
            on_progress=tell,
        )
    if out is not None:
        save(found.network, out)
    if as_json:
        print(json.dumps(_data(net.widths, found, out)))
        return
    console = Console()
    if found.steps or found.seen:
        console.print(_table(found))
    for line in _words(net.widths, found, out):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def _table(found: Pruning) -> Table:
    rows = [*found.steps, *found.seen]
    title = (
        "Units removed or merged"
        if len(rows) <= _SHOWN
        else f"Units removed or merged: the first {_SHOWN} of {len(rows)}"
    )
    table = Table(title=title, title_justify="left")
    for column, right in (("member", 1), ("layer", 1), ("unit", 1), ("action", 0), ("reason", 0), ("holds for", 0)):
        table.add_column(column, justify="right" if right else "left", no_wrap=bool(right))
    table.add_column("largest change of an output", justify="right")
    for s in rows[:_SHOWN]:
        what = {"removed": "removed", "seen": "left"}.get(s.action, f"{s.action} into {', '.join(map(str, s.into))}")
        bound = "" if s.action == "seen" else "unknown" if s.bound is None else rounded_up(s.bound)
        table.add_row(str(s.member), str(s.layer), str(s.unit), what, s.reason, s.valid, bound)
    return table


def _words(before: tuple[int, ...], found: Pruning, out: Path | None) -> list[str]:
    widths = sorted({tuple(row) for row in found.widths.tolist()})
    now = " or ".join("-".join(map(str, row)) for row in widths[:4]) + (" or more" if len(widths) > 4 else "")
    worst = int(found.deviation.value.argmax())
    lines = [
        f"hidden units: {'-'.join(map(str, before[1:-1]))} before, {now} now",
        f"proof: {found.proof}",
        f"largest difference found by search: {found.deviation.value[worst]:.2g}",
    ]
    return lines + ([f"written: {out}"] if out else [])


def _data(before: tuple[int, ...], found: Pruning, out: Path | None) -> dict[str, Any]:
    bound = found.proof.bound
    return {
        "hidden_before": list(before[1:-1]),
        "hidden_now": found.widths.tolist(),
        "steps": [asdict(s) for s in found.steps],
        "seen": [asdict(s) for s in found.seen],
        "proof": {
            "domain": found.proof.domain,
            "exact": found.proof.exact,
            "bound": None if bound is None else bound.tolist(),
            "over": "the box" if found.proof.boxed else "all inputs, times max(1, |x|)",
        },
        "deviation": {"value": found.deviation.value.tolist(), "at": found.deviation.at.tolist()},
        "written": None if out is None else str(out),
    }
