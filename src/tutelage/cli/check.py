"""`tutelage check`: whether an exported network still is the original, for continuous integration."""

from __future__ import annotations

import hashlib
import json
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tutelage import __version__
from tutelage.cli.options import (
    DOMAIN,
    OUTPUT,
    QUESTION,
    Activation,
    Box,
    Json,
    Logits,
    Quantised,
    Seconds,
    Slope,
    read_networks,
)
from tutelage.cli.points import read_points
from tutelage.cli.progress import closing_shown
from tutelage.cli.verify import Proof, check_proof_option, written
from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.files import write_atomically

if TYPE_CHECKING:
    from torch import Tensor

    from tutelage.functions import ExportCheck
    from tutelage.networks import Network, SparseNetwork

PASSES, FAILS, NOT_DECIDED = 0, 1, 3
_FILE = "a .safetensors, .onnx or .nnet file."


def check(
    original: Annotated[Path, typer.Argument(metavar="ORIGINAL", help=f"Original network: {_FILE}")],
    exported: Annotated[Path, typer.Argument(metavar="EXPORTED", help=f"Network made from it: {_FILE}")],
    activation: Activation = None,
    slope: Slope = None,
    logits: Logits = False,
    quantised: Quantised = False,
    tolerance: Annotated[
        float, typer.Option(help="Largest difference of an output that is allowed.", rich_help_panel=QUESTION)
    ] = 1e-4,
    box: Box = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="POINTS.safetensors", help=r"Inputs \[N, d] to compare both on.", rich_help_panel=DOMAIN),
    ] = None,
    seconds: Seconds = 60.0,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Certificate with hashes of both files: .json or .html.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    proof: Proof = None,
    as_json: Json = False,
) -> None:
    """Check an exported, quantised, fused or pruned network against the original, with a certificate for a pipeline.

    Whether two networks of any origin are the same function, and where they differ, is the question of `tutelage
    compare`.

    Exit code 0: no output differs by more than the tolerance anywhere in the box, proved, or in the data; 1: one does,
    at the input that is printed; 3: not decided; 2: bad input; 70: an internal error.
    """
    from tutelage.functions import check_export
    from tutelage.functions.comparing.exports import export_domain
    from tutelage.functions.report import check_page
    from tutelage.networks import read_any_network

    if report is not None and report.suffix not in (".json", ".html"):
        raise TutelageError(f"--report must end in .json or .html, got {report.name}")
    check_proof_option(proof, original, exported)
    limit = Deadline.of_command(seconds)
    read = partial(read_any_network, logits=logits, quantised_activations=quantised)
    first, second = read_networks(read, (original, exported), activation, slope)
    points = None if data is None else read_points(data)
    with closing_shown(as_json) as tell:
        result = check_export(
            first, second, box, points, tolerance=tolerance, seconds=limit, keep=proof is not None, on_progress=tell
        )
    where = export_domain(first.inputs, box, points)
    lines, data_of_proof = written(
        proof, result.closeness, (original, exported), where, limit, epsilon=[tolerance] * first.outputs
    )
    record = _data(result, {"original": (original, first), "exported": (exported, second)})
    if report is not None:
        page = json.dumps(record, indent=1) if report.suffix == ".json" else check_page(record, _words(result))
        write_atomically(report, page)
    if as_json:
        print(json.dumps(record | data_of_proof))
    else:
        console = Console()
        for line in _words(result) + lines:
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    codes = {"passes": PASSES, "fails": FAILS}
    raise typer.Exit(codes.get(result.verdict, NOT_DECIDED))


def _words(result: ExportCheck) -> list[str]:
    from tutelage.functions.checks import rounded_up

    close, most = result.closeness, result.closeness.at_most.max().item()
    bound = f"at most {rounded_up(most, 4)}"
    lines = [
        f"{result.verdict}: tolerance {result.tolerance:g}, on {close.domain}",
        f"every output differs by {bound}, whatever the input in the box: proved, rounding included"
        if math.isfinite(most)
        else "no bound on the difference is proved",
        f"largest difference found in the box: {close.largest.max().item():.4g}",
    ]
    if close.untried:
        lines.append(f"not tried in the search, for want of time: {', '.join(close.untried)}")
    if result.outside and close.witness is not None and close.largest.max() > result.tolerance:
        lines.append(f"worst input found in the box: {_shown(close.witness)}")
    if result.worst_input is not None:
        lines.append(f"worst input found{_row(result)}: {_shown(result.worst_input)}")
    if result.parting_layer is not None:
        lines.append(f"layer {result.parting_layer} is the first whose values differ by more than the tolerance there")
    if result.on_data is not None:
        lines.append(f"largest difference on the data: {result.on_data.max().item():.4g}")
    if result.left_out:
        lines.append(f"data: the last {result.left_out:,} rows were not compared, for want of time")
    if result.agreement is not None:
        lines.append(f"same top class on {100 * result.agreement:.4g} % of the data")
    if result.same_class is not None:
        words = {"holds": "proved everywhere in the box", "violated": "does not hold everywhere in the box"}
        lines.append(f"same top class: {words.get(result.same_class.verdict, 'not decided for the whole box')}")
    return lines


def _shown(point: Tensor) -> str:
    return ", ".join(f"{v:.6g}" for v in point[:8].tolist()) + (" ..." if len(point) > 8 else "")


def _units(network: Network | SparseNetwork) -> str:
    """The activation that a file was read with, which the arrays of a torch model do not tell."""
    from tutelage.networks import SparseNetwork

    slope = network.left if isinstance(network, SparseNetwork) else network.slope
    return f"leaky, slope {slope:g}" if network.activation == "leaky" else network.activation


def _row(result: ExportCheck) -> str:
    """Which row of the data the worst input is, in words; nothing where it is none of them."""
    if result.worst_row is None:
        return ""
    return f", row {result.worst_row} of the data (from 0), {'outside' if result.outside else 'inside'} the box"


def _file(path: Path, network: Network | SparseNetwork) -> dict[str, Any]:
    """Name, digest and units of a file; with the digests of the files beside it that hold its weights, if any."""
    from tutelage.networks.importing import files_of

    digests = {
        p.relative_to(path.parent).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files_of(path)
    }
    about = {"name": path.name, "sha256": digests.pop(path.name), "units": _units(network)}
    return {**about, "external": digests} if digests else about


def _data(result: ExportCheck, read: dict[str, tuple[Path, Network | SparseNetwork]]) -> dict[str, Any]:
    close, same = result.closeness, result.same_class
    files = {name: _file(path, network) for name, (path, network) in read.items()}
    return {
        "verdict": result.verdict,
        "tolerance": result.tolerance,
        "domain": close.domain,
        "at_most_per_output": [m if math.isfinite(m) else None for m in close.at_most.tolist()],
        "max_difference_per_output": close.largest.tolist(),
        "worst_input": None if result.worst_input is None else result.worst_input.tolist(),
        "worst_row": result.worst_row,
        "worst_input_outside": result.outside,
        "worst_input_in_box": None if close.witness is None else close.witness.tolist(),
        "not_tried": list(close.untried),
        "parting_layer": result.parting_layer,
        "data": None
        if result.on_data is None
        else {
            "max_difference_per_output": result.on_data.tolist(),
            "same_top_class": result.agreement,
            "rows_not_compared": result.left_out,
        },
        "top_class": None
        if same is None
        else {"verdict": same.verdict, "witness": None if same.witness is None else same.witness.tolist()},
        "files": files,
        "version": __version__,
    }
