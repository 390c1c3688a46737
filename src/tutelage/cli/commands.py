"""What each command does; the work itself lies in the packages below."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.markup import escape

from tutelage.cli import claims, tables
from tutelage.cli.experiments import Limit, read
from tutelage.cli.options import Device, Json, Results, With, load_plugins
from tutelage.cli.progress import shown
from tutelage.errors import unknown
from tutelage.printing import printable

if TYPE_CHECKING:
    from tutelage.lab import TrainedStudents
    from tutelage.studies.reproduce import Reproduction
    from tutelage.studies.tracking.tracker import Tracker

On = Annotated[
    str, typer.Option(help=r"Where to compute: local, processes\[:N], ray\[://HOST:PORT] or slurm\[:PARTITION].")
]
Track = Annotated[str | None, typer.Option(help=r"Tracker to log to: mlflow\[:URI] or tensorboard\[:FOLDER].")]
Engine = Annotated[str, typer.Option(help="Training engine: auto, or a name from 'tutelage engines'.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log engine, device and seeds of every experiment.")]

FAILED = 1
SMOKE = "smoke"
"""The scale at which failing claims are no verdict."""
_REHEARSAL = "Scale smoke shows that the studies run; it proves nothing about the papers. Use --scale quick or paper."
_SHOWN = 12  # experiments whose tables a run prints; beyond that `tutelage query` serves better


def studies(as_json: Json = False) -> None:
    """List the studies: paper, figure, title and rough time at each scale."""
    if as_json:
        print(json.dumps(tables.study_rows(), indent=1))
    else:
        console = Console()
        console.print(tables.study_table(console.width))


def reproduce(
    names: Annotated[list[str], typer.Argument(metavar="STUDY...", help="Names of studies, or 'all'.")],
    scale: Annotated[
        str, typer.Option(help="Size: smoke (seconds), quick (minutes) or paper (the size of the paper).")
    ] = "quick",
    on: On = "local",
    device: Device = "auto",
    engine: Engine = "auto",
    out: Annotated[Path, typer.Option(help="Folder for figures, claims, numbers and reports.")] = Path("reproduced"),
    results: Results = Path("results"),
    plugins: With = None,
    track: Track = None,
    style: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Style of the figures: column or text, the widths of a paper, or a matplotlib style by name or as a "
            "file.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every setting of every claim.")] = False,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Reproduce figures of the papers and judge their claims; exit code 1 when a claim fails, except at scale smoke."""
    from tutelage.lab import TrainedStudents
    from tutelage.studies import STUDIES
    from tutelage.studies import report as html
    from tutelage.studies.live import Landing
    from tutelage.studies.reproduce import distinct_experiments, plans
    from tutelage.studies.reproduce import reproduce as carry_out
    from tutelage.studies.study import SCALES
    from tutelage.studies.tracking import open_tracker

    _log_to_terminal(verbose)
    load_plugins(plugins)
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    planned = plans(STUDIES if names == ["all"] else dict.fromkeys(names), scale)
    experiments = distinct_experiments(planned)
    tracker = open_tracker(track) if track else None
    landing = Landing(planned)
    with shown(f"{len(experiments)} experiments", sum(e.cost for e in experiments), as_json, landing) as (done, landed):
        outcomes = carry_out(
            planned,
            scale,
            out,
            results=results,
            on=on,
            device=device,
            engine=engine,
            style=style,
            on_progress=done,
            on_landed=landed,
        )
    page = html.write_reports(out)
    if tracker:
        _tell(tracker, [r for r in landing.results() if isinstance(r, TrainedStudents)], outcomes)
    if as_json:
        print(json.dumps([claim for outcome in outcomes for claim in outcome.claims()], indent=1))
    else:
        console = Console(highlight=False)
        claims.print_outcomes(console, outcomes, everything)
        for line in claims.closing(outcomes):
            console.print(f"[bold]{escape(line)}[/]", soft_wrap=True)
        console.print(f"report: {page}", soft_wrap=True)
    if scale == SMOKE:
        Console(stderr=True, highlight=False).print(_REHEARSAL)
    elif claims.failed(outcomes):
        raise typer.Exit(FAILED)


