"""One protocol on four data sets: a network with exits, both modes, beside the columns of the paper (Phuong 2021, Figs.
6.2 to 6.5).

- ``exits-images``: 150 images per class of what is at hand, the smallest size of the paper.
- ``exits-size-matched``: CIFAR-10 with as many images and steps as the paper has of CIFAR-100(150): 1,050 labelled
  images per class, 50 of them held, give 10,000 images to learn from, and 300 epochs are the paper's 46,800 steps.
  Ten networks take 22 minutes on one H200; the state of each is kept after every tenth of its training.
- ``exits-unlabelled``: the same with unlabelled images beside labelled ones in every batch, of 39,500: 30 million
  images in all, as many as all networks of ``exits-size-matched`` see. The distilled networks are those of it.
- ``exits-imagenet``: ImageNet, a tenth of the labelled images held; on digits without it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from tutelage.exits.studies._exit_network import ExitNetwork
from tutelage.exits.studies._protocol import (
    ANYTIME,
    BUDGET,
    DISTILLED,
    EXIT_WISE,
    IMAGENET_ANYTIME,
    IMAGENET_BUDGET,
    LABELLED,
    REPEATS,
    SETTINGS,
    THREE,
    WITH_UNLABELLED,
    Method,
    MethodAccuracies,
    accuracies,
    networks,
    two_modes,
)
from tutelage.exits.studies.anytime import all_exits, more_is_better, two_exits
from tutelage.exits.studies.budget import first_exit, smallest_budget, unlabelled_help, whole_budget
from tutelage.studies.claims import Claim
from tutelage.studies.study import Plan, Scale, study

FASHION: dict[str, Any] = {
    "images": "fashion-mnist", "held": 50, "total": 500, "halve": (1, 3), "epochs": 60, "drops": (30, 45),
}  # fmt: skip
"""For a CPU: the small network."""
MATCHED_LABELLED: dict[Scale, int] = {"smoke": 12, "quick": 90, "paper": 1050}
MATCHED: dict[Scale, dict[str, Any]] = SETTINGS | {"paper": SETTINGS["paper"] | {"total": 5000}}
IMAGENET_LABELLED: dict[Scale, int] = {"smoke": 10, "quick": 20, "paper": 100}
IMAGENET: dict[Scale, dict[str, Any]] = {
    "smoke": SETTINGS["smoke"] | {"held": 1},
    "quick": SETTINGS["quick"] | {"held": 2, "total": 100},
    "paper": {
        "images": "imagenet", "held": 10, "total": 700, "network": "msdnet, large", "top": 5, "limit": 0.1,
        "epochs": 90, "batch": 256, "learning_rate": 0.5, "drops": (30, 60), "mixed": True,
    },
}  # fmt: skip
"""Paper: pictures of 1,000 classes in folders imagenet/train/CLASS and imagenet/val/CLASS in the folder of data sets;
700 of each class are read into the host's memory, some 140 GB for all classes. Fewer classes take less memory."""


def drawn(methods: Sequence[Method]) -> Callable[[MethodAccuracies], Figure]:
    """Budget mode and anytime mode; the paper's own below, another data set and another measure."""
    return partial(
        two_modes, methods=methods, budget=BUDGET[150], anytime=ANYTIME[150], tables=("Table 6.2", "Table 6.4"),
        dataset="CIFAR-100(150)",
    )  # fmt: skip


def draw_imagenet(by_method: MethodAccuracies) -> Figure:
    """Budget mode and anytime mode; the paper's own below."""
    columns = IMAGENET_BUDGET[100], IMAGENET_ANYTIME[100]
    return two_modes(by_method, THREE, *columns, ("Table 6.1", "Table 6.3"), "ImageNet(100)")


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
    return Plan(smallest(scale), drawn(THREE), claims, view=accuracies)


def smallest(scale: Scale) -> list[ExitNetwork]:
    """Quick: Fashion-MNIST. Paper: CIFAR and MSDNet, a quarter of an hour on a GPU. The least labelled images alone."""
    if scale == "quick":
        return networks(FASHION, LABELLED["paper"][:1], THREE, REPEATS["paper"])
    return networks(SETTINGS[scale], LABELLED[scale][:1], THREE, REPEATS[scale])


def _matched(scale: Scale, methods: Sequence[Method], claims: Sequence[Claim]) -> Plan:
    experiments = networks(MATCHED[scale], [MATCHED_LABELLED[scale]], methods, REPEATS[scale])
    return Plan(experiments, drawn(methods), claims, view=accuracies)


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
    return _matched(scale, (EXIT_WISE, DISTILLED), claims)


@study(
    "exits-unlabelled",
    paper="phuong2021",
    figure="6.3, 6.5, with unlabelled images of CIFAR-10",
    shows="Top-5 accuracy of an MSDNet that learns from 10,000 labelled images of CIFAR-100 and 35,000 unlabelled "
    "ones: distillation on these too raises the first exits further.",
)
def exits_unlabelled(scale: Scale) -> Plan:
    """Networks with exits on labelled and unlabelled images of CIFAR-10, as many as the paper has of CIFAR-100."""
    return _matched(scale, (DISTILLED, WITH_UNLABELLED), [unlabelled_help, more_is_better])


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
    least = replace(smallest_budget, published=f"{gains[0] - gains[1]:+.1f} for {place}")
    experiments = networks(IMAGENET[scale], [IMAGENET_LABELLED[scale]], THREE, REPEATS[scale])
    return Plan(experiments, draw_imagenet, [first, least, two_exits, more_is_better], view=accuracies)
