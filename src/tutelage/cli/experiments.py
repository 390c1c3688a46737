"""`tutelage experiment`: look at an experiment before it is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tutelage.cli.options import Json, With, load_plugins
from tutelage.cli.rows import print_rows
from tutelage.printing import printable

if TYPE_CHECKING:
    from tutelage.lab.experiment import Experiment
    from tutelage.lab.teacher_student import TeacherStudent

Limit = Annotated[int, typer.Option(min=1, help="Largest number of experiments that the file may describe.")]
ExperimentFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="YAML file with an experiment, or with a grid of them.")
]

app = typer.Typer(
    name="experiment",
    help="Inspect experiment files: explain, list, diff, schema.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def read(path: Path, plugins: list[Path] | None, limit: int, every_kind: bool = False) -> list[Any]:
    """The experiments of a file, after the plugins that it may need are loaded; every_kind: not only students."""
    from tutelage.lab.grid import read_experiment

    load_plugins(plugins)
    return read_experiment(path, limit, _kind if every_kind else None)


def _kind(name: str) -> type[Experiment]:
    """The class of a kind of experiment; those of studies are known once these are imported, which takes a second."""
    import tutelage.studies  # noqa: F401
    from tutelage.lab.experiment import find

    return find(name)


@app.command()
def schema(plugins: With = None, as_json: Json = False) -> None:
    """Print the JSON schema of experiment files, for editors; with --json on one line."""
    from tutelage.lab.schema import schema as experiment_schema

    load_plugins(plugins)
    print(json.dumps(experiment_schema(), indent=None if as_json else 1))


@app.command()
def explain(file: ExperimentFile, plugins: With = None, limit: Limit = 10_000, as_json: Json = False) -> None:
    """Explain what an experiment does and what it costs, before it is run.

    Why its students did not learn what they should is said by `tutelage explain`, of stored results.
    """
    from tutelage.lab.experiment import plain
    from tutelage.lab.explanation import explain_experiment, facts, variations
    from tutelage.lab.grid import size

    experiments = read(file, plugins, limit)
    if as_json:
        first = {"settings": plain(experiments[0]), **facts(experiments[0])}
        print(json.dumps({**vars(size(experiments)), "varied": variations(experiments), "first": first}, indent=1))
    else:
        _say(explain_experiment(experiments))


@app.command(name="list")
def list_results(file: ExperimentFile, plugins: With = None, limit: Limit = 10_000, as_json: Json = False) -> None:
    """List the experiments of a file with their hashes and sizes."""
    from tutelage.lab.explanation import variations
    from tutelage.lab.grid import size
    from tutelage.lab.loads import split

    experiments = [result for experiment in read(file, plugins, limit) for result in split(experiment)]
    varied = list(variations(experiments))
    rows = [_row(experiment, varied) for experiment in experiments]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    names = [name.rpartition(".")[2] for name in varied]
    names = names if len(set(names)) == len(names) else varied
    columns = ["hash", *names, "students", "student-steps", "multiplications"]
    cells = []
    for row in rows:
        settings = [str(row["settings"].get(name, "")) for name in varied]
        counts = f"{row['students']:,}", f"{row['student_steps']:,}", f"{row['multiplications']:.2g}"
        cells.append([row["hash"], *settings, *counts])
    print_rows(columns, cells, str(size(experiments)), drop=("multiplications", "student-steps"))


@app.command()
def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="YAML file with an experiment, or with a grid of them.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The file to compare it with.")],
    plugins: With = None,
    limit: Limit = 10_000,
    as_json: Json = False,
) -> None:
    """Compare two files: the settings that differ or, for grids, the experiments that differ."""
    from tutelage.lab.explanation import difference

    old, new = read(a, plugins, limit), read(b, plugins, limit)
    if len(old) == len(new) == 1:
        changes = difference(old[0], new[0])
        print(json.dumps(changes.data(), indent=1)) if as_json else _say(str(changes))
        return
    before, after = (
        dict.fromkeys(experiment.hash for experiment in old),
        dict.fromkeys(experiment.hash for experiment in new),
    )
    results = {
        "only_in_a": [name for name in before if name not in after],
        "only_in_b": [name for name in after if name not in before],
        "in_both": [name for name in before if name in after],
    }
    if as_json:
        print(json.dumps(results, indent=1))
    else:
        words = zip((f"only in {a}", f"only in {b}", "in both"), results.values(), strict=True)
        _say(
            "\n".join(
                f"{len(names)} experiments {where}{': ' if names else ''}{' '.join(names)}" for where, names in words
            )
        )


def _row(experiment: TeacherStudent, varied: list[str]) -> dict[str, Any]:
    from tutelage.lab.explanation import facts, flat

    known, values = facts(experiment), flat(experiment)
    counts = {name: known[name] for name in ("student_steps", "multiplications", "data_bytes", "result_bytes")}
    settings = {name: values[name] for name in varied if name in values}
    return {"hash": experiment.hash, "settings": settings, "students": known["members"], **counts}


def _say(text: str) -> None:
    Console(soft_wrap=True, highlight=False, markup=False).print(printable(text))
