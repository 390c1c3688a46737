"""A reproduced study as one file that a paper can be published with: packed, verified, and run again.

The file is a zip archive of what ``reproduce`` wrote for one study (settings, claims, the value of every member, the
numbers behind the figure, the figure, provenance), the command that computes it, the packages of the environment, and
the SHA-256 of each. It holds no weights and nothing that is executed. A reader takes from it only files of these names,
of limited size, and writes each itself, so that an archive of somebody else cannot write anywhere else.
"""

import hashlib
import json
import secrets
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distributions
from math import isfinite, isnan
from pathlib import Path

import pyarrow.parquet as pq

from tutelage.errors import TutelageError
from tutelage.files import replace_folder, write_atomically
from tutelage.lab.claim_values import NAME as VALUES
from tutelage.printing import printed
from tutelage.settings import one_line
from tutelage.studies.report.study_files import read_claims, read_provenance
from tutelage.studies.reproduce import reproduce
from tutelage.studies.study import SCALES

_STORED = ("claims.json", "settings.yaml", "numbers.parquet", VALUES, "provenance.json", "figure.png", "figure.pdf")
_MADE = ("commands.txt", "environment.txt")
_CONTENTS = "contents.json"
LARGEST = 1 << 28
"""The most bytes of a file in an archive that is read: 256 MiB."""
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of the format: the same files make the same bytes


def pack(folder: str | Path, file: str | Path) -> list[str]:
    """Write a reproduced study as one file.

    Parameters
    ----------
    folder
        Folder of the study, OUT/SCALE/STUDY, as :func:`tutelage.studies.reproduce` wrote it.
    file
        Zip archive to write.

    Returns
    -------
    list of str
        Names of the files in the archive.

    Examples
    --------
    >>> pack("reproduced/quick/l-shape", "l-shape.zip")[:2]  # doctest: +SKIP
    ['claims.json', 'settings.yaml']
    """
    folder, file = Path(folder), Path(file)
    about = read_claims(folder / "claims.json")[0]
    made = read_provenance(folder / "provenance.json")
    command = f"tutelage reproduce {about['study']} --scale {about['scale']}"
    state = f", commit {made['commit']}" if made["commit"] else ""
    packages = sorted({f"{found.metadata['Name']}=={found.version}" for found in distributions()}, key=str.lower)
    parts = {name: _read(folder / name) for name in _STORED}
    parts["commands.txt"] = f"# tutelage {made['version']}{state}\n{command}\n".encode()
    parts["environment.txt"] = "\n".join(["# packages where this was packed", *packages, ""]).encode()
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in parts.items()}
    contents = {"study": about["study"], "scale": about["scale"], "sha256": sums}
    parts[_CONTENTS] = json.dumps(contents, indent=1).encode()
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in parts.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
        temporary.replace(file)
    except OSError as error:
        raise TutelageError(f"{file} cannot be written ({error.strerror}): choose another file") from None
    finally:
        temporary.unlink(missing_ok=True)
    return list(parts)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TutelageError(f"{path} cannot be read ({error.strerror}): run 'tutelage reproduce' again") from None


@printed
@dataclass(frozen=True)
class PackedStudy:
    """A study that was unpacked, with every file as it was packed.

    Attributes
    ----------
    study, scale
        What was reproduced.
    folder
        Where its files are now; ``tutelage report`` and ``tutelage query`` read them.
    command
        What computes it again.
    """

    study: str
    scale: str
    folder: Path
    command: str


def unpack(file: str | Path, out: str | Path = "unpacked") -> PackedStudy:
    """Verify an archive that :func:`pack` wrote, and write its files to OUT/SCALE/STUDY: all of them, or none.

    Parameters
    ----------
    file
        The archive.
    out
        Folder to write to.

    Returns
    -------
    PackedStudy
        Where the files are.

    Raises
    ------
    TutelageError
        If a file is missing, is not the one that was packed, is larger than 256 MiB, or has another name.

    Examples
    --------
    >>> unpack("l-shape.zip").command  # doctest: +SKIP
    'tutelage reproduce l-shape --scale quick'
    """
    file, out = Path(file), Path(out)
    parts, study, scale = _verified(file)
    final = (out / scale / study).resolve()
    part = final.with_name(f".{study}.{secrets.token_hex(4)}.part")
    try:
        for name, data in parts.items():
            write_atomically(part / name, data)
        claims = read_claims(part / "claims.json")
        read_provenance(part / "provenance.json")
        if {(claim["study"], claim["scale"]) for claim in claims} != {(study, scale)}:
            raise TutelageError(f"{file} is of another study than its {_CONTENTS} says: nothing was unpacked")
        replace_folder(part, final)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return PackedStudy(study, scale, out / scale / study, f"tutelage reproduce {study} --scale {scale}")


