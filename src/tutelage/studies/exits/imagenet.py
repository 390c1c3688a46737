"""The seed's ImageNet protocol, a tenth of the labelled images held (004, Figs. 6.2 and 6.4); on digits without it."""

from dataclasses import replace

from matplotlib.figure import Figure

from tutelage.distillation.exit_training import ExitTraining
from tutelage.distillation.exits import Annealing
from tutelage.studies.exits._drawing import two_modes
from tutelage.studies.exits._protocol import SIZES, THREE, Evidence, Size, look, table
from tutelage.studies.exits._thesis import IMAGENET_ANYTIME, IMAGENET_BUDGET
from tutelage.studies.exits.anytime import more_is_better, two_exits
from tutelage.studies.exits.budget import first_exit, smallest_budget
from tutelage.studies.study import Plan, Scale, study

OURS: dict[Scale, Size] = {
    "smoke": replace(SIZES["smoke"], labelled=(10,), held=None),
    "quick": replace(SIZES["quick"], labelled=(20,), held=None, total=100),
    "paper": replace(
        SIZES["paper"], images="imagenet", labelled=(100,), held=None, total=700, network="msdnet, large", top=5,
        training=ExitTraining(90, 256, 0.5, drops=(30, 60), annealing=Annealing(limit=0.1), mixed=True),
    ),
}  # fmt: skip
"""Paper: pictures of 1,000 classes in folders imagenet/train/CLASS and imagenet/val/CLASS among the datasets; 700 of
each class are read into the host's memory, some 140 GB for all classes. Fewer classes take less, and are as welcome."""


@study(
    "exits-imagenet",
    seed="004",
    figure="6.2, 6.4, ImageNet(100)",
    shows="Top-5 accuracy of an MSDNet on ImageNet with 100 labelled images a class, a tenth of them held, and 600 "
    "without labels: distillation raises the first exit by 3.7 points, later ones by less.",
)
def exits_imagenet(scale: Scale) -> Plan:
    """Networks with exits on ImageNet, where its files are at hand."""
    size = OURS[scale]
    claims = [first_exit, smallest_budget, two_exits, more_is_better]
    return Plan([], draw, claims, table, lambda packs, tell: look(size, size.labelled, THREE, packs.kept, tell))


def draw(evidence: Evidence) -> Figure:
    """Budget mode and anytime mode; the seed's own below."""
    return two_modes(
        evidence, THREE, IMAGENET_BUDGET[100], IMAGENET_ANYTIME[100], ("Table 6.1", "Table 6.3"), "ImageNet(100)"
    )
