"""The paper's CIFAR-100(150) on CIFAR-10 with as many images and steps (Phuong 2021, Figs. 6.3 and 6.5).

With 1,050 labelled images per class, 50 of them held, CIFAR-10 gives the 10,000 images to learn from that CIFAR-100 has
with 150 per class, and 300 epochs are the paper's 46,800 steps. Ten networks take 22 minutes on one H200; the state of
each is kept after every tenth of its training, so that they can be trained in parts. The curves with unlabelled images
are a study of their own (:mod:`.unlabelled`), which needs as many images again.
"""

from typing import Any

from matplotlib.figure import Figure

from tutelage.exits.studies._drawing import two_modes
from tutelage.exits.studies._protocol import (
    DISTILLED,
    EXIT_WISE,
    REPEATS,
    SETTINGS,
    MethodAccuracies,
    accuracies,
    networks,
)
from tutelage.exits.studies._thesis import ANYTIME, BUDGET
from tutelage.exits.studies.anytime import all_exits, more_is_better, two_exits
from tutelage.exits.studies.budget import first_exit, smallest_budget, whole_budget
from tutelage.studies.study import Plan, Scale, study

LABELLED: dict[Scale, int] = {"smoke": 12, "quick": 90, "paper": 1050}
OURS: dict[Scale, dict[str, Any]] = {
    "smoke": SETTINGS["smoke"],
    "quick": SETTINGS["quick"],
    "paper": SETTINGS["paper"] | {"total": 5000},
}
TWO = (EXIT_WISE, DISTILLED)


@study(
    "exits-size-matched",
    paper="phuong2021",
    figure="6.3, 6.5, with CIFAR-10 of the same size",
    shows="Top-5 accuracy of an MSDNet that learns from 10,000 images of CIFAR-100: distillation from the last exit is "
    "better than exit-wise training, most so at the first exits.",
)
def exits_size_matched(scale: Scale) -> Plan:
    """Networks with exits on as many images of CIFAR-10 as the paper has of CIFAR-100."""
    claims = [first_exit, smallest_budget, whole_budget, two_exits, all_exits, more_is_better]
    experiments = networks(OURS[scale], [LABELLED[scale]], TWO, REPEATS[scale])
    return Plan(experiments, draw, claims, view=accuracies)


def draw(by_method: MethodAccuracies) -> Figure:
    """Budget mode and anytime mode; the paper's own below, another data set and another measure."""
    return two_modes(by_method, TWO, BUDGET[150], ANYTIME[150], ("Table 6.2", "Table 6.4"), "CIFAR-100(150)")
