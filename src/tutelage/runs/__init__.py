"""Specs, packs and the store: what was asked, what came of it, and where it lies."""

from tutelage.runs.build import build
from tutelage.runs.execute import execute, pick_device
from tutelage.runs.loads import work
from tutelage.runs.spec import Record, Spec, from_yaml, plain, to_yaml
from tutelage.runs.store import Pack, Store, parquet_bytes
from tutelage.runs.tables import to_report, to_tables

__all__ = [
    "Pack",
    "Record",
    "Spec",
    "Store",
    "build",
    "execute",
    "from_yaml",
    "parquet_bytes",
    "pick_device",
    "plain",
    "to_report",
    "to_tables",
    "to_yaml",
    "work",
]
