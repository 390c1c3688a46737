"""The L-shape of deep students, layer by layer over training (Tian 2019, Fig. 9)."""

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Results, TrainedStudents
from tutelage.specialisation.studies._deep_setting import BATCH, DeepTeacherSize, deep_experiment, layers_of
from tutelage.specialisation.studies._two_layer import BY_LIKENESS
from tutelage.studies.claims import DIRECTION, MODERATE, SIGNED, Claim, Measured
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.intervals import above_chance, at_step, fan_out_by_likeness
from tutelage.studies.study import Plan, Scale, study

SIZES: dict[Scale, DeepTeacherSize] = {
    "smoke": DeepTeacherSize(
        seeds=3, steps=400, samples=(2_000,), inputs=12, hidden=(5, 6, 7), outputs=4, evaluate=300
    ),
    "quick": DeepTeacherSize(seeds=3, steps=4_000, samples=(20_000,), evaluate=500),
    "paper": DeepTeacherSize(seeds=8, steps=312_500, samples=(200_000,), evaluate=2_000),
}
"""Paper: the samples and the hundred epochs of the code that the authors released."""
WIDTH_FACTORS: dict[Scale, float] = {"smoke": 4, "quick": 4, "paper": 10}
EARLY = 10
"""The epoch by which the lowest layer shows its L in the paper; an epoch is once through the samples."""
MEASURES = ("evaluate_loss", "rho_mean", "specialisation", "fan_out")


@study(
    "l-shape-deep",
    paper="tian2019",
    figure="9",
    shows="For the 50-75-100-125 teacher and students ten times as wide: best correlation of every student unit "
    "against sqrt(E beta_kk), in each layer over epochs; the lowest layer's L is there by epoch 10, higher layers "
    "follow.",
)
def l_shape_deep(scale: Scale) -> Plan:
    """The L-shape of deep students, layer by layer over training."""
    size = SIZES[scale]
    experiment = deep_experiment(size, "mse", size.samples[0], WIDTH_FACTORS[scale], MEASURES, _frames(size))
    return Plan([experiment], draw, [small_fan_out, tall_are_specialised, early_below, from_below], "unit")


def _epoch(size: DeepTeacherSize) -> int:
    return size.samples[0] // BATCH


def _frames(size: DeepTeacherSize) -> tuple[int, ...]:
    """Steps that are looked at: the first epoch, a quarter of the early ones, those themselves, half way."""
    wanted = _epoch(size), EARLY * _epoch(size) // 4, EARLY * _epoch(size), size.steps // 2
    return tuple(sorted({step for step in wanted if 0 < step < size.steps}))


def _early(result: TrainedStudents) -> int:
    """The recorded step of epoch ten, or the last one of a training that ends before."""
    return min(EARLY * (result.experiment.inputs.train // BATCH), result.experiment.steps)


def draw(results: Results) -> Figure:
    """Rows are layers from below, columns are recorded steps; the shade is the density of units."""
    (result,) = results
    steps = [step for step in result.report.steps if step > 0]
    epochs = [step * BATCH / result.experiment.inputs.train for step in steps]
    layers = len(result.experiment.teacher.widths()) - 2
    figure, axes = panel_grid(
        [f"layer {layer + 1}" for layer in range(layers)],
        [f"epoch {e:.3g}" for e in epochs],
        "best correlation",
        r"$\sqrt{E\,\beta_{kk}}$",
        size=(1.9, 1.6),
        sharey="row",
    )
    for column, step in enumerate(steps):
        x = layers_of(result, at_step(result, "specialisation", step))
        y = layers_of(result, at_step(result, "fan_out", step))
        for layer in range(layers):
            axes[layer, column].scatter(
                x[layer], y[layer], color=PALETTE[0], s=5, alpha=0.1, linewidths=0, rasterized=True
            )
    for row in axes:  # when all is drawn: a limit set before would hold for what comes after
        row[0].set_ylim(bottom=0)
    axes[0, 0].set_xlim(-0.02, 1.03)
    return figure


def _rank(result: TrainedStudents, step: int | None) -> list[np.ndarray]:
    x, y = (layers_of(result, at_step(result, name, step)) for name in ("specialisation", "fan_out"))
    return [fan_out_by_likeness(a, b) for a, b in zip(x, y, strict=True)]


small_fan_out = Claim(
    "the less a student unit resembles a teacher unit, the smaller its sqrt(E beta_kk), at every layer",
    statistic=BY_LIKENESS.replace("units,", "units of a layer,").replace("fan-out norm", "sqrt(E beta_kk)"),
    expected="> 0.3",
    values=lambda results: {
        f"layer {layer + 1}": Measured(ranks, baseline=chance)
        for result in results
        for layer, (ranks, chance) in enumerate(zip(_rank(result, None), _rank(result, 0), strict=True))
    },
    reason=MODERATE,
    possible=SIGNED,
    place="Fig. 9",
)


def _tall(result: TrainedStudents) -> list[np.ndarray]:
    """Mean best correlation of the tenth of a layer's units with the largest fan-out, beyond chance: [S] per layer.

    Chance is the mean best correlation of the layer's units before training.
    """
    best, fan_out = (layers_of(result, at_step(result, name)) for name in ("specialisation", "fan_out"))
    before = layers_of(result, at_step(result, "specialisation", 0))
    out = []
    for x, y, start in zip(best, fan_out, before, strict=True):
        tallest = np.argsort(-y, axis=1)[:, : max(1, x.shape[1] // 10)]
        out.append(above_chance(np.take_along_axis(x, tallest, axis=1).mean(1), start.mean(1)))
    return out


tall_are_specialised = Claim(
    "the units with the largest sqrt(E beta_kk) are specialised, at every layer (the upright stroke of the L)",
    statistic="mean best correlation of the tenth of a layer's units with the largest sqrt(E beta_kk) at the end, "
    "counted from that of all its units before training (chance) to 1",
    expected="> 0.5",
    values=lambda results: {
        f"layer {layer + 1}": values for result in results for layer, values in enumerate(_tall(result))
    },
    reason="half way from chance to a full match",
)


def _early_rank(result: TrainedStudents) -> np.ndarray:
    return _rank(result, _early(result))[0]


early_below = Claim(
    "at the lowest layer the L is there by epoch ten",
    statistic="the same rank correlation for the lowest layer after ten epochs (at the end of shorter trainings)",
    expected="> 0.3",
    values=lambda results: {"layer 1": _early_rank(*results)},
    reason=MODERATE,
    possible=SIGNED,
    place="Fig. 9",
)


def _lead(result: TrainedStudents) -> np.ndarray:
    rho = above_chance(at_step(result, "rho_mean", _early(result)), at_step(result, "rho_mean", 0))
    return rho[:, 0] - rho[:, -1]


from_below = Claim(
    "the lowest layer specialises before the highest",
    statistic="rho_mean after ten epochs, counted from that before training (chance) to 1: of the lowest layer minus "
    "that of the highest, seed by seed",
    expected="> 0",
    values=lambda results: {"layer 1 against the highest": _lead(*results)},
    reason=DIRECTION,
    place="Fig. 9",
)
