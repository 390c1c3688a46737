"""`tutelage certify`: hold trained networks against the theorems of the seeds."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from tutelage.certificates import Certificate, Subject, certify_all, find, subjects, theorems
from tutelage.certificates import certify as carry_out
from tutelage.cli.commands import Json
from tutelage.cli.experiments import With, load_plugins
from tutelage.cli.points import read_points
from tutelage.errors import TutelageError, unknown
from tutelage.lab import build
from tutelage.lab.manifest import MANIFEST, is_result
from tutelage.lab.trained_students import load_students
from tutelage.networks import Network, load
from tutelage.training.inputs import Distribution

COLOURS = {"holds": "green", "fails": "red", "not applicable": "yellow", "not decided": "yellow", "vacuous": "yellow"}
FAILED = 1
ALL, DEFAULT = "all", "specialisation"


def certify(
    theorem: Annotated[str, typer.Argument(metavar="THEOREM", help="A theorem by name, 'all', or 'list'.")],
    teacher: Annotated[
        Path | None,
        typer.Argument(metavar="TEACHER.safetensors|PACK", help="A saved teacher, or an experiment of a store."),
    ] = None,
    student: Annotated[Path | None, typer.Argument(metavar="STUDENT.safetensors", help="Saved students.")] = None,
    points: Annotated[Path | None, typer.Option(help="Samples in a safetensors file; [N, d] or [S, N, d].")] = None,
    distribution: Annotated[
        str | None, typer.Option(help="Draw samples instead: gaussian, uniform, sphere, ...")
    ] = None,
    std: Annotated[float | None, typer.Option(help="Standard deviation of a gaussian distribution.")] = None,
    samples: Annotated[int, typer.Option(help="How many samples to draw.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    option: Annotated[list[str] | None, typer.Option(help="An option of the theorem, NAME=NUMBER; repeatable.")] = None,
    subject: Annotated[str | None, typer.Option(help="With 'all': the subject [default: specialisation].")] = None,
    about: Annotated[
        list[str] | None,
        typer.Option(help="For theorems on other things than networks in files: a setting NAME=VALUE; repeatable."),
    ] = None,
    plugins: With = None,
    brief: Annotated[bool, typer.Option("--brief", help="One line a member.")] = False,
    as_json: Json = False,
) -> None:
    """Check every condition of a theorem on trained networks, and its conclusion; exit code 1 when one fails.

    For example: tutelage certify alignment teacher.safetensors student.safetensors --distribution gaussian --std 1.5
    """
    load_plugins(plugins)
    if theorem == "list":
        _print_theorems(as_json)
        return
    chosen = _options(option or [])
    if subject is not None and subject not in subjects():
        raise unknown("subject", subject, subjects())
    made = find(theorem).subject if theorem != ALL else subjects()[subject or DEFAULT]
    if made.example is not None:
        arguments = _example(made, about or [])
        if theorem == ALL:
            _print_certificates([c for cs in certify_all(*arguments, **chosen).values() for c in cs], as_json, True)
        else:
            _print_certificates(carry_out(theorem, *arguments, **chosen), as_json, brief)
        return
    taught, learnt, x, members = _networks(teacher, student)
    if x is None or points is not None or distribution is not None:
        x = _points(learnt, points, distribution, std, samples, seed)
    if theorem == ALL:
        found = certify_all(taught, learnt, x, **chosen)
    else:
        found = {theorem: carry_out(theorem, taught, learnt, x, **chosen)}
    every = [replace(c, member=members[c.member]) for certificates in found.values() for c in certificates]
    _print_certificates(every, as_json, brief or theorem == ALL)


def _print_certificates(every: list[Certificate], as_json: bool, brief: bool) -> None:
    """Print certificates; exit code 1 when a conclusion fails under true conditions."""
    if as_json:
        print(json.dumps([certificate.plain() for certificate in every], allow_nan=False))
    elif brief:
        Console().print(_table(every))
    else:
        print("\n\n".join(map(str, every)))
    if any(certificate.verdict == "fails" for certificate in every):
        raise typer.Exit(FAILED)


def _networks(teacher: Path | None, student: Path | None) -> tuple[Network, Network, Tensor | None, list[int]]:
    """Teacher, students, from an experiment the samples they were trained on, and which members these are.

    Members of an experiment that diverged are left out.
    """
    if teacher is None:
        raise TutelageError(
            "give a teacher and a student, or an experiment: tutelage certify THEOREM TEACHER STUDENT --points FILE"
        )
    if student is not None:
        students = load(student)
        return load(teacher), students, None, list(range(students.members))
    if not (is_result(teacher) and (teacher / MANIFEST).is_file()):
        raise TutelageError(f"{teacher} is no experiment of a store: give an experiment, or a teacher and a student")
    result = load_students(teacher)
    if result.experiment.record.weights == "none":
        raise TutelageError(
            f"experiment {result.experiment.hash} kept no weights to look at: run it with record.weights set to last"
        )
    students = result.weights()
    whole = [i for i in range(students.members) if all(a[i].isfinite().all() for a in students.parameters)]
    if not whole:
        raise TutelageError(f"all students of experiment {result.experiment.hash} diverged: lower the learning rate")
    return result.teacher()[whole], students[whole], build(result.experiment)[2].train[whole], whole


def _points(
    students: Network, file: Path | None, distribution: str | None, std: float | None, samples: int, seed: int
) -> Tensor:
    """Samples from a file, or drawn from a distribution, the same for all members."""
    if (file is None) == (distribution is None):
        raise TutelageError(
            "the samples come from a file or from a distribution: give one of --points and --distribution"
        )
    if file is not None:
        return read_points(file)
    settings: dict[str, Any] = {"kind": distribution, "train": samples, "evaluate": 1}
    if std is not None:
        settings["std"] = std
    shape = Network((torch.zeros(1, students.inputs, 1, dtype=students.dtype),))
    return Distribution.parse(settings).training_points(shape, [seed])


def _options(words: list[str]) -> dict[str, float | int]:
    """NAME=NUMBER as a table; whole numbers stay whole."""
    out: dict[str, float | int] = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = None
        if not equals or number is None:
            raise TutelageError(f"'{word}' is no option of a theorem: write NAME=NUMBER, such as epsilon=0.1")
        out[name] = int(number) if number.is_integer() and "." not in value and "e" not in value.lower() else number
    return out


def _table(certificates: list[Certificate]) -> Table:
    table = Table(title="Certificates", title_justify="left")
    for column in ("theorem", "member", "verdict", "conditions that are not met"):
        table.add_column(column, justify="right" if column == "member" else "left", no_wrap=column == "theorem")
    for c in certificates:
        colour = COLOURS[c.verdict]
        table.add_row(c.theorem, str(c.member), f"[{colour}]{c.summary}[/]", "; ".join(c.unmet))
    return table


def _print_theorems(as_json: bool) -> None:
    rows = [
        {
            "theorem": t.name,
            "subject": t.subject.name,
            "source": t.source,
            "statement": t.statement,
            "needs": t.needs,
            "options": t.options,
        }
        for t in theorems().values()
    ]
    if as_json:
        print(json.dumps(rows))
        return
    console = Console()
    for subject in subjects().values():
        made = f"; --about {' '.join(subject.settings)}" if subject.settings else ""
        table = Table(title=f"{subject.name}: on {subject.about}{made}", title_justify="left")
        for column in ("theorem", "source", "statement", "options"):
            table.add_column(column, no_wrap=column == "theorem")
        for row in rows:
            if row["subject"] == subject.name:
                table.add_row(*(str(row[c]) for c in ("theorem", "source", "statement")), ", ".join(row["options"]))
        console.print(table)


def _example(subject: Subject, words: list[str]) -> tuple[Any, ...]:
    """What theorems of a subject are checked on, made from NAME=VALUE settings."""
    assert subject.example is not None
    chosen: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in subject.settings:
            known = ", ".join(f"{n}={v}" for n, v in subject.settings.items())
            raise TutelageError(f"'{word}' is no setting of {subject.name}: write NAME=VALUE with one of {known}")
        default = subject.settings[name]
        try:
            chosen[name] = value.lower() in ("1", "true", "yes") if isinstance(default, bool) else type(default)(value)
        except ValueError:
            raise TutelageError(f"{name} must be {_KINDS[type(default)]}, got '{value}'") from None
    try:
        return subject.example(**chosen)
    except KeyError as error:
        raise TutelageError(
            f"there is no {error} among the choices of {subject.name}: see 'tutelage certify list'"
        ) from None


_KINDS = {int: "a whole number", float: "a number", str: "a word"}
