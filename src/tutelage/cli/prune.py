"""`tutelage prune`: a smaller network of the same function, and what went and why."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tutelage.cli.options import Activation, Json, Layout, Slope, names_to_keep, read_networks
from tutelage.cli.points import read_points
from tutelage.cli.progress import share_shown
from tutelage.cli.prune_channels import asks_for_channels, prune_file
from tutelage.deadline import Deadline
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from tutelage.functions import Pruning, Savings

_WRITTEN_OUT = (
    "note: the file is smaller than the network as it was read, since its layers share weights; convolutions are "
    "written out as matrices, and the pruned network is fully connected"
)
_SHOWN = 200  # rows of the table on a terminal


def prune(
    network: Annotated[Path, typer.Argument(metavar="NET", help="Network: a .safetensors, .onnx or .nnet file.")],
    out: Annotated[
        Path | None, typer.Option(help="File to save the smaller network to: .safetensors or .onnx.")
    ] = None,
    layout: Layout = "tutelage",
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
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA.safetensors", help="Inputs; prune for the smallest box around them."),
    ] = None,
    within: Annotated[
        float, typer.Option(help="Largest proven change of any output on the box; 0 keeps the function.")
    ] = 0.0,
    tolerance: Annotated[
        float, typer.Option(help="Size of what may be removed or merged; 0 keeps the function.")
    ] = 0.0,
    member: Annotated[int | None, typer.Option(help="Member to prune, counted from 0; default: all.")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Time limit in seconds; the steps made so far are then the result.")
    ] = None,
    channels: Annotated[
        bool | None,
        typer.Option(
            "--channels/--units",
            help="Remove whole channels and keep the convolutions, or remove units of the layers written out as "
            "matrices; default: channels of an ONNX file with convolutions where no option of units is given.",
        ),
    ] = None,
    activation: Activation = None,
    slope: Slope = None,
    as_json: Json = False,
) -> None:
    """Remove units or channels without changing the function, and print what was removed and why.

    Exit code 0: done, with the bound that is printed; 2: bad input; 70: an internal error.
    """
    from tutelage.functions import prune as carry_out
    from tutelage.functions import savings
    from tutelage.networks import read_network, save_network

    of_units = {
        "--format": layout != "tutelage", "--box": box, "--points": points, "--on-samples": on_samples, "--data": data,
        "--within": within, "--tolerance": tolerance, "--member": member is not None, "--seconds": seconds is not None,
        "--activation": activation, "--slope": slope is not None,
    }  # fmt: skip
    if asks_for_channels(network, out, channels, [name for name, given in of_units.items() if given]):
        prune_file(network, out, as_json)
        return
    (net,) = read_networks(read_network, (network,), activation, slope)
    if member is not None:
        if not 0 <= member < net.members:
            raise TutelageError(f"--member must be from 0 to {net.members - 1} for {network}, got {member}")
        net = net[member]
    if data is not None and (box is not None or points is not None):
        raise TutelageError("--data stands for --box and --points: give --data alone, or the other two")
    if out is not None and out.suffix.lower() not in (".safetensors", ".onnx"):
        raise TutelageError(f"--out must end in .safetensors or .onnx, got {out}")
    names = names_to_keep(network, out, layout, net.members)
    shown = points or data
    with share_shown("prune", as_json) as tell:
        pruning = carry_out(
            net,
            None if shown is None else read_points(shown),
            box if data is None else "points",
            tolerance,
            within=within,
            on_samples=on_samples,
            seconds=Deadline.of_command(seconds),
            on_progress=tell,
        )
    if out is not None:
        kept = names if names is None or len(names) == pruning.network.depth else None  # layers may have been joined
        save_network(pruning.network, out, layout, kept)  # type: ignore[arg-type]
    saved = savings(net, pruning.network)
    if as_json:
        print(json.dumps(_data(net.widths, pruning, saved, out)))
        return
    console = Console()
    if pruning.steps or pruning.seen:
        console.print(_table(pruning))
    written_out = network.stat().st_size < saved.bytes[0] / 2  # convolutions share their weights
    if written_out:
        console.print(_WRITTEN_OUT, soft_wrap=True, highlight=False, markup=False)
    for line in [*_words(net.widths, pruning, data is not None), *_costs(saved)] + ([f"written: {out}"] if out else []):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def _table(pruning: Pruning) -> Table:
    from tutelage.functions.checks import rounded_up

    rows = [*pruning.steps, *pruning.seen]
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


def _words(before: tuple[int, ...], pruning: Pruning, of_data: bool) -> list[str]:
    widths = sorted({tuple(row) for row in pruning.widths.tolist()})
    now = " or ".join("-".join(map(str, row)) or "none" for row in widths[:4]) + (" or more" if len(widths) > 4 else "")
    worst = int(pruning.deviation.value.argmax())
    hidden = "-".join(map(str, before[1:-1]))
    change = f"{hidden} before, {now} now" if hidden else "the network has none, so there are none to remove"
    lines = [
        f"hidden units: {change}",
        f"proof: {pruning.proof}{pruning.limit}",
        f"largest difference found by search: {pruning.deviation.value[worst]:.2g}",
    ]
    lines += [_decided(pruning)] if pruning.decided else []
    if pruning.samples is not None:
        lines.append(f"samples: {_on_their_box(pruning) if of_data else ''}{pruning.samples}")
    return lines


def _on_their_box(pruning: Pruning) -> str:
    """What is proved on the box of the data, in words."""
    bound = pruning.proof.bound
    if bound is None or not pruning.proof.exact:
        return ""
    return f"{'equal up to rounding' if bound.any() else 'exact'} on the box of these data; "


def _decided(pruning: Pruning) -> str:
    bounds, bending = (sum(getattr(d, name) for d in pruning.decided) for name in ("by_bounds", "bending"))
    branching, undecided = (sum(len(getattr(d, n)) for d in pruning.decided) for n in ("by_branching", "undecided"))
    return (
        f"units on one side of their kink: {bounds} by bounds, {branching} by branch and bound; "
        f"{bending} bend, {undecided} are not decided and stay"
    )


def _costs(saved: Savings) -> list[str]:
    a, b = saved.multiply_adds
    small, large = saved.bytes[1], saved.bytes[0]
    slow, fast = saved.microseconds
    return [
        f"multiply-adds: {a:,} before, {b:,} now; bytes: {large:,} before, {small:,} now",
        f"time per input, measured here: {slow:.2g} us before, {fast:.2g} us now",
    ]


def _data(before: tuple[int, ...], pruning: Pruning, saved: Savings, out: Path | None) -> dict[str, Any]:
    bound, samples = pruning.proof.bound, pruning.samples
    return {
        "hidden_before": list(before[1:-1]),
        "hidden_now": pruning.widths.tolist(),
        "steps": [asdict(s) for s in pruning.steps],
        "seen": [asdict(s) for s in pruning.seen],
        "time_limit_reached": pruning.cut_short is not None,
        "decided": [asdict(d) for d in pruning.decided],
        "proof": {
            "domain": pruning.proof.domain,
            "exact": pruning.proof.exact,
            "bound": None if bound is None else bound.tolist(),
            "over": "the box" if pruning.proof.boxed else "all inputs, times max(1, |x|)",
        },
        "deviation": {"value": pruning.deviation.value.tolist(), "at": pruning.deviation.at.tolist()},
        "samples": None
        if samples is None
        else {
            "count": samples.count,
            "same_class": None if samples.same_class is None else samples.same_class.tolist(),
            "largest": samples.largest.tolist(),
        },
        "cost": asdict(saved),
        "written": None if out is None else str(out),
    }
