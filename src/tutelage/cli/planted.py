"""`tutelage planted`: score methods that claim to find structure on teachers whose structure is known."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from tutelage.cli.commands import On
from tutelage.cli.options import Device, Json, Results, With, load_plugins
from tutelage.cli.progress import shown
from tutelage.errors import TutelageError, unknown

if TYPE_CHECKING:
    from tutelage.planted.leaderboard import Board, Entry

FAILED = 2
_WIDE = 100  # columns of a terminal from which on intervals have room
_HEADS = {
    "average_precision": "average precision",
    "calibration_error": "calib. error",
    "count_bias": "count bias",
    "invariance": "invar.",
}
REFERENCES = ("oracle", "random")
"""Methods that are scored beside those named: what cannot be beaten, and chance."""


def planted(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[METHOD]...", help="Names of methods, or 'all'; without any: list the methods."),
    ] = None,
    difficulty: Annotated[
        list[str] | None,
        typer.Option(metavar="DIAL=VALUE,...", help="Dial to turn and its values, as in decay=0,1,2; repeatable."),
    ] = None,
    scale: Annotated[str, typer.Option(help="Size: smoke (seconds), quick (minutes) or paper.")] = "quick",
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit for one call of a method of yours.")] = 60.0,
    on: On = "local",
    device: Device = "cpu",
    out: Annotated[Path, typer.Option(help="Folder for the page and the leaderboard.")] = Path("planted"),
    results: Results = Path("results"),
    plugins: With = None,
    as_json: Json = False,
) -> None:
    """Score methods that claim to find structure on planted teachers, beside an oracle and chance.

    Every method is scored on the same students; what is stored already is not computed again. A method that fails is
    named in one sentence, the others go on, and the exit code is 2.
    """
    from tutelage.planted import METHODS
    from tutelage.planted.difficulty import parse
    from tutelage.planted.leaderboard import MEMBERS, board, write
    from tutelage.planted.page import write_page
    from tutelage.planted.registry import find

    load_plugins(plugins)
    if not names:
        _print_methods(as_json)
        return
    if scale not in MEMBERS:
        raise unknown("scale", scale, MEMBERS)
    chosen = list(dict.fromkeys([*REFERENCES, *(METHODS if names == ["all"] else names)]))
    for name in chosen:
        find(name)
    bed = board(scale, parse(difficulty) if difficulty else None, seconds)
    entries, failures = _scored(bed, chosen, results, on, device, as_json)
    leaderboard, page = write(out, bed, entries), write_page(out, bed, entries, failures)
    if as_json:
        print(json.dumps({"entries": [asdict(e) for e in entries], "failures": failures, "page": str(page)}, indent=1))
    else:
        _print(entries, failures, leaderboard, page)
    if failures:
        raise typer.Exit(FAILED)


def _scored(
    bed: Board, names: list[str], results: Path, on: str, device: str, quiet: bool
) -> tuple[list[Entry], dict[str, str]]:
    """Entries of the methods, and one sentence for each that failed."""
    from tutelage.lab import Store, schedule

    store = Store(results)
    students, scored = bed.students(), {name: bed.scored(name) for name in names}
    total = sum(e.cost for e in [*students, *(e for some in scored.values() for e in some)])
    entries, failures = [], {}
    with shown(f"{len(names)} methods", total, quiet) as (advance, _):
        schedule(students, store, on, device=device, on_progress=advance)
        for name, experiments in scored.items():
            try:
                computed = schedule(experiments, store, on, device=device, on_progress=advance)
            except TutelageError as error:
                failures[name] = str(error)
            else:
                entries.append(bed.entry(name, computed))
    return entries, failures


def _print(entries: list[Entry], failures: dict[str, str], leaderboard: Path, page: Path) -> None:
    from tutelage.planted.leaderboard import ranked
    from tutelage.planted.page import COLUMNS, cell, short

    console = Console(highlight=False)
    wide = console.width >= _WIDE
    table = Table(box=None, padding=(0, 1, 0, 0))
    for column in ("method", "sees"):
        table.add_column(column, no_wrap=True)
    for name in COLUMNS:
        table.add_column(_HEADS.get(name, name), justify="right", no_wrap=name == "recall")
    for entry in ranked(entries):  # the page has the intervals of all scores
        first, *rest = (entry.scores[name] for name in COLUMNS)
        table.add_row(
            entry.method, entry.sees, cell(first) if wide else short(first.mean), *(short(s.mean) for s in rest)
        )
    console.print(table)
    for sentence in failures.values():
        Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(sentence)
    console.print(f"leaderboard: {leaderboard}", soft_wrap=True)
    console.print(f"page: {page}", soft_wrap=True)


def _print_methods(as_json: bool) -> None:
    from tutelage.planted import METHODS

    rows = [{"method": m.name, "sees": m.sees, "about": m.summary} for m in METHODS.values()]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("method", "sees", "what it does"):
        table.add_column(column)
    for row in rows:
        table.add_row(*row.values())
    Console(highlight=False).print(table)
