"""Experiments: settings with a hash, computed anywhere, stored complete or not at all."""

from tutelage.lab.context import Context
from tutelage.lab.experiment import Experiment, Shared, plain
from tutelage.lab.results import Result, Results

__all__ = ["Context", "Experiment", "Result", "Results", "Shared", "plain"]
