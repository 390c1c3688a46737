"""`tutelage identify`: a stored network taken for a black box, its weights recovered from queries."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console

from tutelage import draws
from tutelage.cli.options import Activation, Json, Slope, read_networks
from tutelage.cli.progress import share_shown
from tutelage.errors import TutelageError
from tutelage.functions import match, same_function
from tutelage.functions.checks import Deadline, bias, in_double
from tutelage.functions.querying.account import DETERMINED, UNCHECKED, MissingUnits, missing_units
from tutelage.functions.querying.reconstruction import Reconstruction
from tutelage.functions.querying.reconstruction import identify as carry_out
from tutelage.networks import Network, outputs, read_network, save

NOT_DECIDED = 3
_GRACE = 1.0  # seconds after the time limit in which missing units are looked for


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
    (net,) = read_networks(read_network, (network,), activation, slope)
    if not 0 <= member < net.members:
        raise TutelageError(f"--member must be from 0 to {net.members - 1} for {network}, got {member}")
    if net.depth > 1 and net.activation != "relu":
        raise TutelageError(f"{network} has activation {net.activation}: only ReLU networks can be identified")
    truth = in_double(net[member], str(network))
    ask = _answers(truth, noise, gradients, single, seed)
    begin = time.perf_counter()
    with share_shown("identify", as_json) as tell:
        found = carry_out(
            ask,
            truth.inputs,
            truth.outputs,
            box=box,
            gradients=gradients,
            noise=noise,
            seed=seed,
            checkpoint=checkpoint,
            progress=tell,
            seconds=seconds,
            queries=queries,
        )
    took = time.perf_counter() - begin
    if out is not None:
        save(found.network, out)
    limit = Deadline(None if seconds is None else max(0.0, seconds - took) + _GRACE)
    missing = missing_units(truth, found.network, box, deadline=limit)
    said = _data(truth, found, missing, out) | {"seconds": took}
    if certify:
        said |= _certified(truth, found, box, seconds)
    if as_json:
        print(json.dumps(said))
    else:
        console = Console()
        for line in _words(said, found):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    if said.get("verdict") == "different":
        raise typer.Exit(1)
    if found.undecided or said.get("verdict") == "not decided":
        raise typer.Exit(NOT_DECIDED)


def _certified(
    truth: Network, found: Reconstruction, box: tuple[float, float], seconds: float | None
) -> dict[str, Any]:
    """Whether the network found is the stored one's function on the whole box, up to rounding or a hundred times the
    noise.
    """
    tolerance = 100 * found.noise or None
    both = same_function(truth, found.network, box, tolerance=tolerance, seconds=seconds)
    return {
        "verdict": both.verdict,
        "tolerance": both.tolerance,
        "difference": both.difference,
        "difference_at_most": both.at_most,
    }


def _answers(truth: Network, noise: float, gradients: bool, single: bool, seed: int):
    """The stored network as a function of points, with noise and gradients where asked for."""
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


def _data(truth: Network, found: Reconstruction, missing: MissingUnits, out: Path | None) -> dict[str, Any]:
    same = found.network.widths == truth.widths and not found.open_signs
    return {
        "hidden": list(truth.widths[1:-1]),
        "found": list(found.units),
        "always_active_added": list(found.passing),
        "unexplained": found.unexplained,
        "largest_error": found.largest,
        "weight_error": _weight_error(truth, found.network) if same else None,
        "queries": found.queries,
        "noise": found.noise,
        "single_precision": found.single_precision,
        "lines": found.lines,
        "undecided": found.undecided,
        "units": [asdict(one) for one in found.accounts],
        "units_missing": [asdict(one) for one in missing.units],
        "units_missing_cut_short": missing.cut_short,
        "notes": list(found.notes),
        "written": None if out is None else str(out),
    }


def _weight_error(truth: Network, found: Network) -> float:
    """Largest relative error of a layer's weights, up to order and positive scale of hidden units."""
    if truth.depth > 1:
        return float(match(truth, found).residual.max())
    true, other = (torch.cat([n.weights[0][0], bias(n, 0)]) for n in (truth, found))
    return float((true - other).norm() / (true.norm() or 1.0))


def _words(said: dict[str, Any], found: Reconstruction) -> list[str]:
    error = said["weight_error"]
    lines = [
        f"hidden units: {'-'.join(map(str, said['hidden'])) or 'none'} in the network, "
        f"{'-'.join(map(str, said['found'])) or 'none'} found",
        f"unexplained share of the function: {found.unexplained:.2g}",
        f"largest error on fresh points: {found.largest:.2g}",
        f"queries: {found.queries:,} along {found.lines} lines, in {said['seconds']:.1f} seconds",
    ]
    if found.single_precision:
        lines.append(f"values are in single precision: errors up to {found.noise:.2g} were allowed for")
    if "verdict" in said:
        most = said["difference_at_most"]
        bound = "no bound is proved" if most is None else f"provably at most {most:.2g}"
        lines.append(
            f"compared on the whole box, up to {said['tolerance']:.2g}: {said['verdict']} "
            f"(largest difference found {said['difference']:.2g}, {bound})"
        )
    if error is not None:
        lines.append(f"largest relative error of a layer's weights, up to order and positive scale: {error:.2g}")
    lines += [f"not found: {note}" for note in found.notes]
    lines += [
        f"hidden layer {one.layer}, unit {one.unit} of the network found: {one.status}"
        + (f" ({one.open_weights} weights)" if one.open_weights else "")
        for one in found.accounts
        if one.status not in (DETERMINED, UNCHECKED)
    ]
    lines += [
        f"hidden layer {one['layer']}, unit {one['unit']} of the stored network is not among them: {one['status']}"
        for one in said["units_missing"]
    ]
    lines += [said["units_missing_cut_short"]] if said["units_missing_cut_short"] else []
    return lines + ([f"written: {said['written']}"] if said["written"] else [])
