"""What each command does; the work itself lies in the packages below."""

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tutelage import report as html
from tutelage.cli import tables
from tutelage.errors import unknown
from tutelage.runs import Store, execute, from_yaml, work
from tutelage.studies import SCALES, STUDIES
from tutelage.studies.reproduce import distinct_specs, plans
from tutelage.studies.reproduce import reproduce as carry_out

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Engine = Annotated[str, typer.Option(help="auto, or an engine by name.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log engine, device and seeds of every pack.")]

FAILED = 1


def studies(as_json: Json = False) -> None:
    """List what can be reproduced, with its seed, figure and size at each scale."""
    if as_json:
        print(json.dumps(tables.study_rows(), indent=1))
    else:
        Console().print(tables.study_table())


def reproduce(
    names: Annotated[list[str], typer.Argument(metavar="STUDY...", help="Names of studies, or 'all'.")],
    scale: Annotated[str, typer.Option(help="smoke (seconds), quick (a minute or two) or paper.")] = "quick",
    device: Device = "auto",
    engine: Engine = "auto",
    out: Annotated[Path, typer.Option(help="Folder for figures, claims, numbers and results.")] = Path("reproduced"),
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Reproduce figures of the seeds and judge their claims; exit code 1 when a claim fails."""
    _log_to_terminal(verbose)
    chosen = list(STUDIES) if names == ["all"] else list(dict.fromkeys(names))
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    specs = distinct_specs(plans(chosen, scale))
    with _progress(f"{len(specs)} packs", sum(map(work, specs)), quiet=as_json) as advance:
        outcomes = carry_out(chosen, scale, out, device=device, engine=engine, on_progress=advance)
    page = html.write_reports(out)
    if as_json:
        print(json.dumps([claim for outcome in outcomes for claim in outcome.claims()], indent=1))
    else:
        console = Console()
        for outcome in outcomes:
            console.print(tables.claims_table(outcome))
        console.print(f"report: {page}", soft_wrap=True, highlight=False)
    if any(v.verdict == "fails" for outcome in outcomes for v in outcome.verdicts):
        raise typer.Exit(FAILED)


def run(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.yaml", help="An experiment of your own.")],
    device: Device = "auto",
    engine: Engine = "auto",
    out: Annotated[Path, typer.Option(help="Folder for the result.")] = Path("results"),
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Train and measure one pack as a YAML file says; what was computed before is only read."""
    _log_to_terminal(verbose)
    settings = from_yaml(spec)
    store = Store(out)
    known = settings in store
    with _progress(settings.hash, work(settings), quiet=as_json) as advance:
        (pack,) = execute([settings], store, device=device, engine=engine, on_progress=advance)
    if as_json:
        print(
            json.dumps(
                {"hash": settings.hash, "folder": str(pack.folder), "known": known, "last": tables.summary(pack)}
            )
        )
    else:
        console = Console()
        console.print(tables.summary_table(pack))
        console.print(f"{'known already' if known else 'written'}: {pack.folder}", soft_wrap=True, highlight=False)


def report(
    folder: Annotated[Path, typer.Argument(help="Where 'reproduce' wrote.")] = Path("reproduced"), as_json: Json = False
) -> None:
    """Write the HTML report of a folder of reproduced studies again."""
    page = html.write_reports(folder)
    print(json.dumps({"report": str(page)}) if as_json else f"report: {page}")


def ledger(
    folder: Annotated[Path, typer.Argument(help="Where studies are stored.")] = Path("docs/results"),
    as_json: Json = False,
) -> None:
    """Write ledger.md: every claim of every study stored below a folder, with its verdict."""
    path = html.write_ledger(folder)
    print(json.dumps({"ledger": str(path)}) if as_json else f"ledger: {path}")


@contextmanager
def _progress(label: str, total: float, quiet: bool) -> Iterator[Callable[[float], None]]:
    """A progress bar on a terminal, nothing elsewhere."""
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%")
    console = Console(stderr=True)
    off = quiet or not console.is_terminal
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, disable=off) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.update(task, advance=done)


def _log_to_terminal(verbose: bool) -> None:
    handler = RichHandler(console=Console(file=sys.stderr), show_path=False)
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(message)s", handlers=[handler], force=True
    )
