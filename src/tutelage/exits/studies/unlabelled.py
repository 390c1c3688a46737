"""Unlabelled images beside labelled ones, with as many as the paper has (Phuong 2021, Figs. 6.3 and 6.5).

The distilled networks are those of :mod:`.size_matched`; the others see as many unlabelled images of CIFAR-10 in every
batch, of 39,500: 30 million images in all, as many as all networks of that study see.
"""

from matplotlib.figure import Figure

from tutelage.exits.studies._drawing import two_modes
from tutelage.exits.studies._protocol import (
    DISTILLED,
    REPEATS,
    WITH_UNLABELLED,
    MethodAccuracies,
    accuracies,
    networks,
)
from tutelage.exits.studies._thesis import ANYTIME, BUDGET
from tutelage.exits.studies.anytime import more_is_better
from tutelage.exits.studies.budget import unlabelled_help
from tutelage.exits.studies.size_matched import LABELLED, OURS
from tutelage.studies.study import Plan, Scale, study

TWO = (DISTILLED, WITH_UNLABELLED)


@study(
    "exits-unlabelled",
    paper="phuong2021",
    figure="6.3, 6.5, with unlabelled images of CIFAR-10",
    shows="Top-5 accuracy of an MSDNet that learns from 10,000 labelled images of CIFAR-100 and 35,000 unlabelled "
    "ones: distillation on these too raises the first exits further.",
)
def exits_unlabelled(scale: Scale) -> Plan:
    """Networks with exits on labelled and unlabelled images of CIFAR-10, as many as the paper has of CIFAR-100."""
    experiments = networks(OURS[scale], [LABELLED[scale]], TWO, REPEATS[scale])
    return Plan(experiments, draw, [unlabelled_help, more_is_better], view=accuracies)


def draw(by_method: MethodAccuracies) -> Figure:
    """Budget mode and anytime mode; the paper's own below, another data set and another measure."""
    return two_modes(by_method, TWO, BUDGET[150], ANYTIME[150], ("Table 6.2", "Table 6.4"), "CIFAR-100(150)")
