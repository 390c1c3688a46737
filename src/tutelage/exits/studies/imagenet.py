"""The paper's ImageNet protocol, a tenth of the labelled images held (Phuong 2021, Figs. 6.2 and 6.4); on digits
without it.
"""

from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from tutelage.exits.studies._drawing import two_modes
from tutelage.exits.studies._protocol import REPEATS, SETTINGS, THREE, MethodAccuracies, accuracies, networks
from tutelage.exits.studies._thesis import IMAGENET_ANYTIME, IMAGENET_BUDGET
from tutelage.exits.studies.anytime import more_is_better, two_exits
from tutelage.exits.studies.budget import first_exit, smallest_budget
from tutelage.studies.study import Plan, Scale, study

LABELLED: dict[Scale, int] = {"smoke": 10, "quick": 20, "paper": 100}
OURS: dict[Scale, dict[str, Any]] = {
    "smoke": SETTINGS["smoke"] | {"held": 1},
    "quick": SETTINGS["quick"] | {"held": 2, "total": 100},
    "paper": {
        "images": "imagenet", "held": 10, "total": 700, "network": "msdnet, large", "top": 5, "limit": 0.1,
        "epochs": 90, "batch": 256, "learning_rate": 0.5, "drops": (30, 60), "mixed": True,
    },
}  # fmt: skip
"""Paper: pictures of 1,000 classes in folders imagenet/train/CLASS and imagenet/val/CLASS in the folder of data sets;
700 of each class are read into the host's memory, some 140 GB for all classes. Fewer classes take less memory."""


@study(
    "exits-imagenet",
    paper="phuong2021",
    figure="6.2, 6.4, ImageNet(100)",
    shows="Top-5 accuracy of an MSDNet on ImageNet with 100 labelled images per class, a tenth of them held, and 600 "
    "without labels: distillation raises the first exit by 3.7 points, later ones by less.",
)
def exits_imagenet(scale: Scale) -> Plan:
    """Networks with exits on ImageNet, where its files are at hand."""
    columns = IMAGENET_BUDGET[100]
    gains = [columns[THREE[1].name][k] - columns[THREE[0].name][k] for k in (0, -1)]
    place = "ImageNet(100) (Table 6.1, top-5)"
    first = replace(first_exit, published=f"{gains[0]:+.1f} for {place}")
    smallest = replace(smallest_budget, published=f"{gains[0] - gains[1]:+.1f} for {place}")
    claims = [first, smallest, two_exits, more_is_better]
    experiments = networks(OURS[scale], [LABELLED[scale]], THREE, REPEATS[scale])
    return Plan(experiments, draw, claims, view=accuracies)


def draw(by_method: MethodAccuracies) -> Figure:
    """Budget mode and anytime mode; the paper's own below."""
    return two_modes(
        by_method, THREE, IMAGENET_BUDGET[100], IMAGENET_ANYTIME[100], ("Table 6.1", "Table 6.3"), "ImageNet(100)"
    )
