"""More samples, more specialisation, the lowest layer first (Tian 2020, Fig. 6)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Results, TrainedStudents
from tutelage.specialisation.studies._deep_setting import NAMES, DeepTeacherSize, deep_experiment
from tutelage.studies.claims import DIRECTION, Claim
from tutelage.studies.figures import PALETTE, error_bars, panel_grid
from tutelage.studies.intervals import above_chance, at_step
from tutelage.studies.study import Plan, Scale, study

SIZES: dict[Scale, DeepTeacherSize] = {
    "smoke": DeepTeacherSize(
        seeds=3, steps=300, samples=(100, 2_000), inputs=12, hidden=(5, 6, 7), outputs=4, evaluate=500
    ),
    "quick": DeepTeacherSize(seeds=4, steps=8_000, samples=(1_000, 10_000, 40_000), evaluate=2_000),
    "paper": DeepTeacherSize(
        seeds=8, steps=62_500, samples=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
    ),
}
MEASURES = ("evaluate_loss", "cross_entropy", "agreement", "rho_mean", "label_power")


@study(
    "sample-complexity-deep",
    paper="tian2020",
    figure="6",
    shows="Evaluation loss and mean best correlation of every hidden layer against the number of samples, for a "
    "teacher of 50-75-100-125 units and students twice as wide, trained on the squared error and on cross-entropy: "
    "both improve with more samples, and the lowest layer is best.",
)
def sample_complexity_deep(scale: Scale) -> Plan:
    """More samples, more specialisation, the lowest layer first."""
    size = SIZES[scale]
    return Plan(
        experiments=[deep_experiment(size, loss, n, 2, MEASURES) for loss in NAMES for n in size.samples],
        figure=draw,
        claims=[generalises, specialises, every_layer, lowest_best, lowest_best_beyond_chance],
        numbers="layer",
    )


def _loss(result: TrainedStudents) -> np.ndarray:
    """Evaluation loss at the end: of the best constant's where it is the squared error, in nats where it is not."""
    if result.setting("loss") == "mse":
        return at_step(result, "evaluate_loss") / at_step(result, "label_power")
    return at_step(result, "cross_entropy")


def draw(results: Results) -> Figure:
    """Loss above, rho_mean of every layer below; bars are one standard error over seeds, dots untrained students."""
    figure, axes = panel_grid(["", ""], list(NAMES.values()), "training samples", "", size=(3.0, 2.2), sharey=False)
    for column, loss in enumerate(NAMES):
        chosen = sorted(results.where(loss=loss), key=lambda p: p.experiment.inputs.train)
        x = [p.experiment.inputs.train for p in chosen]
        error_bars(axes[0, column], x, np.array([_loss(p) for p in chosen]), "#444444", None)
        axes[0, column].set_yscale("log")
        rho = np.array([at_step(p, "rho_mean") for p in chosen])
        for layer in range(rho.shape[2]):
            error_bars(axes[1, column], x, rho[:, :, layer], PALETTE[layer], f"layer {layer + 1}")
            chance = at_step(chosen[-1], "rho_mean", 0)[:, layer].mean()
            axes[1, column].axhline(chance, color=PALETTE[layer], linewidth=0.7, linestyle=":")
        axes[1, column].set(xscale="log", ylim=(0, 1.03))
    axes[0, 0].set_ylabel("evaluation loss\n(of the best constant's)")
    axes[0, 1].set_ylabel("evaluation loss (nats)")
    axes[1, 0].set_ylabel(r"$\rho_{mean}$")
    axes[1, 0].legend(loc="upper left")
    return figure


def _ends(results: Results, loss: str) -> tuple[TrainedStudents, TrainedStudents]:
    """The experiments with the fewest and the most samples."""
    ordered = sorted(results.where(loss=loss), key=lambda p: p.experiment.inputs.train)
    return ordered[0], ordered[-1]


def _lowest(result: TrainedStudents) -> np.ndarray:
    return at_step(result, "rho_mean")[:, 0]


generalises = Claim(
    "with more samples generalisation becomes better",
    statistic="log10 of the evaluation loss with the most samples over that with the fewest, at the end, seed by seed",
    expected="< 0",
    values=lambda results: {
        name: np.log10(_loss(_ends(results, loss)[1]) / _loss(_ends(results, loss)[0])) for loss, name in NAMES.items()
    },
    reason=DIRECTION,
    place="Fig. 6",
)

specialises = Claim(
    "with more samples the lowest layer specialises more",
    statistic="rho_mean of the lowest layer with the most samples minus that with the fewest, at the end, seed by seed",
    expected="> 0.1",
    values=lambda results: {
        name: _lowest(_ends(results, loss)[1]) - _lowest(_ends(results, loss)[0]) for loss, name in NAMES.items()
    },
    reason="a tenth of the range of a correlation",
    place="Fig. 6",
)

every_layer = Claim(
    "students specialise at each layer",
    statistic="rho_mean of the layer with the most samples, at the end minus at the start, seed by seed",
    expected="> 0.1",
    values=lambda results: {
        f"{name}, layer {layer + 1}": gain[:, layer]
        for loss, name in NAMES.items()
        for gain in [(lambda p: at_step(p, "rho_mean") - at_step(p, "rho_mean", 0))(_ends(results, loss)[1])]
        for layer in range(gain.shape[1])
    },
    reason="a tenth of the range of a correlation",
    place="Fig. 6",
)


def _lead_of_lowest(result: TrainedStudents) -> np.ndarray:
    beyond = above_chance(at_step(result, "rho_mean"), at_step(result, "rho_mean", 0))
    return beyond[:, 0] - beyond[:, -1]


lowest_best = Claim(
    "the lowest layer converges better than the top layers at different sample sizes",
    statistic="rho_mean at the end, of the lowest hidden layer minus the largest of those above it, seed by seed",
    expected="> 0",
    values=lambda results: {
        f"{NAMES[p.setting('loss')]}, {p.experiment.inputs.train:,} samples": rho[:, 0] - rho[:, 1:].max(1)
        for p in results
        for rho in [at_step(p, "rho_mean")]
    },
    reason=DIRECTION,
    place="sec. 7, Fig. 6",
)

lowest_best_beyond_chance = Claim(
    "the lowest layer is found better than the top one, whatever the number of samples (our own count from chance)",
    statistic="rho_mean at the end, counted from that before training (chance) to 1: of the lowest hidden layer minus "
    "that of the highest, seed by seed",
    expected="> 0",
    values=lambda results: {
        f"{NAMES[p.setting('loss')]}, {p.experiment.inputs.train:,} samples": _lead_of_lowest(p) for p in results
    },
    reason=DIRECTION,
    standing="own",
)
