"""`tutelage prune` of convolutional ONNX files: whole channels go, and the convolutions stay."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.printing import printable

if TYPE_CHECKING:
    from tutelage.functions.pruning.channel_files import FileAgreement
    from tutelage.functions.pruning.channels import ChannelPruning

_PROOF = "equal: no output differs for any input, since only zeros are left out of sums"
_LISTED = 12  # channels of a row of the table


def asks_for_channels(network: Path, out: Path | None, channels: bool | None, of_units: list[str]) -> bool:
    """Whether channels are to be removed; what cannot be answered together is an error.

    of_units: the options that were given and that only units have.
    """
    if channels is None:
        written = out is None or out.suffix.lower() == ".onnx"
        return not of_units and written and _has_convolutions(network)
    if channels:
        if of_units:
            raise TutelageError(f"--channels cannot be given with {', '.join(of_units)}: leave them out, or --channels")
        if network.suffix.lower() != ".onnx":
            raise TutelageError(
                f"--channels needs an .onnx file, got {network}: for a torch module, use prune_channels in Python"
            )
        if out is not None and out.suffix.lower() != ".onnx":
            raise TutelageError(f"--out must end in .onnx with --channels, got {out}")
    return bool(channels)


def _has_convolutions(path: Path) -> bool:
    from tutelage.functions.pruning.channel_files import has_convolutions

    return has_convolutions(path)


def prune_file(network: Path, out: Path | None, as_json: bool) -> None:
    """Remove channels of a file, run both, write the smaller one, and print what was removed."""
    from tutelage.functions import prune_channels
    from tutelage.functions.pruning.channel_files import rerun

    pruning = prune_channels(network)
    checked = rerun(network, pruning.module)
    small = pruning.module.SerializeToString()
    if out is not None:
        write_atomically(out, small)
    sizes = sum(path.stat().st_size for path in _files(network)), len(small)
    if as_json:
        print(json.dumps(_data(pruning, checked, sizes, out)))
        return
    console = Console()
    if pruning.removed:
        console.print(_table(pruning))
    gone = sum(map(len, pruning.removed.values()))
    for line in (
        f"channels removed: {gone}" if gone else "channels removed: none, since each hands on something that is used",
        f"proof: {_PROOF}",
        f"checked in {checked.program}: the largest difference on {checked.inputs} inputs from -1 to 1 is "
        f"{checked.largest:.2g}, by the rounding of sums; the largest output is {checked.size:.3g}",
        f"weights: {pruning.weights[0]:,} before, {pruning.weights[1]:,} now; bytes: {sizes[0]:,} before, "
        f"{sizes[1]:,} now",
        *([f"written: {out}"] if out else []),
    ):
        console.print(line, soft_wrap=True, highlight=False, markup=False)


def _files(network: Path) -> tuple[Path, ...]:
    from tutelage.networks.onnx_model import read_model

    tensors = [entry for t in read_model(network).graph.initializer for entry in t.external_data]
    beside = {network.parent / entry.value for entry in tensors if entry.key == "location"}
    return (network, *sorted(beside))


def _table(pruning: ChannelPruning) -> Table:
    table = Table(title="Channels that hand on 0, or that nothing listens to", title_justify="left")
    table.add_column("layer")
    table.add_column("removed", justify="right")
    table.add_column("channels, counted from 0")
    for layer, gone in pruning.removed.items():
        more = f" and {len(gone) - _LISTED} more" if len(gone) > _LISTED else ""
        table.add_row(Text(printable(layer)), str(len(gone)), ", ".join(map(str, gone[:_LISTED])) + more)
    return table


def _data(pruning: ChannelPruning, checked: FileAgreement, sizes: tuple[int, int], out: Path | None) -> dict[str, Any]:
    return {
        "channels": {layer: list(gone) for layer, gone in pruning.removed.items()},
        "weights": list(pruning.weights),
        "bytes": list(sizes),
        "proof": {"domain": "all inputs", "exact": True, "reason": _PROOF},
        "checked": asdict(checked),
        "written": None if out is None else str(out),
    }
