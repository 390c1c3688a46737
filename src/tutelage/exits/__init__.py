"""Can a network answer early, and does it help that later exits teach earlier ones (Phuong 2021, chapter 6)?

Start with :func:`with_exits` (exits on any backbone; small networks: :func:`multi_exit_conv`; MSDNet:
``CIFAR.build(classes)``), :func:`train_exits` and :func:`exit_within` (the best exit within a budget).

To read, in this order: :mod:`.multi_exit`, :mod:`.attached_exits`, :mod:`.msdnet` (networks), :mod:`.objective` (the
losses), :mod:`.tasks`, :mod:`.training` (Algorithm 6.1), :mod:`.inference`; ``_courses``,
``_pupil`` and ``stacked`` train several networks at a time. Figures: ``studies``.
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
from tutelage.exits.training import train_exits

__all__ = [
    "Annealing",
    "CIFAR",
    "ExitObjective",
    "MSDNet",
    "MultiExit",
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
