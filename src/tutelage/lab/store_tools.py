"""Care of a results folder: what it holds, whether it is whole, and what may go."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutelage.errors import TutelageError
from tutelage.files import is_at_work
from tutelage.lab.index import ResultsIndex, hashes
from tutelage.lab.manifest import SETTINGS, Damage, check_settings, damage, is_result, read, regular

LISTED = ("experiment", "kind", "finished", "members", "engine", "device", "seconds", "bytes", "damage")


def list_results(root: Path) -> list[dict[str, Any]]:
    """The experiments of a folder with what ``LISTED`` names; ``damage`` is None where every file has its size."""
    index = ResultsIndex(root)
    with closing(index.connection):
        whole = index.listed([*LISTED[:-1], "files"])
        index.keep()
    rows = [row | {"damage": _changed(f"{root}/{row['experiment']}", row.pop("files"))} for row in whole]
    rows += [dict.fromkeys(LISTED) | {"experiment": name, "damage": what} for name, what in index.damaged.items()]
    return sorted(rows, key=lambda row: str(row["experiment"]))


def _changed(folder: str, files: str) -> str | None:
    """What is wrong with the first file that is missing or has not the size that the index says."""
    for entry in files.split():
        name, size = entry.split("/")
        try:
            if (now := regular(Path(folder), name)) != int(size):
                return f"{name} has {now} bytes instead of {size}"
        except Damage as problem:
            return f"{name} {problem.what}"
    return None


def check(root: Path, chosen: Sequence[str] = ()) -> Iterator[tuple[str, list[Damage]]]:
    """Every experiment, or the chosen ones, with all of its damaged files: every byte is read and compared."""
    for name in select(root, chosen):
        problems = list(_all_damage(root / name))
        if not problems or os.path.lexists(root / name):  # else somebody has removed it in the meantime
            yield name, problems


@dataclass(frozen=True)
class Leftover:
    """A folder or file that a writer left unfinished, is still writing, or has set aside as damaged.

    ``age`` is the time since it last changed, in seconds.
    """

    path: Path
    age: float


def leftovers(root: Path) -> list[Leftover]:
    """What lies in a results folder under the names of unfinished work and of experiments that were set aside.

    ``.index`` is the folder of what earlier versions kept for queries.
    """
    now, files = time.time(), []
    for path in sorted(
        [*root.glob(".*.part"), *root.glob(".*.part.wal"), *root.glob(".*.damaged"), *root.glob(".index")]
    ):
        with suppress(OSError):  # it has landed in the meantime
            files.append(Leftover(path, max(0.0, now - _last_change(path))))
    return files


@dataclass(frozen=True)
class Removal:
    """Something to be removed, and why."""

    path: Path
    why: str


def garbage(root: Path, older_than: float, damaged: bool = False, chosen: Sequence[str] = ()) -> list[Removal]:
    """What may go: leftovers older than so many seconds, damaged experiments if asked, and experiments chosen by name.

    What somebody is writing is no leftover, however old it is.
    """
    named = set(select(root, chosen)) if chosen else set()
    out = [
        Removal(left.path, f"left over, unchanged for {left.age / 3600:.1f} hours")
        for left in leftovers(root)
        if left.age > older_than and not is_at_work(left.path)
    ]
    out += [Removal(root / name, "chosen by name") for name in sorted(named)]
    if damaged:
        bad = ((name, problems) for name, problems in check(root) if problems and name not in named)
        out += [Removal(root / name, f"damaged: {problems[0].file} {problems[0].what}") for name, problems in bad]
    return out


def remove(removal: Removal) -> None:
    """Remove an experiment or a leftover. An experiment loses its name first, so that nobody reads one of which half is
    gone.

    Links are removed, never followed.
    """
    path = removal.path
    try:
        if not path.name.startswith("."):
            aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
            os.rename(path, aside)
            path = aside
        if is_result(path):
            shutil.rmtree(path)
        else:
            path.unlink()
    except FileNotFoundError:
        pass  # somebody else was faster
    except OSError as error:
        raise TutelageError(f"{path} cannot be removed ({error.strerror}): remove it by hand") from None


def select(root: Path, chosen: Sequence[str] = ()) -> list[str]:
    """Names of all experiments, or the chosen ones if each of them is there."""
    known = hashes(root)
    for name in sorted(set(chosen) - set(known)):
        raise TutelageError(f"there is no experiment '{name}' in {root}: 'tutelage store list' shows which there are")
    return sorted(set(chosen)) if chosen else known


def _all_damage(folder: Path) -> Iterator[Damage]:
    try:
        manifest = read(folder)
        problems = list(damage(folder, manifest))
        yield from problems
        if SETTINGS not in {problem.file for problem in problems}:
            check_settings(folder, manifest)
    except Damage as one:
        yield one


def _last_change(path: Path) -> float:
    """When a file, or anything in a folder, last changed."""
    times = [path.lstat().st_mtime]
    if is_result(path):
        times += [entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(path)]
    return max(times)
