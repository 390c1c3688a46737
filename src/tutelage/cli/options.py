"""Options that several commands share."""

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
