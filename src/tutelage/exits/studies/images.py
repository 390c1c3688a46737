"""The paper's protocol at its smallest size, 150 images per class, on images at hand (Phuong 2021, Figs. 6.3, 6.5)."""

from typing import Any

from matplotlib.figure import Figure

from tutelage.exits.studies._drawing import two_modes
from tutelage.exits.studies._protocol import (
    LABELLED,
    REPEATS,
    SETTINGS,
    THREE,
    MethodAccuracies,
    accuracies,
    networks,
)
from tutelage.exits.studies._thesis import ANYTIME, BUDGET
from tutelage.exits.studies.anytime import all_exits, more_is_better, two_exits
from tutelage.exits.studies.budget import first_exit, smallest_budget, unlabelled_help, whole_budget
from tutelage.exits.studies.exit_network import ExitNetwork
from tutelage.studies.study import Plan, Scale, study

FASHION: dict[str, Any] = {
    "images": "fashion-mnist", "held": 50, "total": 500, "halve": (1, 3), "epochs": 60, "drops": (30, 45),
}  # fmt: skip
"""For a CPU: the small network."""


def smallest(scale: Scale) -> list[ExitNetwork]:
    """Quick: Fashion-MNIST. Paper: CIFAR and MSDNet, a quarter of an hour on a GPU. The least labelled images alone."""
    if scale == "quick":
        return networks(FASHION, LABELLED["paper"][:1], THREE, REPEATS["paper"])
    return networks(SETTINGS[scale], LABELLED[scale][:1], THREE, REPEATS[scale])


@study(
    "exits-images",
    paper="phuong2021",
    figure="6.3, 6.5, CIFAR(150)",
    shows="Top-5 accuracy of an MSDNet on CIFAR-100 with 150 images per class, 50 of them held, and 350 without "
    "labels: distillation from the last exit is better than exit-wise training, most so at the first exits.",
)
def exits_images(scale: Scale) -> Plan:
    """Networks with exits on 150 images per class."""
    claims = [first_exit, smallest_budget, whole_budget, unlabelled_help, two_exits, all_exits, more_is_better]
    return Plan(smallest(scale), draw, claims, view=accuracies)


def draw(by_method: MethodAccuracies) -> Figure:
    """Budget mode and anytime mode; the paper's own below, another data set and another measure."""
    return two_modes(by_method, THREE, BUDGET[150], ANYTIME[150], ("Table 6.2", "Table 6.4"), "CIFAR-100(150)")
