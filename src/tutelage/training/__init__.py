"""How students learn: engines, schedules, the training loop and what it records."""

from tutelage.training import stacked as _stacked  # noqa: F401  (registers itself)
from tutelage.training.engine import ENGINES, Engine, choose, engine
from tutelage.training.schedules import Constant, Cosine, Drops, Schedule
from tutelage.training.task import Task, Training
from tutelage.training.train import train
from tutelage.training.trajectory import Trajectory

__all__ = [
    "ENGINES",
    "Constant",
    "Cosine",
    "Drops",
    "Engine",
    "Schedule",
    "Task",
    "Training",
    "Trajectory",
    "choose",
    "engine",
    "train",
]
