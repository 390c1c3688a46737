"""Experiments: settings with a hash, computed anywhere, stored complete or not at all, asked with SQL."""

from tutelage.lab import on_processes, on_ray, on_slurm  # noqa: F401 (they register themselves as places to run)
from tutelage.lab.build import build
from tutelage.lab.context import Context
from tutelage.lab.execute import execute
from tutelage.lab.experiment import Arrays, Experiment, Shared, to_yaml
from tutelage.lab.jobs import schedule
from tutelage.lab.loads import split
from tutelage.lab.results import Result, Results
from tutelage.lab.store import Store, load_result
from tutelage.lab.teacher_student import Record, TeacherStudent, from_yaml
from tutelage.lab.trained_students import TrainedStudents

__all__ = [
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
    "split",
    "schedule",
    "to_yaml",
]
