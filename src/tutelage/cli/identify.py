"""`tutelage identify`: a stored network taken for a black box, its weights recovered from queries."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tutelage.cli.options import Activation, Json, Slope, read_networks
from tutelage.cli.progress import share_shown
from tutelage.deadline import Deadline
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    import torch

    from tutelage.functions.querying.account import MissingUnits
    from tutelage.functions.querying.reconstruction import Reconstruction
    from tutelage.networks import Network

NOT_DECIDED = 3
_GRACE = 0.3  # seconds after the time limit in which missing units are looked for


def identify(
    network: Annotated[Path, typer.Argument(metavar="NET", help="Network: a .safetensors, .onnx or .nnet file.")],
    box: Annotated[
        tuple[float, float], typer.Option(metavar="LOW HIGH", help="Lower and upper bound for every input.")
    ] = (-4.0, 4.0),
    noise: Annotated[float, typer.Option(help="Largest error of an answer; errors are uniform.")] = 0.0,
    gradients: Annotated[bool, typer.Option("--gradients", help="Also answer with gradients.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to save the reconstructed network to.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="File with the queries so far, to continue from.")] = None,
    member: Annotated[int, typer.Option(help="Member to reconstruct, counted from 0.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the lines that are searched.")] = 0,
    searches: Annotated[
        int, typer.Option(help="Largest number of searches, each with the next seed, where values stay unexplained.")
    ] = 1,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Time limit in seconds; the best network so far is then the result. --certify takes as long again."
        ),
    ] = None,
    queries: Annotated[
        int | None, typer.Option(help="Largest number of values to ask for, at least 10,000; default: no limit.")
    ] = None,
    single: Annotated[bool, typer.Option("--single", help="Answer in single precision.")] = False,
    certify: Annotated[
        bool, typer.Option("--certify", help="Compare the network found with the stored one on the whole box.")
    ] = False,
    activation: Activation = None,
    slope: Slope = None,
    as_json: Json = False,
) -> None:
    """Reconstruct the weights of a network from its values alone, and report what could not be found.

    Exit code 0: the search ended; 1: --certify found a difference; 3: not decided within a limit; 2: bad input.
    """
    from tutelage.functions.checks import in_double
    from tutelage.functions.querying.account import missing_units
    from tutelage.functions.querying.reconstruction import identify as carry_out
    from tutelage.networks import read_network, save

    (net,) = read_networks(read_network, (network,), activation, slope)
    if not 0 <= member < net.members:
        raise TutelageError(f"--member must be from 0 to {net.members - 1} for {network}, got {member}")
    if net.depth > 1 and net.activation != "relu":
        raise TutelageError(f"{network} has activation {net.activation}: only ReLU networks can be identified")
    truth = in_double(net[member], str(network))
    ask = _answers(truth, noise, gradients, single, seed)
    begin, limit = time.perf_counter(), Deadline.of_command(seconds)
    with share_shown("identify", as_json) as tell:
        reconstruction = carry_out(
            ask,
            truth.inputs,
            truth.outputs,
            box=box,
            gradients=gradients,
            noise=noise,
            seed=seed,
            searches=searches,
            checkpoint=checkpoint,
            progress=tell,
            seconds=limit,
            queries=queries,
        )
    took = time.perf_counter() - begin
    if out is not None:
        save(reconstruction.network, out)
    missing = missing_units(truth, reconstruction.network, box, deadline=limit.at_least(_GRACE))
    report = _data(truth, reconstruction, missing, out) | {"seconds": took}
    if certify:
        report |= _certified(truth, reconstruction, box, seconds)
    if as_json:
        print(json.dumps(report))
    else:
        console = Console()
        for line in _words(report, reconstruction):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    if report.get("verdict") == "different":
        raise typer.Exit(1)
    if reconstruction.undecided or report.get("verdict") == "not decided":
        raise typer.Exit(NOT_DECIDED)


def _certified(
    truth: Network, reconstruction: Reconstruction, box: tuple[float, float], seconds: float | None
) -> dict[str, Any]:
    """Whether the network found is the stored one's function on the whole box, up to rounding or a hundred times the
    noise.
    """
    from tutelage.functions import same_function

    tolerance = 100 * reconstruction.noise or None
    both = same_function(truth, reconstruction.network, box, tolerance=tolerance, seconds=seconds)
    return {
        "verdict": both.verdict,
        "tolerance": both.tolerance,
        "difference": both.difference,
        "difference_at_most": both.bound,
    }


def _answers(truth: Network, noise: float, gradients: bool, single: bool, seed: int):
    """The stored network as a function of points, with noise and gradients where asked for."""
    import torch

    from tutelage import draws
    from tutelage.networks import outputs

    draw = torch.Generator().manual_seed(*draws.as_seeds([seed]))

    def values(x: torch.Tensor) -> torch.Tensor:
        exact = outputs(truth, x)[0].float().double() if single else outputs(truth, x)[0]
        return (
            exact + noise * (2 * torch.rand(exact.shape, generator=draw, dtype=torch.float64) - 1) if noise else exact
        )

    def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = x.clone().requires_grad_()
        exact = outputs(truth, x)[0]
        rows = [torch.autograd.grad(exact[:, c].sum(), x, retain_graph=True)[0] for c in range(truth.outputs)]
        return values(x.detach()), torch.stack(rows, dim=1)

    return both if gradients else values


def _data(truth: Network, reconstruction: Reconstruction, missing: MissingUnits, out: Path | None) -> dict[str, Any]:
    same = reconstruction.network.widths == truth.widths and not reconstruction.open_signs
    return {
        "hidden": list(truth.widths[1:-1]),
        "found": list(reconstruction.units),
        "always_active_added": list(reconstruction.passing),
        "unexplained": reconstruction.unexplained,
        "largest_error": reconstruction.largest,
        "weight_error": _weight_error(truth, reconstruction.network) if same else None,
        "queries": reconstruction.queries,
        "noise": reconstruction.noise,
        "single_precision": reconstruction.single_precision,
        "lines": reconstruction.lines,
        "undecided": reconstruction.undecided,
        "units": [asdict(unit) for unit in reconstruction.accounts],
        "units_missing": [asdict(unit) for unit in missing.units],
        "units_missing_cut_short": missing.cut_short,
        "notes": list(reconstruction.notes),
        "written": None if out is None else str(out),
    }


def _weight_error(truth: Network, network: Network) -> float:
    """Largest relative error of a layer's weights, up to order and positive scale of hidden units."""
    import torch

    from tutelage.functions import match
    from tutelage.functions.checks import bias

    if truth.depth > 1:
        return float(match(truth, network).residual.max())
    true, other = (torch.cat([n.weights[0][0], bias(n, 0)]) for n in (truth, network))
    return float((true - other).norm() / (true.norm() or 1.0))


