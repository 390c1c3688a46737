"""How students learn: engines, schedules, the training loop and what it records."""

from tutelage.discover import import_all
from tutelage.training.curricula import CURRICULA, curriculum
from tutelage.training.engine import ENGINES, Engine, engine
from tutelage.training.gradients import GRADIENTS, gradient
from tutelage.training.losses import LOSSES, loss
from tutelage.training.noise import Flips, GaussianNoise, Noise, StudentTNoise
from tutelage.training.optimisers import Adam, AdamW, GradientFlow, Sgd
from tutelage.training.rules import RULES, rule
from tutelage.training.schedules import Constant, Cosine, Drops, Inverse, Schedule, Settle, Stages
from tutelage.training.settings import Training
from tutelage.training.several import Trajectories
from tutelage.training.stopping import LossBelow, Plateau, Stop
from tutelage.training.task import Task
from tutelage.training.train import train
from tutelage.training.trajectory import Trajectory

import_all(__name__, __path__)

__all__ = [
    "CURRICULA",
    "ENGINES",
    "GRADIENTS",
    "LOSSES",
    "RULES",
    "Adam",
    "AdamW",
    "Constant",
    "Cosine",
    "Drops",
    "Engine",
    "Flips",
    "GaussianNoise",
    "GradientFlow",
    "Inverse",
    "LossBelow",
    "Noise",
    "Plateau",
    "Schedule",
    "Settle",
    "Sgd",
    "Stages",
    "Stop",
    "StudentTNoise",
    "Task",
    "Training",
    "Trajectories",
    "Trajectory",
    "curriculum",
    "engine",
    "gradient",
    "loss",
    "rule",
    "train",
]
