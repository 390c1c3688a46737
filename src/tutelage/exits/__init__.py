"""Networks that can answer early (Phuong 2021, chapter 6).

Networks: exits attached to any backbone (``with_exits``), MSDNet (``CIFAR.build(classes)``, ``IMAGENET.build(...)``),
small ones (``multi_exit_conv``, ``multi_exit_mlp``), or a ``MultiExit`` of any stages and heads. Training:
``train_exits``, and ``train_side_by_side`` for several networks; the losses by which later exits teach earlier ones are
public, for other training loops. Inference: the best exit within a budget, an answer at any time, or as soon as one is
sure. Figures: ``studies``.
"""

from tutelage.exits.attached_exits import with_exits
from tutelage.exits.inference import (
    early_exit,
    exit_accuracy,
    exit_times,
    exit_within,
    save_exit,
)
from tutelage.exits.msdnet import CIFAR, MSDNet
from tutelage.exits.multi_exit import MultiExit, initialised, multi_exit_conv, multi_exit_mlp
from tutelage.exits.objective import Annealing
from tutelage.exits.tasks import ExitObjective
from tutelage.exits.training import TrainedExits, train_exits

__all__ = [
    "Annealing",
    "CIFAR",
    "ExitObjective",
    "MSDNet",
    "MultiExit",
    "TrainedExits",
    "early_exit",
    "exit_accuracy",
    "exit_times",
    "exit_within",
    "initialised",
    "multi_exit_conv",
    "multi_exit_mlp",
    "save_exit",
    "train_exits",
    "with_exits",
]
