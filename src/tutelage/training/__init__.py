"""How students learn: engines, schedules, the training loop and what it records."""

from tutelage.discover import import_all
from tutelage.training.engine import ENGINES, Engine, choose, engine
from tutelage.training.optimisers import Adam, Optimiser, Sgd, TrainingState
from tutelage.training.schedules import Constant, Cosine, Drops, Schedule
from tutelage.training.task import Task, Training
from tutelage.training.train import follow, make_task, train
from tutelage.training.trajectory import Trajectory

import_all(__name__, __path__)

__all__ = [
    "ENGINES",
    "Adam",
    "Constant",
    "Cosine",
    "Drops",
    "Engine",
    "Optimiser",
    "Schedule",
    "Sgd",
    "Task",
    "Training",
    "TrainingState",
    "Trajectory",
    "choose",
    "engine",
    "follow",
    "make_task",
    "train",
]
