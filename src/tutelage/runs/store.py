"""The store: one folder a pack, named by the hash of its spec, complete or absent."""

import hashlib
import io
import json
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tutelage import networks
from tutelage.errors import Refusal
from tutelage.files import write_atomically
from tutelage.measures import Report
from tutelage.networks import Network
from tutelage.runs.spec import Spec, to_yaml
from tutelage.runs.tables import INDEX, to_report, to_tables

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Pack:
    """A finished pack: its spec and the report of its measures; weights are read on demand."""

    spec: Spec
    report: Report
    folder: Path

    def weights(self, step: int | None = None) -> Network:
        """The students at a recorded step whose weights were kept (the last one unless told)."""
        step = self.spec.training.steps if step is None else step
        return networks.load(self.folder / f"students-{step}.safetensors")

    def teacher(self) -> Network:
        """The teachers of this pack."""
        return networks.load(self.folder / "teacher.safetensors")

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
        return (self.root / spec.hash).is_dir()

    def folder(self, spec: Spec) -> Path:
        return self.root / spec.hash

    def save(self, spec: Spec, report: Report, kept: dict[str, Network], log: list[dict[str, Any]]) -> Pack:
        """Write a pack whole: into a folder of another name, synced, then renamed."""
        final = self.folder(spec)
        part = self.root / f".{spec.hash}.{secrets.token_hex(4)}.part"
        teacher = spec.teacher.widths()
        try:
            part.mkdir()
            write_atomically(part / "spec.yaml", to_yaml(spec))
            write_atomically(part / "log.jsonl", "".join(json.dumps(line) + "\n" for line in log))
            for axis, table in to_tables(report, spec.seeds, teacher, spec.student.widths(teacher)).items():
                write_atomically(part / f"{axis}.parquet", parquet_bytes(table))
            for name, network in kept.items():
                networks.save(network, part / f"{name}.safetensors")
            sums = {file.name: _checksum(file) for file in sorted(part.iterdir())}
            write_atomically(part / MANIFEST, json.dumps({"files": sums}, indent=1))
            if final.exists():  # another writer was first, with the same result
                shutil.rmtree(part)
            else:
                os.rename(part, final)
                _sync_folder(self.root)
        except OSError as error:
            shutil.rmtree(part, ignore_errors=True)
            if not final.is_dir():
                raise Refusal(f"{final} cannot be written ({error.strerror}): free some space or use --out") from None
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        return Pack(spec, report, final)

    def load(self, spec: Spec) -> Pack:
        """Read a pack back; a file that is missing or does not match its checksum is refused by name."""
        folder = self.folder(spec)
        _verify(folder)
        teacher = spec.teacher.widths()
        tables = {
            axis: pq.read_table(folder / f"{axis}.parquet") for axis in INDEX if (folder / f"{axis}.parquet").is_file()
        }
        return Pack(spec, to_report(tables, teacher, spec.student.widths(teacher)), folder)


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def _checksum(file: Path) -> str:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _verify(folder: Path) -> None:
    advice = f"delete the folder {folder} and run the same command again"
    try:
        sums = json.loads((folder / MANIFEST).read_text())["files"]
        for name, wanted in sums.items():
            if _checksum(folder / name) != wanted:
                raise Refusal(f"the result {folder.name} is damaged ({name} does not match its checksum): {advice}")
    except OSError as error:
        missing = Path(error.filename or MANIFEST).name
        raise Refusal(f"the result {folder.name} is damaged ({missing} cannot be read): {advice}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, Refusal):
            raise
        raise Refusal(f"the result {folder.name} is damaged ({MANIFEST} is not readable): {advice}") from None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
