"""The store: one folder a pack, named by the hash of its spec, complete or absent."""

import io
import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tutelage import networks
from tutelage.errors import Refusal
from tutelage.files import sync_folder, write_atomically
from tutelage.measures import Report
from tutelage.networks import Network
from tutelage.runs.manifest import MANIFEST, SPEC, Damage, check_spec, compose, is_pack, verify
from tutelage.runs.spec import Spec, from_yaml, to_yaml
from tutelage.runs.tables import INDEX, to_report, to_tables


@dataclass(frozen=True)
class Pack:
    """A finished pack: its spec and the report of its measures; weights are read on demand."""

    spec: Spec
    report: Report
    folder: Path

    def weights(self, step: int | None = None) -> Network:
        """The students at a recorded step whose weights were kept (the last one unless told)."""
        step = self.spec.training.steps if step is None else step
        return self._network(f"students-{step}.safetensors")

    def teacher(self) -> Network:
        """The teachers of this pack."""
        return self._network("teacher.safetensors")

    def _network(self, name: str) -> Network:
        if (self.folder / name).is_symlink():
            raise Damage(self.folder, name, "is a link, not a file")
        return networks.load(self.folder / name)

    def widths(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Widths of the teacher and of the students."""
        teacher = self.spec.teacher.widths()
        return teacher, self.spec.student.widths(teacher)


class Store:
    """A folder of packs. What lies under its final name is whole; a crash leaves only a ``.part`` folder behind."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            probe = self.root / f".probe-{secrets.token_hex(4)}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise Refusal(
                f"{self.root} cannot be written ({error.strerror}): choose another folder with --out"
            ) from None

    def __contains__(self, spec: Spec) -> bool:
        return is_pack(self.folder(spec))

    def folder(self, spec: Spec) -> Path:
        return self.root / spec.hash

    def save(self, spec: Spec, report: Report, kept: dict[str, Network], log: list[dict[str, Any]]) -> Pack:
        """Write a pack whole: into a folder of another name, synced, then renamed."""
        final = self.folder(spec)
        part = self.root / f".{spec.hash}.{secrets.token_hex(4)}.part"
        teacher = spec.teacher.widths()
        try:
            part.mkdir()
            write_atomically(part / SPEC, to_yaml(spec))
            write_atomically(part / "log.jsonl", "".join(json.dumps(line) + "\n" for line in log))
            for axis, table in to_tables(report, spec.seeds, teacher, spec.student.widths(teacher)).items():
                write_atomically(part / f"{axis}.parquet", parquet_bytes(table))
            for name, network in kept.items():
                networks.save(network, part / f"{name}.safetensors")
            write_atomically(part / MANIFEST, compose(spec, part, log))
            land(part, final)
        except OSError as error:
            shutil.rmtree(part, ignore_errors=True)
            raise Refusal(f"{final} cannot be written ({error.strerror}): free some space or use --out") from None
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        return Pack(spec, report, final)

    def load(self, spec: Spec) -> Pack:
        """Read a pack back; a file that is missing or does not match its checksum is refused by name."""
        return load_pack(self.folder(spec), spec)


def load_pack(folder: Path, spec: Spec | None = None) -> Pack:
    """The pack in a folder, of the spec it names itself unless one is given; nothing is written there."""
    manifest = verify(folder, None if spec is None else spec.hash)
    if spec is None:
        check_spec(folder, manifest)
        spec = from_yaml(folder / SPEC)
    teacher, tables = spec.teacher.widths(), {}
    for axis in INDEX:
        if (name := f"{axis}.parquet") in manifest.files:
            try:
                tables[axis] = pq.read_table(folder / name)
            except (pa.ArrowException, OSError):
                raise Damage(folder, name, "is not a Parquet table") from None
    try:
        return Pack(spec, to_report(tables, teacher, spec.student.widths(teacher)), folder)
    except (KeyError, ValueError):
        raise Damage(folder, MANIFEST, "belongs to tables of another shape") from None


def land(part: Path, final: Path) -> bool:
    """Give a finished folder its final name at one stroke; False where another writer was first, with the same result.

    Whoever reads the store finds the whole folder or none; of two writers at once one is first, the other gives way.
    """
    sync_folder(part)
    try:
        os.rename(part, final)
    except OSError:
        if not is_pack(final):
            raise
        shutil.rmtree(part)
        return False
    sync_folder(final.parent)
    return True


def set_aside(folder: Path, look: Callable[[Path], object]) -> Path | None:
    """Take a damaged pack its name, so that it can be written again; None where another run was first.

    Of two runs that find the same damage one may set aside what the other has computed anew in the meantime. So what
    was set aside is looked at again, with ``look``, which raises `Damage`, and gets its name back if it is whole.
    """
    aside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.damaged")
    try:
        os.rename(folder, aside)
    except FileNotFoundError:
        return None
    try:
        look(aside)
    except Damage:
        return aside
    land(aside, folder)
    return None


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
