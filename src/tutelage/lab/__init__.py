"""Experiments: settings with a hash, computed anywhere, stored complete or not at all, asked with SQL."""

from tutelage.lab.build import build
from tutelage.lab.context import Context
from tutelage.lab.execute import execute, pick_device
from tutelage.lab.experiment import Arrays, Experiment, Shared, plain
from tutelage.lab.jobs import BACKENDS, schedule
from tutelage.lab.loads import split, work
from tutelage.lab.on_processes import processes
from tutelage.lab.on_ray import on_ray
from tutelage.lab.on_slurm import on_slurm
from tutelage.lab.results import Result, Results
from tutelage.lab.store import Store, load_result
from tutelage.lab.tables import parquet_bytes, to_report, to_tables
from tutelage.lab.teacher_student import Record, TeacherStudent, from_yaml, to_yaml
from tutelage.lab.trained_students import TrainedStudents

__all__ = [
    "BACKENDS",
    "Arrays",
    "Context",
    "Experiment",
    "TrainedStudents",
    "Record",
    "Result",
    "Results",
    "Shared",
    "TeacherStudent",
    "Store",
    "build",
    "execute",
    "from_yaml",
    "load_result",
    "on_ray",
    "on_slurm",
    "split",
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
