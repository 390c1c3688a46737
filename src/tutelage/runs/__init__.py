"""Specs, packs and the store: what was asked, what came of it, and where it lies."""

from tutelage.lab.experiment import plain
from tutelage.runs.build import build
from tutelage.runs.execute import execute, pick_device
from tutelage.runs.jobs import BACKENDS, schedule
from tutelage.runs.loads import packs_of, work
from tutelage.runs.on_processes import processes
from tutelage.runs.on_ray import on_ray
from tutelage.runs.on_slurm import on_slurm
from tutelage.runs.pack import Pack
from tutelage.runs.spec import Record, Spec, from_yaml, to_yaml
from tutelage.runs.store import Store, load_result
from tutelage.runs.tables import parquet_bytes, to_report, to_tables

__all__ = [
    "BACKENDS",
    "Pack",
    "Record",
    "Spec",
    "Store",
    "build",
    "execute",
    "from_yaml",
    "load_result",
    "on_ray",
    "on_slurm",
    "packs_of",
    "parquet_bytes",
    "pick_device",
    "plain",
    "processes",
    "schedule",
    "to_report",
    "to_tables",
    "to_yaml",
    "work",
]
