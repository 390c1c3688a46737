"""How students learn: engines, schedules, the training loop and what it records."""

from tutelage.discover import import_all
from tutelage.training.engine import ENGINES, Engine, engine
from tutelage.training.optimisers import Adam, Optimiser, Sgd
from tutelage.training.schedules import Constant, Cosine, Drops, Schedule, Settle
from tutelage.training.settings import Training
from tutelage.training.task import Task
from tutelage.training.train import train
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
    "Settle",
    "Sgd",
    "Task",
    "Training",
    "Trajectory",
    "engine",
    "train",
]
