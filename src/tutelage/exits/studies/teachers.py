"""Who teaches: the last exit alone, or all later exits (Phuong 2021, Fig. E.1)."""

from functools import partial

from matplotlib.figure import Figure

from tutelage.exits.studies._protocol import (
    DISTILLED,
    EXIT_WISE,
    LABELLED,
    REPEATS,
    SETTINGS,
    Method,
    MethodAccuracies,
    accuracies,
    both_modes,
    networks,
)
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.study import Plan, Scale, study

ALL_LATER = Method("taught by all later exits", teachers="later")
METHODS = (EXIT_WISE, DISTILLED, ALL_LATER)


@study(
    "exits-teachers",
    paper="phuong2021",
    figure="Fig. E.1",
    shows="On CIFAR-100, 250 images per class: exits taught by the last one and exits taught by all later ones are "
    "nearly equal, and both better than exits that nobody teaches.",
)
def exits_teachers(scale: Scale) -> Plan:
    """Who teaches: the last exit alone, or all later exits."""
    claims = [not_worse, not_better, taught_by_all]
    experiments = networks(SETTINGS[scale], LABELLED[scale][1:2], METHODS, REPEATS[scale])
    return Plan(experiments, draw, claims, view=partial(accuracies, methods=METHODS))


def draw(by_method: MethodAccuracies) -> Figure:
    """Accuracy in budget mode and anytime for the three choices of teachers."""
    return both_modes(by_method, METHODS)


def _difference(by_method: MethodAccuracies) -> dict:
    gain = by_method.gain(by_method.labelled[0], ALL_LATER, DISTILLED, "budget")
    return {f"{by_method.images}({by_method.labelled[0]})": gain.mean(1)}


not_worse = Claim(
    "all later exits teach nearly as well as the last alone",
    statistic="test accuracy in budget mode, mean over budgets, all later minus the last, in points",
    expected="> -1",
    values=_difference,
    reason="one point is read as nearly as well",
)

not_better = Claim(
    "and not much better",
    statistic="test accuracy in budget mode, mean over budgets, all later minus the last, in points",
    expected="< 1",
    values=_difference,
    reason="one point is read as not much better",
)

taught_by_all = Claim(
    "with all later exits as teachers the first exit gains as well",
    statistic="test accuracy of exit 1 minus that of exit-wise training on the same repeat, in points",
    expected="> 0",
    values=lambda e: {ALL_LATER.name: e.gain(e.labelled[0], ALL_LATER, EXIT_WISE, "budget")[:, 0]},
    reason=DIRECTION,
)