def _verified(file: Path) -> tuple[dict[str, bytes], str, str]:
    """The files of an archive, each as it was packed; its study and scale."""
    try:
        with zipfile.ZipFile(file) as archive:
            parts = _parts(file, archive)
    except OSError as error:
        raise TutelageError(f"{file} cannot be read ({error.strerror or error})") from None
    except (TutelageError, MemoryError):
        raise
    except Exception as error:  # what a damaged archive may hold is various, and so is what its reader raises
        raise TutelageError(f"{file} is not a complete archive ({one_line(str(error))}): pack it again") from None
    try:
        contents = json.loads(parts.pop(_CONTENTS))
        study, scale, sums = contents["study"], contents["scale"], dict(contents["sha256"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise TutelageError(f"{file} has no {_CONTENTS} that can be read: pack it again") from None
    if scale not in SCALES or not isinstance(study, str) or not study.replace("-", "").replace("_", "").isalnum():
        raise TutelageError(f"{file} is of no study and scale that have a name: pack it again")
    for name in (*_STORED, *_MADE):
        if name not in parts:
            raise TutelageError(f"{file} lacks {name}: nothing was unpacked")
        if hashlib.sha256(parts[name]).hexdigest() != sums.get(name):
            raise TutelageError(f"{file} holds another {name} than was packed: nothing was unpacked")
    return parts, study, scale


def _parts(file: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The files of an archive by name, which must be those that `pack` writes, each once and of limited size."""
    parts: dict[str, bytes] = {}
    for entry in archive.infolist():
        name = entry.filename
        if name not in (*_STORED, *_MADE, _CONTENTS) or name in parts:
            raise TutelageError(
                f"{file} holds '{one_line(name, 80)}', which is not a file of a packed study: nothing was unpacked"
            )
        with archive.open(entry) as stream:
            parts[name] = stream.read(LARGEST + 1)  # what the entry says of its size may be wrong
        if len(parts[name]) > LARGEST:
            raise TutelageError(f"{name} in {file} has more than {LARGEST:,} bytes: nothing was unpacked")
    return parts


@printed
@dataclass(frozen=True)
class Rerun:
    """A packed study beside the same study computed again.

    Attributes
    ----------
    settings
        Whether the settings of all experiments are the same.
    verdicts
        Claims and settings whose verdict differs, with both verdicts.
    values
        How many values of members were compared.
    equal
        How many of them are equal.
    largest
        The largest difference among them, over the largest value of its claim.
    """

    settings: bool
    verdicts: list[str]
    values: int
    equal: int
    largest: float

    @property
    def agrees(self) -> bool:
        """Whether settings and verdicts are the same; values may differ by rounding on another machine."""
        return self.settings and not self.verdicts


def rerun(
    packed: PackedStudy, out: str | Path = "rerun", *, on_progress: Callable[[float], None] | None = None
) -> Rerun:
    """Compute a packed study again with the installed version, and compare.

    Parameters
    ----------
    packed
        What :func:`unpack` returned.
    out
        Folder for the new results, as of :func:`tutelage.studies.reproduce`.
    on_progress
        Called with the share of the work that is done.

    Returns
    -------
    Rerun
        What is the same and what differs.

    Examples
    --------
    >>> rerun(unpack("l-shape.zip")).agrees  # doctest: +SKIP
    True
    """
    [done] = reproduce(packed.study, packed.scale, out, on_progress=on_progress)  # type: ignore[arg-type]
    same_settings = (packed.folder / "settings.yaml").read_bytes() == (done.folder / "settings.yaml").read_bytes()
    before, now = (_values(folder / VALUES) for folder in (packed.folder, done.folder))
    both = {key: (before[key], now[key]) for key in before if key in now}
    return Rerun(same_settings, _other_verdicts(packed.folder, done.folder), len(both), *_gaps(both))


def _other_verdicts(packed: Path, computed: Path) -> list[str]:
    """A sentence per claim and setting whose verdict differs."""
    first, second = (
        {(c["claim"], c["setting"]): c["verdict"] for c in read_claims(folder / "claims.json")}
        for folder in (packed, computed)
    )
    return [
        f"{': '.join(filter(None, key))}: {first.get(key, 'nothing')} was packed, {second.get(key, 'nothing')} came now"
        for key in first | second
        if first.get(key) != second.get(key)
    ]


def _gaps(both: dict[tuple[str, str, int], tuple[float, float]]) -> tuple[int, float]:
    """How many pairs of values are equal, and the largest difference over the largest value of its claim."""
    size: dict[str, float] = {}
    for (claim, _, _), (old, _) in both.items():
        size[claim] = max(size.get(claim, 0.0), abs(old) if isfinite(old) else 0.0)
    gaps = [abs(old - new) / (size[key[0]] or 1.0) for key, (old, new) in both.items() if isfinite(old - new)]
    return sum(map(_equal, both.values())), max(gaps, default=0.0)


def _equal(pair: tuple[float, float]) -> bool:
    return pair[0] == pair[1] or all(map(isnan, pair))


def _values(path: Path) -> dict[tuple[str, str, int], float]:
    """The value of every member by claim, setting and member."""
    try:
        rows = pq.read_table(path, columns=["claim", "setting", "member", "value"]).to_pylist()
    except (OSError, ValueError, KeyError) as error:
        raise TutelageError(f"{path} is damaged ({one_line(str(error))})") from None
    return {(row["claim"], row["setting"], row["member"]): float(row["value"]) for row in rows}
