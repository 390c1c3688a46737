"""Accuracy within a budget: exit-wise training against distillation, with and without unlabelled images (Phuong 2021,
6.4).
"""

from matplotlib.figure import Figure

from tutelage.exits.studies._protocol import (
    BUDGET,
    DISTILLED,
    EXIT_WISE,
    LABELLED,
    POOLED,
    REPEATS,
    SETTINGS,
    THREE,
    WITH_UNLABELLED,
    Method,
    MethodAccuracies,
    accuracies,
    beside_the_paper,
    networks,
    over_sizes,
)
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.study import Plan, Scale, study


@study(
    "exits-budget",
    paper="phuong2021",
    figure="6.2, 6.3",
    shows="Top-5 accuracy of an MSDNet on CIFAR-100 and ImageNet against the number of exits it may use, for several "
    "numbers of labelled images: distillation from the last exit is better than training every exit by itself, most "
    "so for few images and small budgets.",
)
def exits_budget(scale: Scale) -> Plan:
    """Accuracy of networks with exits within a budget."""
    claims = [first_exit, pooled, least_data, smallest_budget, whole_budget, whole_pooled]
    claims += [unlabelled_help, unlabelled_pooled]
    experiments = networks(SETTINGS[scale], LABELLED[scale], THREE, REPEATS[scale])
    return Plan(experiments, draw, claims, view=accuracies)


def draw(by_method: MethodAccuracies) -> Figure:
    """Test accuracy against the number of exits available, the exit chosen on held images."""
    return beside_the_paper(by_method, THREE, "budget", BUDGET, "exits available", "Table 6.2")


def _name(by_method: MethodAccuracies, labelled: int) -> str:
    return f"{by_method.images}({labelled})"


def _printed(second: Method, first: Method, *exits: int) -> str:
    """Gain that Table 6.2 prints at the first of these exits, less that at the others, for two of its four sizes."""
    rows = []
    for labelled in (150, 350):
        columns = BUDGET[labelled]
        gains = [columns[second.name][k] - columns[first.name][k] for k in exits]
        rows.append(f"{gains[0] - sum(gains[1:]):+.1f} for CIFAR-100({labelled})")
    return f"{', '.join(rows)} (Table 6.2, top-5)"


first_exit = Claim(
    "at the smallest budget distillation beats exit-wise training",
    statistic="test accuracy of exit 1, distilled minus exit-wise on the same subset and start, in points",
    expected="> 0",
    values=lambda e: {_name(e, n): e.gain(n, DISTILLED, EXIT_WISE, "budget")[:, 0] for n in e.labelled},
    reason=DIRECTION,
    published=_printed(DISTILLED, EXIT_WISE, 0),
)

pooled = Claim(
    "and so it does over all numbers of images together (pooled per seed: each alone has few repeats)",
    statistic="that gain, the mean over the numbers of labelled images of one seed, in points",
    expected="> 0",
    values=lambda e: over_sizes(e, first_exit.values(e)),
    reason=DIRECTION,
)

least_data = Claim(
    "the gain is larger for the least data than for the most",
    statistic="gain of exit 1 at the fewest labelled images minus that at the most, repeat by repeat, in points",
    expected="> 0",
    values=lambda e: {
        f"{e.labelled[0]} against {e.labelled[-1]} a class": e.gain(e.labelled[0], DISTILLED, EXIT_WISE, "budget")[:, 0]
        - e.gain(e.labelled[-1], DISTILLED, EXIT_WISE, "budget")[:, 0]
    },
    reason=DIRECTION,
)

smallest_budget = Claim(
    "the gain is larger for the smallest budget than for the largest",
    statistic="gain with one exit available minus that with all of them, repeat by repeat, in points",
    expected="> 0",
    values=lambda e: {
        _name(e, n): e.gain(n, DISTILLED, EXIT_WISE, "budget")[:, 0] - e.gain(n, DISTILLED, EXIT_WISE, "budget")[:, -1]
        for n in e.labelled
    },
    reason=DIRECTION,
    published=_printed(DISTILLED, EXIT_WISE, 0, -1),
)

whole_budget = Claim(
    "distillation is better at the largest budget too, as the paper says of CIFAR",
    statistic="gain with all exits available, repeat by repeat, in points",
    expected="> 0",
    values=lambda e: {_name(e, n): e.gain(n, DISTILLED, EXIT_WISE, "budget")[:, -1] for n in e.labelled},
    reason=DIRECTION,
    published=_printed(DISTILLED, EXIT_WISE, -1),
)

whole_pooled = Claim(
    f"distillation is better at the largest budget {POOLED}",
    statistic="gain with all exits available, the mean over the numbers of labelled images of one seed, in points",
    expected="> 0",
    values=lambda e: over_sizes(e, whole_budget.values(e)),
    reason=DIRECTION,
)

unlabelled_help = Claim(
    "unlabelled images raise the first exit further, as the paper says of CIFAR",
    statistic="test accuracy of exit 1, with unlabelled images minus without, repeat by repeat, in points",
    expected="> 0",
    values=lambda e: {
        _name(e, n): e.gain(n, WITH_UNLABELLED, DISTILLED, "budget")[:, 0] for n in e.labelled if n < e.total
    },
    reason=DIRECTION,
    published=_printed(WITH_UNLABELLED, DISTILLED, 0),
)

unlabelled_pooled = Claim(
    f"unlabelled images raise the first exit {POOLED}",
    statistic="that difference, the mean over the numbers of labelled images of one seed, in points",
    expected="> 0",
    values=lambda e: over_sizes(e, unlabelled_help.values(e)),
    reason=DIRECTION,
)
