"""`tutelage certify`: check the theorems of the papers on trained networks."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console, Group
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tutelage.cli.options import Json, With, load_plugins
from tutelage.cli.points import read_points
from tutelage.errors import TutelageError, unknown

if TYPE_CHECKING:
    from torch import Tensor

    from tutelage.certificates import Certificate
    from tutelage.certificates.registry import Subject
    from tutelage.networks import Network

COLOURS = {"holds": "green", "fails": "red", "not applicable": "yellow", "not decided": "yellow", "vacuous": "yellow"}
FAILED = 1
ALL, DEFAULT = "all", "specialisation"


def certify(
    theorem: Annotated[str, typer.Argument(metavar="THEOREM", help="Name of a theorem, 'all', or 'list'.")],
    teacher: Annotated[
        Path | None,
        typer.Argument(
            metavar="TEACHER.safetensors|EXPERIMENT", help="Saved teacher, or an experiment (results/HASH)."
        ),
    ] = None,
    student: Annotated[Path | None, typer.Argument(metavar="STUDENT.safetensors", help="Saved students.")] = None,
    seed: Annotated[int | None, typer.Option(help="Member with this seed, of an experiment; default: all.")] = None,
    member: Annotated[int | None, typer.Option(help="Member with this number, counted from 0; default: all.")] = None,
    points: Annotated[Path | None, typer.Option(help=r"Safetensors file with samples \[N, d] or \[S, N, d].")] = None,
    distribution: Annotated[
        str | None, typer.Option(help="Distribution to draw samples from instead: gaussian, uniform, sphere, ...")
    ] = None,
    std: Annotated[float | None, typer.Option(help="Standard deviation of a gaussian distribution.")] = None,
    samples: Annotated[int, typer.Option(help="Number of samples to draw.")] = 10_000,
    samples_seed: Annotated[int, typer.Option(help="Seed of the samples drawn.")] = 0,
    option: Annotated[list[str] | None, typer.Option(help="Option of the theorem, NAME=NUMBER; repeatable.")] = None,
    subject: Annotated[str | None, typer.Option(help="Subject, with 'all'; default: specialisation.")] = None,
    about: Annotated[
        list[str] | None,
        typer.Option(help="Setting NAME=VALUE of what a theorem of another subject is checked on; repeatable."),
    ] = None,
    plugins: With = None,
    brief: Annotated[bool, typer.Option("--brief", help="Print one line per member.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Print every condition with its numbers.")] = False,
    as_json: Json = False,
) -> None:
    """Check every condition of a theorem on trained networks, and its conclusion; exit code 1 when one fails.

    For example: tutelage certify alignment teacher.safetensors student.safetensors --distribution gaussian --std 1.5
    """
    from tutelage.certificates import certify as carry_out
    from tutelage.certificates import find
    from tutelage.certificates.registry import subjects

    load_plugins(plugins)
    if theorem == "list":
        _print_theorems(as_json)
        return
    chosen = _options(option or [])
    if subject is not None and subject not in subjects():
        raise unknown("subject", subject, subjects())
    made = find(theorem).subject if theorem != ALL else subjects()[subject or DEFAULT]
    if made.example is not None:
        certificates = carry_out(theorem, *_example(made, about or []), **chosen)
        certificates = certificates if member is None else [c for c in certificates if c.member == member]
        _print_certificates(certificates, as_json, brief, everything)
        return
    networks = _networks(teacher, student, seed, member)
    x = networks.points
    if x is None or points is not None or distribution is not None:
        x = _points(networks.students, points, distribution, std, samples, samples_seed)
        x = x[networks.members] if x.ndim == 3 and len(x) not in (1, len(networks.members)) else x
    certificates = [
        replace(c, seed=networks.seeds[c.member], member=networks.members[c.member])
        for c in carry_out(theorem, networks.teacher, networks.students, x, **chosen)
    ]
    _print_certificates(certificates, as_json, brief, everything)


def _print_certificates(certificates: list[Certificate], as_json: bool, brief: bool, everything: bool) -> None:
    """Print certificates; exit code 1 when a conclusion fails under true conditions."""
    if as_json:
        print(json.dumps([certificate.plain() for certificate in certificates], allow_nan=False))
    elif everything:
        print("\n\n".join(certificate.details() for certificate in certificates))
    elif brief:
        Console().print(_table(certificates))
    elif len(certificates) == 1:
        print(certificates[0])
    else:
        console = Console()
        console.print(_overview(certificates))
        console.print("More: --seed or --member for one member, --brief for a line per member, --all for everything")
    if any(certificate.verdict == "fails" for certificate in certificates):
        raise typer.Exit(FAILED)


def _overview(certificates: list[Certificate]) -> Group:
    """One paragraph per theorem and verdict: how many members, and the reason with its worst numbers."""
    from tutelage.certificates.wording import headline

    groups: dict[tuple[str, str], list[Certificate]] = {}
    for c in certificates:
        groups.setdefault((c.theorem, c.verdict), []).append(c)
    totals = Counter(c.theorem for c in certificates)
    rows: list[Any] = []
    for (theorem, verdict), several in groups.items():
        count = f"{len(several)} of {totals[theorem]} members" if totals[theorem] > 1 else ""
        colour = COLOURS[verdict]
        rows.append(Text.assemble((theorem, "bold"), ": ", (verdict, colour), f" for {count}" if count else ""))
        rows.append(Padding(Text(headline(several)), (0, 0, 0, 4)))
    return Group(*rows)


@dataclass(frozen=True)
class _Found:
    """Networks to check: number and seed (where known) of each member, and the samples they were trained on."""

    teacher: Network
    students: Network
    points: Tensor | None
    members: list[int]
    seeds: list[int | None]


def _networks(teacher: Path | None, student: Path | None, seed: int | None, member: int | None) -> _Found:
    """Teacher and students from files or from an experiment; members that diverged are left out."""
    from tutelage.lab import build
    from tutelage.lab.manifest import MANIFEST, is_result
    from tutelage.lab.trained_students import load_students
    from tutelage.networks import load

    if teacher is None:
        raise TutelageError(
            "give a teacher and a student, or an experiment: tutelage certify THEOREM TEACHER STUDENT --points FILE"
        )
    if student is not None:
        if seed is not None:
            raise TutelageError(f"--seed {seed} needs an experiment, since {student} has no seeds: use --member")
        students, taught = load(student), load(teacher)
        members = _chosen(list(range(students.members)), member, str(student))
        one_each = taught.members == students.members
        return _Found(taught[members] if one_each else taught, students[members], None, members, [None] * len(members))
    if not (is_result(teacher) and (teacher / MANIFEST).is_file()):
        raise TutelageError(f"{teacher} is not a stored experiment: give an experiment, or a teacher and a student")
    result = load_students(teacher)
    label = f"experiment {result.experiment.hash}"
    if result.experiment.record.weights == "none":
        raise TutelageError(f"{label} has no stored weights: run it again with record.weights set to last")
    students, seeds = result.weights(), list(result.experiment.seeds)
    if seed is not None and seed not in seeds:
        raise TutelageError(f"{label} has no member with seed {seed}: see 'seeds' in its settings.yaml")
    members = [i for i in range(students.members) if all(a[i].isfinite().all() for a in students.parameters)]
    members = [i for i in members if seed is None or seeds[i] == seed]
    if not members:
        raise TutelageError(f"all chosen students of {label} diverged: lower the learning rate")
    members = _chosen(members, member, label)
    points = build(result.experiment)[2].train[members]
    return _Found(result.teacher()[members], students[members], points, members, [seeds[i] for i in members])


def _chosen(members: list[int], member: int | None, label: str) -> list[int]:
    if member is None:
        return members
    if member not in members:
        raise TutelageError(f"{label} has no member {member}: choose --member from {members[0]} to {members[-1]}")
    return [member]


def _points(
    students: Network, file: Path | None, distribution: str | None, std: float | None, samples: int, seed: int
) -> Tensor:
    """Samples from a file, or drawn from a distribution, the same for all members."""
    import torch

    from tutelage.networks import Network
    from tutelage.training.inputs import Distribution

    if (file is None) == (distribution is None):
        raise TutelageError(
            "samples must come from a file or from a distribution: give one of --points and --distribution"
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
            raise TutelageError(f"--option must be NAME=NUMBER, such as epsilon=0.1, got '{word}'")
        out[name] = int(number) if number.is_integer() and "." not in value and "e" not in value.lower() else number
    return out


def _table(certificates: list[Certificate]) -> Table:
    from tutelage.certificates.wording import measured

    table = Table(title="Certificates", title_justify="left", box=box.SIMPLE_HEAD)
    seeds = any(c.seed is not None for c in certificates)
    for column in ("theorem", "seed" if seeds else "member", "verdict", "conditions not met"):
        right = column in ("member", "seed")
        table.add_column(column, justify="right" if right else "left", no_wrap=column == "theorem")
    for c in certificates:
        unmet = {x.name: x for x in c.every_condition() if x.holds is False}
        why = "; ".join(f"{name} ({measured(x)})" for name, x in unmet.items())
        table.add_row(c.theorem, str(c.who), f"[{COLOURS[c.verdict]}]{c.summary}[/]", escape(why))
    return table


def _print_theorems(as_json: bool) -> None:
    from tutelage.certificates import theorems
    from tutelage.certificates.registry import subjects

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
    console = Console(highlight=False)
    for subject in subjects().values():
        made = f"; --about {' '.join(subject.settings)}" if subject.settings else ""
        console.print(Text(f"{subject.name}: on {subject.about}{made}", style="bold underline"))
        for row in rows:
            if row["subject"] == subject.name:
                options = f" Options: {', '.join(row['options'])}." if row["options"] else ""
                console.print(Text.assemble((str(row["theorem"]), "bold"), f" ({row['source']})"))
                console.print(Padding(Text(f"{row['statement']}{options}"), (0, 0, 0, 4)))


def _example(subject: Subject, words: list[str]) -> tuple[Any, ...]:
    """What theorems of a subject are checked on, made from NAME=VALUE settings."""
    assert subject.example is not None
    chosen: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in subject.settings:
            known = ", ".join(f"{n}={v}" for n, v in subject.settings.items())
            raise TutelageError(f"--about must be NAME=VALUE with one of {known}, got '{word}'")
        default = subject.settings[name]
        try:
            chosen[name] = value.lower() in ("1", "true", "yes") if isinstance(default, bool) else type(default)(value)
        except ValueError:
            raise TutelageError(f"{name} must be {_KINDS[type(default)]}, got '{value}'") from None
    try:
        return subject.example(**chosen)
    except KeyError as error:
        raise TutelageError(f"unknown choice {error} of {subject.name}: see 'tutelage certify list'") from None


_KINDS = {int: "a whole number", float: "a number", str: "a word"}