def run(
    file: Annotated[Path, typer.Argument(metavar="EXPERIMENT.yaml", help="File with an experiment.")],
    plugins: With = None,
    on: On = "local",
    device: Device = "auto",
    engine: Engine = "auto",
    results: Results = Path("results"),
    limit: Limit = 10_000,
    track: Track = None,
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Compute the experiments of a YAML file; results that are stored already are only read.

    The file is one of yours, or the settings.yaml of a study, with experiments of any kind.

    With --json one line per experiment is printed.
    """
    from tutelage.lab import Store, TeacherStudent, TrainedStudents, schedule
    from tutelage.lab.grid import size
    from tutelage.lab.loads import parts_of
    from tutelage.studies.tracking import open_tracker

    _log_to_terminal(verbose)
    described, store = read(file, plugins, limit, every_kind=True), Store(results)
    experiments = [part for whole in described for part in parts_of(whole, store)]
    tracker = open_tracker(track) if track else None
    known = [experiment in store for experiment in experiments]
    label = experiments[0].hash if len(experiments) == 1 else f"{len(experiments)} experiments"
    with shown(label, sum(s.cost for s in experiments), as_json) as (done, landed):
        computed = schedule(experiments, store, on, device=device, engine=engine, on_progress=done, on_landed=landed)
    if tracker:
        _tell(tracker, [result for result in computed if isinstance(result, TrainedStudents)], [])
    console = Console()
    for result, before in zip(computed, known, strict=True):
        if as_json:
            last = {
                "hash": result.experiment.hash,
                "folder": str(result.folder),
                "known": before,
                "last": tables.summary(result),
            }
            print(json.dumps(last))
        elif len(computed) <= _SHOWN:
            console.print(tables.summary_table(result))
            console.print(_engine_of(result.folder), soft_wrap=True, highlight=False)
            console.print(
                f"{'stored before' if before else 'written'}: {result.folder}", soft_wrap=True, highlight=False
            )
    if len(computed) > 1 and not as_json:
        plain = all(isinstance(experiment, TeacherStudent) for experiment in experiments)
        count = size(experiments) if plain else f"{len(experiments)} experiments"
        console.print(f"{count}, {sum(known)} stored before; all are in {results}", highlight=False)


def _engine_of(folder: Path) -> str:
    """Which engine trained the students of a result, and why it was chosen."""
    from tutelage.lab.manifest import readable

    with readable(folder, "log.jsonl"):
        log = dict(json.loads((folder / "log.jsonl").read_text().splitlines()[0]))
    why = f" ({log['why']})" if log.get("why") else ""
    what = f"engine: {log['engine']} on" if log.get("engine") else "computed on"
    return printable(f"{what} {log.get('device', 'unknown')}{why}")


def report(
    folder: Annotated[Path, typer.Argument(help="Folder that 'reproduce' wrote.")] = Path("reproduced"),
    latex: Annotated[bool, typer.Option("--latex", help="Also write report.tex with tables and figures.")] = False,
    as_json: Json = False,
) -> None:
    """Write the report of reproduced studies again, as HTML and, with --latex, as LaTeX for a paper."""
    from tutelage.studies import report as html

    written = {"report": html.write_reports(folder)}
    if latex:
        written["latex"] = html.write_latex(folder)
    if as_json:
        print(json.dumps({name: str(path) for name, path in written.items()}))
    else:
        for name, path in written.items():
            print(f"{name}: {path}")


def ledger(
    folder: Annotated[Path, typer.Argument(help="Folder with stored studies.")] = Path("docs/results"),
    as_json: Json = False,
) -> None:
    """Write ledger.md: every claim of every study stored below a folder, with its verdict."""
    from tutelage.studies import report as html

    path = html.write_ledger(folder)
    print(json.dumps({"ledger": str(path)}) if as_json else f"ledger: {path}")


def _tell(tracker: Tracker, results: Sequence[TrainedStudents], outcomes: Sequence[Reproduction]) -> None:
    """Log everything that was computed to a tracker."""
    for result in results:
        tracker.result(result)
    for outcome in outcomes:
        tracker.study(outcome)


def _log_to_terminal(verbose: bool) -> None:
    handler = RichHandler(console=Console(file=sys.stderr), show_path=False)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[handler], force=True)
    logging.getLogger("tutelage").setLevel(logging.INFO if verbose else logging.NOTSET)
