"""Annealing of the temperature, against temperatures that stay (Phuong 2021, Figs. 6.6 and 6.7)."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from tutelage.exits.objective import Annealing
from tutelage.exits.studies._protocol import (
    DISTILLED,
    LABELLED,
    SETTINGS,
    Method,
    MethodAccuracies,
    accuracies,
    curves,
    networks,
)
from tutelage.studies.claims import DIRECTION, SIGNED, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

STAYING = tuple(Method(f"temperature {t}", temperature=float(t)) for t in (1, 2, 3, 4))
METHODS = (DISTILLED, *STAYING)
MEMBERS: dict[Scale, int] = {"smoke": 2, "quick": 5, "paper": 5}
LIMIT = Annealing().limit


@study(
    "exits-temperature",
    paper="phuong2021",
    figure="6.6, 6.7",
    shows="On CIFAR-100 the confidence of the last exit rises in training; divided by an annealed temperature it stays "
    "slightly below the limit. A temperature of 1 is clearly worse than annealing, 2, 3 and 4 are nearly as good.",
)
def exits_temperature(scale: Scale) -> Plan:
    """Annealing of the temperature, against temperatures that stay."""
    claims = [raw_rises, below_limit, near_limit, one_is_worse, others_no_better]
    experiments = networks(SETTINGS[scale], LABELLED[scale][1:2], METHODS, MEMBERS[scale])
    return Plan(experiments, draw, claims, view=partial(accuracies, methods=METHODS))


def _traces(by_method: MethodAccuracies) -> np.ndarray:
    """Temperature, adjusted and raw confidence of the annealed networks, by epoch: [S, 3, epochs]."""
    runs = by_method.runs[by_method.labelled[0], DISTILLED.name]
    return np.stack([run.trace for run in runs if run.trace is not None])


def draw(by_method: MethodAccuracies) -> Figure:
    """The trace of annealing; accuracy in budget mode and anytime, for annealing and for temperatures that stay."""
    figure = Figure(figsize=(8.6, 3.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    traces = _traces(by_method)
    epochs = np.arange(1, traces.shape[2] + 1)
    for row, label, colour in ((2, "confidence, raw", PALETTE[0]), (1, "confidence, adjusted", PALETTE[2])):
        left.plot(epochs, traces[:, row].mean(0), color=colour, label=label)
    left.axhline(LIMIT, color="#666666", linewidth=0.8, linestyle="--", label="limit")
    for drop in by_method.drops:
        left.axvline(drop, color="#bbbbbb", linewidth=0.8, linestyle=":")
    left.set(title=f"{by_method.images}({by_method.labelled[0]}): the last exit", xlabel="epoch", ylim=(0, 1.02))
    left.set_ylabel("confidence, mean over repeats")
    other = left.twinx()
    other.plot(epochs, traces[:, 0].mean(0), color=PALETTE[3], label="temperature")
    other.set_ylabel("temperature", color=PALETTE[3])
    other.grid(False)
    left.legend(fontsize=6, loc="lower right")
    for axes, kind, xlabel in ((middle, "budget", "exits available"), (right, "ensemble", "exits in the ensemble")):
        curves(axes, by_method, by_method.labelled[0], METHODS, kind)
        axes.set(title=f"{kind}, top-{by_method.top}", xlabel=xlabel)
    middle.set_ylabel("test accuracy, %")
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, ["annealed", *labels[1:]], fontsize=7, loc="outside lower center", ncols=5)
    return figure


def _half(by_method: MethodAccuracies) -> np.ndarray:
    """Adjusted confidence less the limit, mean over the second half of the epochs: [S]."""
    adjusted = _traces(by_method)[:, 1]
    return adjusted[:, adjusted.shape[1] // 2 :].mean(1) - LIMIT


def _setting(by_method: MethodAccuracies) -> str:
    return f"{by_method.images}({by_method.labelled[0]})"


raw_rises = Claim(
    "the last exit's raw confidence rises in training",
    statistic="raw confidence in the last tenth of the epochs minus that in the first tenth, repeat by repeat",
    expected="> 0",
    values=lambda e: {_setting(e): _ends(_traces(e)[:, 2])},
    reason=DIRECTION,
    possible=SIGNED,
)

below_limit = Claim(
    "adjusted confidence stays below the limit",
    statistic="adjusted confidence, mean over the second half of the epochs, minus the limit",
    expected="< 0",
    values=lambda e: {_setting(e): _half(e)},
    reason="the limit is a setting of the method",
    possible=SIGNED,
)

near_limit = Claim(
    "and only slightly so",
    statistic="adjusted confidence, mean over the second half of the epochs, minus the limit",
    expected="> -0.1",
    values=lambda e: {_setting(e): _half(e)},
    reason="a tenth of the range of a confidence is read as slightly",
    possible=SIGNED,
)


def _over_temperature_1(by_method: MethodAccuracies) -> dict[str, np.ndarray]:
    gain = by_method.gain(by_method.labelled[0], DISTILLED, STAYING[0], "budget")
    return {f"{_setting(by_method)}, exit 1": gain[:, 0], f"{_setting(by_method)}, mean over budgets": gain.mean(1)}


one_is_worse = Claim(
    "a temperature of 1 is clearly worse than annealing",
    statistic="test accuracy in budget mode, annealed minus temperature 1 on the same repeat, in points: of exit 1, "
    "and the mean over budgets, as for the other temperatures",
    expected="> 0",
    values=_over_temperature_1,
    reason=DIRECTION,
)

others_no_better = Claim(
    "annealing is as good as any temperature that stays, or better",
    statistic="test accuracy in budget mode, mean over budgets, annealed minus that temperature, in points",
    expected="> -1",
    values=lambda e: {m.name: e.gain(e.labelled[0], DISTILLED, m, "budget").mean(1) for m in STAYING[1:]},
    reason="one point is read as as good as",
)


def _ends(values: np.ndarray) -> np.ndarray:
    """Mean over the last tenth of the epochs less that over the first: [S, epochs] -> [S]."""
    tenth = max(1, values.shape[1] // 10)
    return values[:, -tenth:].mean(1) - values[:, :tenth].mean(1)
