"""Networks that can answer early (Phuong 2021, chapter 6).

Networks: exits attached to any backbone (``with_exits``), MSDNet (``CIFAR.build(classes)``, ``IMAGENET.build(...)``),
small ones (``multi_exit_conv``, ``multi_exit_mlp``), or a ``MultiExit`` of any stages and heads. Training:
``train_exits``, and ``train_side_by_side`` for several networks; the losses by which later exits teach earlier ones are
public, for other training loops. Inference: the best exit within a budget, an answer at any time, or as soon as one is
sure. Figures: ``studies``.
"""

from tutelage.exits.attached_exits import with_exits
from tutelage.exits.inference import (
    EarlyAnswer,
    ExitAccuracy,
    ExitTimes,
    best_exits,
    early_exit,
    exit_accuracy,
    exit_times,
    exit_within,
    running_ensemble,
    save_exit,
)
from tutelage.exits.msdnet import CIFAR, IMAGENET, MSDNet
from tutelage.exits.multi_exit import MultiExit, initialised, multi_exit_conv, multi_exit_mlp, pooled_head
from tutelage.exits.objective import UNLABELLED, Annealing, constant
from tutelage.exits.settings import ExitObjective
from tutelage.exits.training import ExitTask, TrainedExits, train_exits, train_side_by_side

__all__ = [
    "Annealing",
    "CIFAR",
    "EarlyAnswer",
    "ExitAccuracy",
    "ExitTask",
    "ExitTimes",
    "ExitObjective",
    "IMAGENET",
    "MSDNet",
    "MultiExit",
    "TrainedExits",
    "UNLABELLED",
    "best_exits",
    "constant",
    "early_exit",
    "exit_accuracy",
    "exit_times",
    "exit_within",
    "initialised",
    "multi_exit_conv",
    "multi_exit_mlp",
    "pooled_head",
    "running_ensemble",
    "save_exit",
    "train_exits",
    "train_side_by_side",
    "with_exits",
]
