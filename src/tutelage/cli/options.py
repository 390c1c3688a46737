"""Options that several commands share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console

from tutelage.errors import TutelageError
from tutelage.printing import printable

N = TypeVar("N")
FILES, QUESTION, DOMAIN, LIMITS, OUTPUT = "Files", "Question", "Domain", "Limits", "Output"
"""Panels of the help of commands with many options, in the order in which they are shown."""
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=OUTPUT)]
Device = Annotated[str, typer.Option(help="Device: auto, cpu or cuda.", rich_help_panel=LIMITS)]
Results = Annotated[Path, typer.Option("--results", help="Folder with the results of experiments.")]
Activation = Annotated[
    str | None,
    typer.Option(
        help="Activation of networks whose file does not say it (a torch state dict): relu, leaky, abs, linear, tanh "
        "or another one; default: relu.",
        rich_help_panel=FILES,
    ),
]
Slope = Annotated[
    float | None, typer.Option(help="Slope of the leaky units of such files; default: 0.01.", rich_help_panel=FILES)
]
Box = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="LOW HIGH",
        help="Lower and upper bound for every input; default: unbounded, or the range of the data given.",
        rich_help_panel=DOMAIN,
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(help="Time limit in seconds; what is known by then is printed.", rich_help_panel=LIMITS),
]
Logits = Annotated[
    bool,
    typer.Option(
        "--logits",
        help="Compare what goes into a Softmax or Sigmoid at the end; --top-1 does so.",
        rich_help_panel=FILES,
    ),
]
Quantised = Annotated[
    bool,
    typer.Option(
        "--quantised-activations",
        help="Read QuantizeLinear between layers: values rounded to steps, bounded by half a step and saturation.",
        rich_help_panel=FILES,
    ),
]
Layout = Annotated[
    str,
    typer.Option(
        "--format",
        help="Layout of a .safetensors file: tutelage, or torch for a state dict, with the names of the layers of the "
        "network that was read where it came from one.",
    ),
]
With = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="FILE.py", help="Python file with studies, measures, theorems or recipes to load; repeatable."
    ),
]


def load_plugins(plugins: list[Path] | None) -> None:
    """Load the Python files that the user named with --with."""
    if plugins:
        from tutelage.plugins import load_plugin

        for plugin in plugins:
            load_plugin(plugin)


def read_networks(
    read: Callable[[Path, str | None, float | None], N],
    paths: Sequence[Path],
    activation: str | None,
    slope: float | None,
) -> list[N]:
    """Networks of files, in their order.

    The activation and the slope given are those of files that do not say theirs. Where all files say it, they are
    compared with it, and another one is an error, so that no option is ignored. Where none is given, a line on stderr
    names each file that is read as relu without saying so.
    """
    from tutelage.networks import Network
    from tutelage.networks.importing import tells_activation

    telling = [tells_activation(path) for path in paths]
    networks, silent = [], []
    for path, tells in zip(paths, telling, strict=True):
        given = "relu" if activation is None and not tells else activation
        network = read(path, None, None) if tells and not all(telling) else read(path, given, slope)
        networks.append(network)
        if not tells and isinstance(network, Network) and network.depth > 1:
            silent.append(path)
    if activation is None:
        console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
        for path in dict.fromkeys(silent):
            name = printable(str(path))
            console.print(f"{name} does not say its activation: read as relu (change with --activation)")
    return networks


def names_to_keep(path: Path, out: Path | None, layout: str, members: int) -> Sequence[str] | None:
    """Names of the layers for a state dict that is written, those of the file that the network was read from.

    What the layout cannot hold is an error before any work is done.
    """
    from tutelage.networks.exporting import check_layout
    from tutelage.networks.importing import torch_names

    if out is None:
        return None
    check_layout(out, layout)
    if layout != "torch":
        return None
    if members != 1:
        raise TutelageError(f"a torch state dict holds one member, {path} has {members}: give a file with one")
    return torch_names(path)
