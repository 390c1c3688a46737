"""`tutelage cite`: BibTeX entries of the library and of the papers that studies reproduce."""

import json
from typing import Annotated

import typer

from tutelage.cli.options import Json, With, load_plugins
from tutelage.papers import PAPERS, library_bibtex


def cite(
    names: Annotated[list[str] | None, typer.Argument(metavar="STUDY", help="Names of studies; default: all.")] = None,
    plugins: With = None,
    as_json: Json = False,
) -> None:
    """Print BibTeX entries of the library and of the papers that the studies reproduce."""
    keys = list(PAPERS)
    if names:
        from tutelage.studies.study import find  # importing all studies takes a second

        load_plugins(plugins)
        keys = list(dict.fromkeys(find(name).paper for name in names))
    entries = {"tutelage": library_bibtex()} | {key: PAPERS[key].bibtex() for key in keys if key in PAPERS}
    print(json.dumps(entries) if as_json else "\n\n".join(entries.values()))
    for key in keys:
        if key not in PAPERS:
            typer.echo(f"{key}: the paper of a plugin, which has no entry here", err=True)
