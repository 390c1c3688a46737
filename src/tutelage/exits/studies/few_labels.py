"""Very few labels: what unlabelled images add (Phuong 2021, Fig. E.2)."""

import numpy as np
from matplotlib.figure import Figure

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
    both_modes,
    networks,
)
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.study import Plan, Scale, study


@study(
    "exits-few-labels",
    paper="phuong2021",
    figure="Fig. E.2",
    shows="On CIFAR-100 with 80 images per class, 30 of them to learn from: distillation beats exit-wise training, and "
    "420 unlabelled images per class add at most one point.",
)
def exits_few_labels(scale: Scale) -> Plan:
    """Very few labels: what unlabelled images add."""
    claims = [distilled_wins, little_more, not_less]
    experiments = networks(SETTINGS[scale], [FEW[scale]], THREE, REPEATS[scale])
    return Plan(experiments, draw, claims, view=accuracies)


def draw(by_method: MethodAccuracies) -> Figure:
    """Accuracy in budget mode and anytime for the three ways of training."""
    return both_modes(by_method, THREE)


distilled_wins = Claim(
    "distillation beats exit-wise training at the first exit",
    statistic="test accuracy of exit 1, distilled minus exit-wise on the same repeat, in points",
    expected="> 0",
    values=lambda e: {f"{e.images}({e.labelled[0]})": e.gain(e.labelled[0], DISTILLED, EXIT_WISE, "budget")[:, 0]},
    reason=DIRECTION,
)


def by_budget(gains: np.ndarray) -> dict[str, np.ndarray]:
    """Gains [S, M] by the number of exits available; successive budgets with the same gains are listed once.

    With one exit more available the same ones may be chosen: these gains are the same numbers and no further evidence.
    """
    starts = [m for m in range(gains.shape[1]) if not m or (gains[:, m] != gains[:, m - 1]).any()]
    ends = [*starts[1:], gains.shape[1]]
    return {
        f"{start + 1} exits available" if end == start + 1 else f"{start + 1} to {end} exits available": gains[:, start]
        for start, end in zip(starts, ends, strict=True)
    }


little_more = Claim(
    "unlabelled images add at most one point",
    statistic="test accuracy in budget mode, with unlabelled images minus without, in points, at each budget; "
    "successive budgets with the same numbers (the same exits are chosen) count once",
    expected="< 1",
    values=lambda e: by_budget(e.gain(e.labelled[0], WITH_UNLABELLED, DISTILLED, "budget")),
    reason="the one point of the sentence",
)

not_less = Claim(
    "and do no harm",
    statistic="test accuracy in budget mode, mean over budgets, with unlabelled images minus without, in points",
    expected="> -1",
    values=lambda e: {
        f"{e.images}({e.labelled[0]})": e.gain(e.labelled[0], WITH_UNLABELLED, DISTILLED, "budget").mean(1)
    },
    reason="the same one point, downwards",
)
