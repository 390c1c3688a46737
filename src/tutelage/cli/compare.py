"""`tutelage compare`: whether two networks are the same function, and where they differ."""

from __future__ import annotations

import io
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tutelage.cli.options import (
    DOMAIN,
    FILES,
    OUTPUT,
    QUESTION,
    Activation,
    Box,
    Device,
    Json,
    Logits,
    Quantised,
    Seconds,
    Slope,
    read_networks,
)
from tutelage.cli.progress import share_shown
from tutelage.cli.questions import Asked, ask, from_property, outputs_at_witness
from tutelage.cli.verify import Proof, check_proof_option, written
from tutelage.cli.vnncomp import answer
from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.files import write_atomically

if TYPE_CHECKING:
    from torch import Tensor

    from tutelage.functions import Answer, Domain
    from tutelage.networks import Network, SparseNetwork

    AnyNetwork = Network | SparseNetwork

SAME, DIFFERENT, NOT_DECIDED = 0, 1, 3
_DOMAIN = 1 << 24  # bytes of a domain file

_FILE = "Network: saved by tutelage, a torch state dict as safetensors, an ONNX or .nnet file."


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help=_FILE)],
    b: Annotated[Path, typer.Argument(metavar="B", help="Network to compare it with, in any of these formats.")],
    activation: Activation = None,
    slope: Slope = None,
    member_a: Annotated[
        int | None, typer.Option(help="Member of A, counted from 0; needed where A has several.", rich_help_panel=FILES)
    ] = None,
    member_b: Annotated[
        int | None, typer.Option(help="Member of B, counted from 0; needed where B has several.", rich_help_panel=FILES)
    ] = None,
    logits: Logits = False,
    quantised: Quantised = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Differences up to this value count as equal; default: the rounding error of the weights.",
            rich_help_panel=QUESTION,
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="E[,E...]",
            help="Ask whether outputs differ by at most this on the domain; one number, or one per output.",
            rich_help_panel=QUESTION,
        ),
    ] = None,
    bound: Annotated[
        bool,
        typer.Option(
            "--bound", help="Find how far apart both are on the domain, per output.", rich_help_panel=QUESTION
        ),
    ] = False,
    output: Annotated[
        int | None,
        typer.Option(help="Ask --epsilon or --bound about this output, counted from 0.", rich_help_panel=QUESTION),
    ] = None,
    top_1: Annotated[
        bool, typer.Option("--top-1", help="Ask whether both have the same top class.", rich_help_panel=QUESTION)
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(help="Ask --top-1 only where the first network leads by this or more.", rich_help_panel=QUESTION),
    ] = None,
    box: Box = None,
    on: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the domain: YAML with normals and offsets of a polytope, or low and high of a box; or "
            "VNN-LIB (.vnnlib, .vnnlib.gz) with the box, and the epsilon for two networks.",
            rich_help_panel=DOMAIN,
        ),
    ] = None,
    around: Annotated[
        Path | None,
        typer.Option(metavar="POINT.safetensors", help="Ask on boxes around this input.", rich_help_panel=DOMAIN),
    ] = None,
    radius: Annotated[
        str | None,
        typer.Option(
            metavar="R[,R...]", help="Half the side of the boxes of --around; several: a curve.", rich_help_panel=DOMAIN
        ),
    ] = None,
    seconds: Seconds = None,
    device: Device = "auto",
    picture: Annotated[
        Path | None,
        typer.Option(
            "--slice",
            metavar="FILE.png",
            help="Draw both networks on a plane through the witness.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="Write an HTML page with the verdict and the slice.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    proof: Proof = None,
    vnncomp: Annotated[
        bool,
        typer.Option(
            "--vnncomp",
            help="Answer the VNN-LIB file of --on with sat, unsat, unknown or timeout.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Decide whether two networks are the same function, and show why or where they differ.

    In a pipeline that exports a network, `tutelage check` asks one question of it and writes a certificate.

    With --epsilon, --top-1 or --bound: decide whether they stay close, or agree, on a bounded domain. Exit code 0: the
    same, or it holds; 1: different, or violated; 3: not decided; 2: bad input; 70: an internal error.
    """
    from tutelage.devices import pick_device
    from tutelage.functions import same_function
    from tutelage.functions.report import comparison_page
    from tutelage.networks import Network, SparseNetwork, read_any_network

    pick_device(device)
    check_proof_option(proof, a, b)
    read = partial(read_any_network, logits=logits or top_1, quantised_activations=quantised)
    networks = read_networks(read, (a, b), activation, slope)
    first = _member(networks[0], a, member_a, "--member-a")
    second = _member(networks[1], b, member_b, "--member-b")
    sparse = isinstance(first, SparseNetwork) or isinstance(second, SparseNetwork)
    if picture is not None and sparse:
        raise TutelageError("networks with sparse layers cannot be drawn: leave --slice out")
    vnnlib = on is not None and on.name.endswith((".vnnlib", ".vnnlib.gz"))
    if vnncomp:
        if not vnnlib or on is None or as_json or epsilon is not None or box is not None or bound or top_1 or proof:
            raise TutelageError("--vnncomp answers the VNN-LIB file of --on, and takes no other question or domain")
        answer(on, (a, b), (first, second), Deadline.of_command(seconds), device)
    domain = _domain(first.inputs, box, None if vnnlib else on)
    if on is not None and vnnlib:
        domain, epsilon = from_property(on, domain, epsilon, first)
    limit = Deadline.of_command(seconds)
    asked = Asked(epsilon, output, top_1, margin, around, radius, bound, limit, device, proof, (a, b))
    if asked.anything:
        without_question = {"--tolerance": tolerance, "--slice": picture, "--report": page}
        asked.refuse([option for option, given in without_question.items() if given is not None])
        ask(first, second, asked, domain, as_json)
    asked.check_unasked()
    with share_shown("compare", as_json) as tell:
        comparison = same_function(
            first,
            second,
            domain,
            tolerance=tolerance,
            seconds=limit,
            on_progress=tell,
        )
    dense = (first, second) if isinstance(first, Network) and isinstance(second, Network) else None
    if picture is not None and dense is not None:
        _draw(picture, *dense, domain, comparison.witness)
    if page is not None:
        drawn = _slice("png", *dense, domain, comparison.witness) if dense and first.inputs > 1 else None
        words, data = _words(comparison), _data(comparison)
        write_atomically(page, comparison_page((a.name, b.name), words, data, drawn))
    lines, data = written(proof, comparison, (a, b), domain, limit)
    if as_json:
        print(json.dumps(_data(comparison, picture, page) | data))
    else:
        console = Console()
        for line in _words(comparison, picture, page) + lines:
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    raise typer.Exit(SAME if comparison.same else DIFFERENT if comparison.verdict == "different" else NOT_DECIDED)


def _draw(path: Path, first: Network, second: Network, domain: Domain | None, witness: Tensor | None) -> None:
    kind = path.suffix.removeprefix(".")
    if kind not in ("png", "pdf", "svg"):
        raise TutelageError(f"--slice must end in .png, .pdf or .svg, got {path.name}")
    write_atomically(path, _slice(kind, first, second, domain, witness))


def _slice(kind: str, first: Network, second: Network, domain: Domain | None, witness: Tensor | None) -> bytes:
    """The picture as the bytes of a file."""
    from tutelage.functions.drawing import draw_comparison
    from tutelage.studies.figures import house_style

    buffer = io.BytesIO()
    with house_style():
        draw_comparison(first, second, domain, witness).savefig(buffer, format=kind)
    return buffer.getvalue()


def _member(network: AnyNetwork, path: Path, member: int | None, option: str) -> AnyNetwork:
    from tutelage.networks import SparseNetwork

    if isinstance(network, SparseNetwork):
        if member:
            raise TutelageError(f"{path} has one network: leave {option} out, got {member}")
        return network
    if member is None:
        if network.members > 1:
            raise TutelageError(
                f"{path} has {network.members} networks: choose one with {option}, from 0 to {network.members - 1}"
            )
        return network
    if not 0 <= member < network.members:
        raise TutelageError(f"{option} must be from 0 to {network.members - 1} for {path}, got {member}")
    return network[member]


def _domain(inputs: int, ends: tuple[float, float] | None, path: Path | None) -> Domain | None:
    from tutelage.functions import box, polytope

    if ends is not None and path is not None:
        raise TutelageError("--box and --on each give a domain: choose one of them")
    if ends is not None:
        return box(*ends, dimension=inputs, flat=True)
    if path is None:
        return None
    from tutelage.lab.yaml_file import read_table

    try:
        given = read_table(path, "normals and offsets, or low and high", largest=_DOMAIN)
        if set(given) == {"normals", "offsets"}:
            return polytope(*(_array(given[name]) for name in ("normals", "offsets")))
        if set(given) == {"low", "high"}:
            return box(_array(given["low"]), _array(given["high"]), dimension=inputs, flat=True)
    except (TypeError, ValueError) as error:
        if isinstance(error, TutelageError):
            raise
        raise TutelageError(f"{path} must have arrays of numbers ({error})") from None
    raise TutelageError(
        f"{path} must have normals and offsets, or low and high, got {', '.join(sorted(map(str, given)))}"
    )


def _array(numbers: Any) -> Tensor:
    import torch

    return torch.tensor(numbers, dtype=torch.float64)


def _words(comparison: Answer, picture: Path | None = None, page: Path | None = None) -> list[str]:
    from tutelage.functions.checks import rounded_up

    over = "" if comparison.bounded else " times max(1, |x|)"
    lines = [f"{comparison.verdict} on {comparison.domain}", f"why: {comparison.reason}"]
    if comparison.witness is not None:
        shown = ", ".join(f"{v:.6g}" for v in comparison.witness[:8].tolist()) + (
            " ..." if len(comparison.witness) > 8 else ""
        )
        kind = "largest difference, exactly" if comparison.exact else "largest difference found"
        lines += [f"witness: {shown}", f"{kind}: {comparison.difference:.6g}{over}"]
    if comparison.bound is not None and not comparison.exact:
        lines.append(f"bound {rounded_up(comparison.bound, 3)}{over} proven for all inputs of the domain")
    lines.append(f"differences up to {comparison.tolerance:.3g}{over} count as equal")
    lines += [f"drawn: {picture}"] if picture else []
    return lines + ([f"written: {page}"] if page else [])


def _data(comparison: Answer, picture: Path | None = None, page: Path | None = None) -> dict[str, Any]:
    relation, witness = comparison.relation, comparison.witness
    return {
        "verdict": comparison.verdict,
        "domain": comparison.domain,
        "measure": "|a - b|" if comparison.bounded else "|a - b| / max(1, |x|)",
        "max_difference": comparison.difference,
        "exact": comparison.exact,
        "at_most": comparison.bound,
        "tolerance": comparison.tolerance,
        "witness": None if witness is None else witness.tolist(),
        "outputs_at_witness": outputs_at_witness(comparison),
        "related": None
        if relation is None
        else {
            "permutations": [p[0].tolist() for p in relation.permutations],
            "scales": [s[0].tolist() for s in relation.scales],
            "residual": relation.residual[0].tolist(),
        },
        "redundancies": {
            name: [{"layer": r.layer, "unit": r.unit, "kind": r.kind, "other": r.other} for r in each]
            for name, each in zip(("a", "b"), comparison.redundancies, strict=True)
        },
        "reason": comparison.reason,
        "slice": None if picture is None else str(picture),
        "report": None if page is None else str(page),
    }
