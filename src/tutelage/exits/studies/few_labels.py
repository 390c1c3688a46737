"""Very few labels: what unlabelled images add (Phuong 2021, Fig. E.2)."""

from matplotlib.figure import Figure

from tutelage.exits.studies._drawing import both_modes
from tutelage.exits.studies._protocol import (
    DISTILLED,
    EXIT_WISE,
    FEW,
    REPEATS,
    SETTINGS,
    THREE,
    WITH_UNLABELLED,
    MethodAccuracies,
    accuracies,
    networks,
    table,
)
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.study import Plan, Scale, study


@study(
    "exits-few-labels",
    paper="phuong2021",
    figure="Fig. E.2",
    shows="On CIFAR-100 with 80 images a class, 30 of them to learn from: distillation beats exit-wise training, and "
    "420 unlabelled images a class add at most one point.",
)
def exits_few_labels(scale: Scale) -> Plan:
    """Very few labels: what unlabelled images add."""
    claims = [distilled_wins, little_more, not_less]
    experiments = networks(SETTINGS[scale], [FEW[scale]], THREE, REPEATS[scale])
    return Plan(experiments, draw, claims, table, view=accuracies)


def draw(found: MethodAccuracies) -> Figure:
    """Accuracy in budget mode and anytime for the three ways of training."""
    return both_modes(found, THREE)


distilled_wins = Claim(
    "distillation beats exit-wise training at the first exit",
    statistic="test accuracy of exit 1, distilled minus exit-wise on the same repeat, in points",
    expected="> 0",
    refuted_by="an interval over repeats below 0",
    values=lambda e: {f"{e.images}({e.labelled[0]})": e.gain(e.labelled[0], DISTILLED, EXIT_WISE, "budget")[:, 0]},
    reason=DIRECTION,
)

little_more = Claim(
    "unlabelled images add at most one point",
    statistic="test accuracy in budget mode, with unlabelled images minus without, in points, at each budget",
    expected="< 1",
    refuted_by="an interval over repeats above 1 for that number of exits",
    values=lambda e: {
        f"{m + 1} exits available": column
        for m, column in enumerate(e.gain(e.labelled[0], WITH_UNLABELLED, DISTILLED, "budget").T)
    },
    reason="the one point of the sentence",
)

not_less = Claim(
    "and do no harm",
    statistic="test accuracy in budget mode, mean over budgets, with unlabelled images minus without, in points",
    expected="> -1",
    refuted_by="an interval over repeats below -1",
    values=lambda e: {
        f"{e.images}({e.labelled[0]})": e.gain(e.labelled[0], WITH_UNLABELLED, DISTILLED, "budget").mean(1)
    },
    reason="the same one point, downwards",
)