def _words(report: dict[str, Any], reconstruction: Reconstruction) -> list[str]:
    from tutelage.functions.querying.account import DETERMINED, UNCHECKED

    error = report["weight_error"]
    lines = [
        f"hidden units: {'-'.join(map(str, report['hidden'])) or 'none'} in the network, "
        f"{'-'.join(map(str, report['found'])) or 'none'} found",
        f"unexplained share of the function: {reconstruction.unexplained:.2g}",
        f"largest error on fresh points: {reconstruction.largest:.2g}",
        f"queries: {reconstruction.queries:,} along {reconstruction.lines} lines, in {report['seconds']:.1f} seconds",
    ]
    if reconstruction.single_precision:
        lines.append(f"values are in single precision: errors up to {reconstruction.noise:.2g} were allowed for")
    if "verdict" in report:
        most = report["difference_at_most"]
        bound = "no bound is proved" if most is None else f"provably at most {most:.2g}"
        lines.append(
            f"compared on the whole box, up to {report['tolerance']:.2g}: {report['verdict']} "
            f"(largest difference found {report['difference']:.2g}, {bound})"
        )
    if error is not None:
        lines.append(f"largest relative error of a layer's weights, up to order and positive scale: {error:.2g}")
    lines += [f"not found: {note}" for note in reconstruction.notes]
    lines += [
        f"hidden layer {unit.layer}, unit {unit.unit} of the network found: {unit.status}"
        + (f" ({unit.open_weights} weights)" if unit.open_weights else "")
        for unit in reconstruction.accounts
        if unit.status not in (DETERMINED, UNCHECKED)
    ]
    lines += [
        f"hidden layer {unit['layer']}, unit {unit['unit']} of the stored network is not among them: {unit['status']}"
        for unit in report["units_missing"]
    ]
    lines += [report["units_missing_cut_short"]] if report["units_missing_cut_short"] else []
    return lines + ([f"written: {report['written']}"] if report["written"] else [])
