"""`tutelage store` and `tutelage query`: care of a results folder, and questions to it."""

from __future__ import annotations

import json
import math
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from tutelage.cli.options import Json, Results
from tutelage.cli.rows import print_rows
from tutelage.errors import TutelageError
from tutelage.printing import printable

if TYPE_CHECKING:
    import pyarrow as pa

Hashes = Annotated[list[str] | None, typer.Argument(metavar="HASH", help="Hashes of experiments; default: all.")]

DAMAGED = 1
_SHOWN = 200  # rows of a table on a terminal
_DAY = 24.0
_SPARED = ("bytes", "device", "seconds", "engine", "finished")
"""Columns of the list that a narrow terminal does without, the first first."""

app = typer.Typer(name="store", help="Maintain a results folder.", no_args_is_help=True)


@app.command("list")
def list_(out: Results = Path("results"), as_json: Json = False) -> None:
    """List stored experiments with kind, date, members, engine, device, time, size and state."""
    from tutelage.lab import store_tools

    rows = store_tools.list_results(out)
    if as_json:
        print(json.dumps(rows))
        return
    rows.sort(key=lambda row: row["finished"] or "")
    note = f"the newest {_SHOWN} of {len(rows)} experiments: --json prints all" if len(rows) > _SHOWN else ""
    for row in rows:
        row["finished"], row["damage"] = (row["finished"] or "")[:16].replace("T", " "), row["damage"] or "whole"
    cells = [[*row.values()] for row in rows[-_SHOWN:]]
    print_rows(
        [*store_tools.LISTED[:-1], "state"], cells, note, drop=("bytes", "device", "seconds", "engine", "finished")
    )


@app.command()
def check(hashes: Hashes = None, out: Results = Path("results"), as_json: Json = False) -> None:
    """Read every byte of stored experiments and report damage and leftovers; exit code 1 for damage."""
    from tutelage.lab import store_tools

    chosen = store_tools.select(out, hashes or ())
    console = Console(stderr=True)
    quiet = as_json or not console.is_terminal
    damaged = store_tools.check(out, chosen)
    steps = track(damaged, "checking", len(chosen), console=console, transient=True, disable=quiet) if chosen else ()
    damage = [item for _, several in steps for item in several]
    left = store_tools.leftovers(out)
    if as_json:
        print(
            json.dumps(
                {
                    "experiments": len(chosen),
                    "damaged": [{"experiment": d.folder.name, "file": d.file, "what": d.what} for d in damage],
                    "left_over": [{"path": str(item.path), "seconds": round(item.age)} for item in left],
                }
            )
        )
    else:
        for item in damage:
            print(f"damaged: {item.folder.name}/{item.file} {item.what}")
        for part in left:
            print(f"left over: {part.path} ({part.age / 3600:.1f} hours old)")
        print(f"{len(chosen)} experiments, {len({d.folder for d in damage})} damaged, {len(left)} left over")
    if damage:
        raise typer.Exit(DAMAGED)


@app.command()
def gc(
    hashes: Annotated[list[str] | None, typer.Argument(metavar="HASH", help="Hashes of experiments to remove.")] = None,
    older: Annotated[float, typer.Option(help="Smallest age of leftovers to remove, in hours.", min=0)] = _DAY,
    damaged: Annotated[bool, typer.Option("--damaged", help="Also remove damaged experiments.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be removed; remove nothing.")] = False,
    out: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Remove old leftovers, the experiments that are named and, with --damaged, damaged experiments."""
    from tutelage.lab import store_tools

    removals = store_tools.garbage(out, older * 3600, damaged, hashes or ())
    for removal in removals if not dry_run else ():
        store_tools.remove(removal)
    if as_json:
        print(json.dumps({"removed": not dry_run, "what": [{"path": str(r.path), "why": r.why} for r in removals]}))
        return
    for removal in removals:
        print(f"{'would remove' if dry_run else 'removed'} {removal.path} ({removal.why})")
    if not removals:
        print("nothing to remove")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="Tar file to write.")],
    hashes: Hashes = None,
    out: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Write experiments to one tar file, for 'store import' elsewhere."""
    from tutelage.lab import archive

    names = archive.export(out, file, hashes or ())
    print(
        json.dumps({"file": str(file), "experiments": names})
        if as_json
        else f"{len(names)} experiments written: {file}"
    )


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="Tar file that 'store export' wrote.")],
    out: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Import the experiments of a tar file: all of them, or none if anything in it is damaged."""
    from tutelage.lab import archive

    taken = archive.import_results(out, file)
    if as_json:
        print(json.dumps({"new": taken.new, "known": taken.known}))
    else:
        print(f"{len(taken.new)} experiments imported, {len(taken.known)} stored before: {out}")


def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement.")],
    out: Results = Path("results"),
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    seconds: Annotated[float, typer.Option(help="Time limit, in seconds.", min=0)] = 300.0,
    memory: Annotated[float, typer.Option(help="Memory limit, in GiB.", min=0, max=2**20)] = 2.0,
) -> None:
    """Query the results with SQL: views experiments, members, layers, teachers, units, pairs, and one per other kind.

    Of a folder of reproduced studies the one view is claim_values: the statistic of every member behind every verdict.

    For example: SELECT polarity, width_factor, avg(recovered) FROM teachers WHERE step = steps GROUP BY ALL
    """
    from tutelage.lab.query import query as answer

    if as_json and as_csv:
        raise TutelageError("--json and --csv exclude each other: give one of them")
    table = answer(out, sql, seconds, memory)
    if as_csv:
        _print_csv(table)
    elif as_json:
        print(json.dumps([{name: _plain(v) for name, v in row.items()} for row in table.to_pylist()]))
    else:
        rows = table.slice(0, _SHOWN).to_pylist()
        note = f"the first {_SHOWN} of {len(table)} rows: --json and --csv print all" if len(table) > _SHOWN else ""
        print_rows(table.column_names, [[*row.values()] for row in rows], note)


def _print_csv(table: pa.Table) -> None:
    """Comma-separated values; what a cell cannot hold, such as a list, as text."""
    import pyarrow as pa
    from pyarrow import csv

    simple = [
        column
        if not pa.types.is_nested(column.type)
        else pa.array([json.dumps(v, default=str) for v in column.to_pylist()])
        for column in table.columns
    ]
    buffer = pa.BufferOutputStream()
    csv.write_csv(pa.table(simple, names=table.column_names), buffer)
    text = buffer.getvalue().to_pybytes().decode()
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)


def _plain(value: Any) -> Any:
    """A value as JSON knows it: numbers that are not finite become null, dates become text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(name): _plain(v) for name, v in value.items()}
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value if value is None or isinstance(value, int | str) else str(value)
