"""`tutelage explain`: what the students of stored experiments did not learn, and why."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tutelage.cli.options import Json, With, load_plugins
from tutelage.errors import TutelageError

if TYPE_CHECKING:
    from tutelage.lab import TrainedStudents
    from tutelage.measures.diagnosis import Diagnosis

_SHOWN = 20  # units told of one by one, unless all are asked for


def explain(
    run: Annotated[
        Path,
        typer.Argument(metavar="EXPERIMENT", help="Stored experiment (results/HASH), or a folder with one experiment."),
    ],
    seed: Annotated[int | None, typer.Option(help="Seed of the member to explain; default: all members.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every unit instead of the first 20.")] = False,
    plugins: With = None,
    as_json: Json = False,
) -> None:
    """Explain why teacher units were not recovered: unobserved, starved, weak, stuck or not yet reached.

    What a file with an experiment asks for, before it is run, is said by `tutelage experiment explain`.
    """
    from tutelage.measures.diagnosis import summary

    load_plugins(plugins)
    result = _result(run)
    chosen = _members(result, seed)
    diagnoses = _diagnose(result, chosen)
    seeds = [result.experiment.seeds[i] for i in chosen]
    units = len(seeds) * sum(result.experiment.teacher.widths()[1:-1])
    if as_json:
        rows: list[dict[str, Any]] = [asdict(d) | {"seed": seeds[d.member], "sentence": str(d)} for d in diagnoses]
        about = {
            "experiment": result.experiment.hash,
            "members": len(seeds),
            "units": units,
            "reasons": summary(diagnoses),
        }
        print(json.dumps(about | {"missed": rows}, indent=1))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{units - len(diagnoses)} of {units} teacher units were recovered, {len(diagnoses)} were not.")
    if diagnoses:
        console.print(_counts(diagnoses))
        for d in diagnoses if everything else diagnoses[:_SHOWN]:
            console.print(f"seed {seeds[d.member]}, layer {d.layer}, unit {d.unit}: {d}")
        if len(diagnoses) > _SHOWN and not everything:
            console.print(f"... and {len(diagnoses) - _SHOWN} more: --all prints all of them")


def _result(run: Path) -> TrainedStudents:
    """The experiment at a path, or the only one in a folder of results."""
    from tutelage.lab.trained_students import load_students

    folders = [run] if _is_result(run) else sorted(filter(_is_result, run.glob("*"))) if run.is_dir() else []
    if len(folders) != 1:
        what = f"holds {len(folders)} experiments" if folders else "is no experiment and holds none"
        raise TutelageError(f"{run} {what}: name one, such as {run / (folders[0].name if folders else 'HASH')}")
    return load_students(folders[0])


def _is_result(folder: Path) -> bool:
    from tutelage.lab.manifest import MANIFEST, is_result

    return is_result(folder) and (folder / MANIFEST).is_file()


def _members(result: TrainedStudents, seed: int | None) -> list[int]:
    """Members to look at: those that did not diverge, or the one with the given seed."""
    if result.experiment.record.weights == "none":
        raise TutelageError(
            f"experiment {result.experiment.hash} kept no weights to look at: run it with record.weights set to last"
        )
    students = result.weights()
    whole = [i for i in range(students.members) if all(a[i].isfinite().all() for a in students.parameters)]
    if seed is not None:
        if seed not in result.experiment.seeds:
            raise TutelageError(
                f"experiment {result.experiment.hash} has no member with seed {seed}: see 'seeds' in its settings.yaml"
            )
        whole = [i for i in whole if result.experiment.seeds[i] == seed]
    if not whole:
        raise TutelageError(
            f"all chosen students of experiment {result.experiment.hash} diverged: lower the learning rate"
        )
    return whole


def _diagnose(result: TrainedStudents, chosen: list[int]) -> list[Diagnosis]:
    from tutelage.lab import build
    from tutelage.measures.diagnosis import diagnose
    from tutelage.training.inputs import Inputs

    inputs = build(result.experiment)[2]
    chosen_inputs = Inputs(
        inputs.train[chosen], inputs.evaluate[chosen], tuple(result.experiment.seeds[i] for i in chosen)
    )
    report = result.report
    history = type(report)(report.steps, {name: value[:, chosen] for name, value in report.values.items()})
    return diagnose(result.teacher()[chosen], result.weights()[chosen], chosen_inputs, history)


def _counts(diagnoses: list[Diagnosis]) -> Table:
    from tutelage.measures.diagnosis import summary

    table = Table("reason", "units")
    for reason, count in summary(diagnoses).items():
        table.add_row(reason, str(count))
    return table
