"""Options that several commands share."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Device = Annotated[str, typer.Option(help="Device: auto, cpu or cuda.")]
Results = Annotated[Path, typer.Option("--results", help="Folder with the results of experiments.")]
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


def units_of_files(
    paths: Iterable[Path], activation: str | None, slope: float | None
) -> dict[Path, tuple[str | None, float | None]]:
    """Activation and slope to read each file with: as given for those that do not say, or for all where all do.

    A file that says something else than it is read with is an error, so that no option is ignored.
    """
    from tutelage.networks.importing import tells_activation

    telling = {path: tells_activation(path) for path in paths}
    return {
        path: (None, None) if tells and not all(telling.values()) else (activation, slope)
        for path, tells in telling.items()
    }
