"""The seed's protocol at its smallest size, 150 images a class, on images that are at hand (004, Figs. 6.3 and 6.5)."""

from dataclasses import replace

from matplotlib.figure import Figure

from tutelage.distillation.exit_training import ExitTraining
from tutelage.studies.exits._drawing import two_modes
from tutelage.studies.exits._protocol import SIZES, THREE, Evidence, Size, look, sized, table
from tutelage.studies.exits._thesis import ANYTIME, BUDGET
from tutelage.studies.exits.anytime import all_exits, more_is_better, two_exits
from tutelage.studies.exits.budget import first_exit, smallest_budget, unlabelled_help, whole_budget
from tutelage.studies.study import Plan, Scale, study

FASHION = replace(
    SIZES["paper"], images="fashion-mnist", network="conv", halve=(1, 3),
    training=ExitTraining(60, batch=32, drops=(30, 45)),
)  # fmt: skip
"""For a CPU: the small network."""


def smallest(scale: Scale) -> Size:
    """Quick: Fashion-MNIST. Paper: CIFAR and MSDNet, a quarter of an hour on a GPU. The least labelled images alone."""
    size = FASHION if scale == "quick" else sized(scale)
    return replace(size, labelled=size.labelled[:1])


@study(
    "exits-images",
    seed="004",
    figure="6.3, 6.5, CIFAR(150)",
    shows="Top-5 accuracy of an MSDNet on CIFAR-100 with 150 images a class, 50 of them held, and 350 without labels: "
    "distillation from the last exit is better than exit-wise training, most so at the first exits.",
)
def exits_images(scale: Scale) -> Plan:
    """Networks with exits on 150 images a class."""
    size = smallest(scale)
    claims = [first_exit, smallest_budget, whole_budget, unlabelled_help, two_exits, all_exits, more_is_better]
    return Plan([], draw, claims, table, lambda packs, tell: look(size, size.labelled, THREE, packs.kept, tell))


def draw(evidence: Evidence) -> Figure:
    """Budget mode and anytime mode; the seed's own below, another dataset and another measure."""
    return two_modes(evidence, THREE, BUDGET[150], ANYTIME[150], ("Table 6.2", "Table 6.4"), "CIFAR-100(150)")
