"""Accuracy at any time: the running ensemble of the exits so far (Phuong 2021, Figs. 6.4 and 6.5)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.exits.studies._protocol import (
    ANYTIME,
    DISTILLED,
    EXIT_WISE,
    LABELLED,
    POOLED,
    REPEATS,
    SETTINGS,
    THREE,
    MethodAccuracies,
    accuracies,
    beside_the_paper,
    networks,
    over_sizes,
)
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.study import Plan, Scale, study


@study(
    "exits-anytime",
    paper="phuong2021",
    figure="6.4, 6.5",
    shows="Top-5 accuracy of the mean of the first m exits of an MSDNet, on CIFAR-100 and ImageNet: distillation is "
    "better than exit-wise training, most so for the first exits.",
)
def exits_anytime(scale: Scale) -> Plan:
    """Accuracy of networks with exits at any time."""
    claims = [two_exits, two_pooled, first_ones, all_exits, all_pooled, more_is_better]
    experiments = networks(SETTINGS[scale], LABELLED[scale], THREE, REPEATS[scale])
    return Plan(experiments, draw, claims, view=accuracies)


def draw(by_method: MethodAccuracies) -> Figure:
    """Test accuracy of the ensemble of the first m exits."""
    return beside_the_paper(by_method, THREE, "ensemble", ANYTIME, "exits in the ensemble", "Table 6.4")


def _gains(by_method: MethodAccuracies, place: int) -> dict[str, np.ndarray]:
    return {
        f"{by_method.images}({n})": by_method.gain(n, DISTILLED, EXIT_WISE, "ensemble")[:, place]
        for n in by_method.labelled
    }


two_exits = Claim(
    "stopped early, a distilled network answers better",
    statistic="test accuracy of exits 1 and 2 averaged, distilled minus exit-wise, repeat by repeat, in points",
    expected="> 0",
    values=lambda e: _gains(e, 1),
    reason=DIRECTION,
)

two_pooled = Claim(
    f"stopped early, a distilled network answers better {POOLED}",
    statistic="that gain, the mean over the numbers of labelled images of one seed, in points",
    expected="> 0",
    values=lambda e: over_sizes(e, two_exits.values(e)),
    reason=DIRECTION,
)

first_ones = Claim(
    "the gain of the first exit is larger than that of the mean of all exits",
    statistic="gain of exit 1 minus that of the mean of all exits, repeat by repeat, in points",
    expected="> 0",
    values=lambda e: {
        f"{e.images}({n})": e.gain(n, DISTILLED, EXIT_WISE, "ensemble")[:, 0]
        - e.gain(n, DISTILLED, EXIT_WISE, "ensemble")[:, -1]
        for n in e.labelled
    },
    reason=DIRECTION,
)

all_exits = Claim(
    "the mean of all exits gains too, as the paper says of CIFAR",
    statistic="test accuracy of the mean of all exits, distilled minus exit-wise, repeat by repeat, in points",
    expected="> 0",
    values=lambda e: _gains(e, -1),
    reason=DIRECTION,
)

all_pooled = Claim(
    f"the mean of all exits gains {POOLED}",
    statistic="that gain, the mean over the numbers of labelled images of one seed, in points",
    expected="> 0",
    values=lambda e: over_sizes(e, all_exits.values(e)),
    reason=DIRECTION,
)

more_is_better = Claim(
    "the mean of all exits answers better than the first exit",
    statistic="test accuracy of the mean of all exits minus that of exit 1, repeat by repeat, in points",
    expected="> 0",
    values=lambda e: {
        f"{method.name}, {e.images}({n})": e.values(n, method, "ensemble")[:, -1]
        - e.values(n, method, "ensemble")[:, 0]
        for n in e.labelled
        for method in THREE
        if (n, method.name) in e.runs
    },
    reason=DIRECTION,
    standing="own",
)
