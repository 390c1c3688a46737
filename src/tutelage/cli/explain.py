"""`tutelage explain`: what the students of stored packs did not learn, and why."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tutelage.cli.commands import Json
from tutelage.cli.specs import With, load_plugins
from tutelage.errors import Refusal
from tutelage.lab import Pack, build
from tutelage.lab.manifest import MANIFEST, is_pack
from tutelage.lab.pack import load_students
from tutelage.measures.diagnosis import Diagnosis, diagnose, summary
from tutelage.training.inputs import Inputs

_SHOWN = 20  # units told of one by one, unless all are asked for


def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A pack (results/HASH), or a folder with one pack.")],
    seed: Annotated[int | None, typer.Option(help="Look at the member of this seed alone.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Tell of every unit, not of the first few.")] = False,
    plugins: With = None,
    as_json: Json = False,
) -> None:
    """Say for every teacher unit that was not found whether it was unobserved, starved, weak or not yet reached."""
    load_plugins(plugins)
    pack = _pack(run)
    chosen = _members(pack, seed)
    found = _diagnose(pack, chosen)
    seeds = [pack.spec.seeds[i] for i in chosen]
    units = len(seeds) * sum(pack.spec.teacher.widths()[1:-1])
    if as_json:
        rows: list[dict[str, Any]] = [asdict(d) | {"seed": seeds[d.member], "sentence": str(d)} for d in found]
        about = {"pack": pack.spec.hash, "members": len(seeds), "units": units, "reasons": summary(found)}
        print(json.dumps(about | {"missed": rows}, indent=1))
        return
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{units - len(found)} of {units} teacher units were found by some student, {len(found)} were not.")
    if found:
        console.print(_counts(found))
        for d in found if everything else found[:_SHOWN]:
            console.print(f"seed {seeds[d.member]}, layer {d.layer}, unit {d.unit}: {d}")
        if len(found) > _SHOWN and not everything:
            console.print(f"... and {len(found) - _SHOWN} more: --all tells of every one")


def _pack(run: Path) -> Pack:
    """The pack at a path, or the only one in a folder of results."""
    folders = [run] if _is_pack(run) else sorted(filter(_is_pack, run.glob("*"))) if run.is_dir() else []
    if len(folders) != 1:
        what = f"holds {len(folders)} packs" if folders else "is no pack and holds none"
        raise Refusal(f"{run} {what}: name one, such as {run / (folders[0].name if folders else 'HASH')}")
    return load_students(folders[0])


def _is_pack(folder: Path) -> bool:
    return is_pack(folder) and (folder / MANIFEST).is_file()


def _members(pack: Pack, seed: int | None) -> list[int]:
    """Members to look at: those that did not diverge, or the one of a seed."""
    if pack.spec.record.weights == "none":
        raise Refusal(f"pack {pack.spec.hash} kept no weights to look at: run it with record.weights set to last")
    students = pack.weights()
    whole = [i for i in range(students.members) if all(a[i].isfinite().all() for a in students.parameters)]
    if seed is not None:
        if seed not in pack.spec.seeds:
            raise Refusal(f"pack {pack.spec.hash} has no member with seed {seed}: see 'seeds' in its settings.yaml")
        whole = [i for i in whole if pack.spec.seeds[i] == seed]
    if not whole:
        raise Refusal(f"all students asked for in pack {pack.spec.hash} diverged: lower the learning rate")
    return whole


def _diagnose(pack: Pack, chosen: list[int]) -> list[Diagnosis]:
    inputs = build(pack.spec)[2]
    own = Inputs(inputs.train[chosen], inputs.evaluate[chosen], tuple(pack.spec.seeds[i] for i in chosen))
    report = pack.report
    history = type(report)(report.steps, {name: value[:, chosen] for name, value in report.values.items()})
    return diagnose(pack.teacher()[chosen], pack.weights()[chosen], own, history)


def _counts(found: list[Diagnosis]) -> Table:
    table = Table("reason", "units")
    for reason, count in summary(found).items():
        table.add_row(reason, str(count))
    return table
