"""Models of one distribution at several targets, members side by side, and the panels that figures of them share."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from tutelage.autoencoders import Exact, InformationObjective, Model, settled_adam
from tutelage.autoencoders.exact import evaluate
from tutelage.autoencoders.parts import categorical_models, normal_models
from tutelage.autoencoders.training import normal_data, train_models, uniform_symbols
from tutelage.errors import TutelageError
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds
from tutelage.studies.claims import Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Scale

SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 4, "paper": 8}
COLLAPSED = "< 0.02"
"""Nats below which a code counts as collapsed."""
SYMBOLS = 10


def off_target(lower: np.ndarray, upper: np.ndarray, target: float) -> Measured:
    """|I - M| / M of models [S] whose information I lies between two bounds: the largest and the smallest it can be.

    >>> found = off_target(np.array([3.0, 5.0]), np.array([5.0, 6.0]), 4.0)
    >>> found.values.tolist(), found.at_best.tolist()
    ([0.25, 0.5], [0.0, 0.25])
    """
    below, above = lower - target, upper - target
    nearest = np.maximum(0.0, np.maximum(below, -above))
    return Measured(np.maximum(np.abs(below), np.abs(above)) / target, at_best=nearest / target)


class MutualAutoencoders(Experiment, kind="mutual-autoencoders", numerics=1):
    """Autoencoders of one number or one symbol, trained in one stack, each towards its own amount of information."""

    distribution: Literal["normal", "symbols"]
    """Data: numbers of N(0, 1), or ten equally likely symbols; fresh ones at every step."""
    targets: tuple[NonNegativeFloat | None, ...]
    """Information of each member in nats; None for a VAE."""
    seeds: Seeds
    """Seed of each member; as many as there are targets."""
    steps: PositiveInt
    batch: PositiveInt = 128
    learning_rate: PositiveFloat
    resample: PositiveInt = 1
    """Normals that the encoder resamples from; 1 for a normal encoder."""
    penalty: PositiveFloat = 1.0
    """C, the weight of the distance from the target."""
    latent: PositiveInt = 1
    """Numbers of the code."""

    @model_validator(mode="after")
    def _one_target_per_member(self) -> "MutualAutoencoders":
        check_targets(self.targets, self.seeds)
        return self

    @property
    def cost(self) -> float:
        return 4e-4 * self.steps * self.members

    def run(self, context: Context) -> Arrays:
        symbols = self.distribution == "symbols"
        model = self.untrained()
        course = train_models(
            model,
            uniform_symbols(SYMBOLS) if symbols else normal_data,
            self.targets,
            self.seeds,
            settled_adam(self.steps, self.batch, self.learning_rate),
            objective=InformationObjective(penalty=self.penalty, resample=self.resample),
            most=float(np.log(SYMBOLS)) if symbols else None,
            on_progress=lambda share: context.progress(0.95 * share),
        )
        measures = {**vars(evaluated(model)), "estimate": course.estimate[-1].double()}
        weights = {_column(name): w for name, w in model.weights().items()}
        return {"target": nan_for_none(self.targets)} | {name: a.numpy() for name, a in (measures | weights).items()}

    def untrained(self) -> Model:
        """The models as training begins."""
        build = categorical_models if self.distribution == "symbols" else normal_models
        return build(self.seeds, latent=self.latent)


def evaluated(model: Model) -> Exact:
    """Exact quantities of every member; NaN for members whose decoder is too narrow for the grid of the quadrature."""
    try:
        return evaluate(model)
    except TutelageError:
        rows = [_one_evaluated(model.select([member])) for member in range(model.members)]
        return Exact(*(torch.cat([getattr(row, name) for row in rows]) for name in Exact.__dataclass_fields__))


def _one_evaluated(model: Model) -> Exact:
    try:
        return evaluate(model)
    except TutelageError:
        return Exact(*(torch.full((1,), torch.nan, dtype=torch.float64) for _ in Exact.__dataclass_fields__))


def every_target(targets: Sequence[float | None], seeds: Sequence[int]) -> dict[str, list]:
    """Settings of members with every target and every seed: member i * len(seeds) + s has target i and seed s."""
    return {"targets": [t for t in targets for _ in seeds], "seeds": [s for _ in targets for s in seeds]}


def check_targets(targets: Sequence[float | None], seeds: Sequence[int]) -> None:
    """Raise an error unless there is one target per member."""
    if len(targets) != len(seeds):
        raise TutelageError(f"targets must have one entry per seed, got {len(targets)} targets for {len(seeds)} seeds")


def nan_for_none(targets: Sequence[float | None]) -> np.ndarray:
    """Targets [S] as numbers, NaN for a VAE."""
    return np.array([np.nan if target is None else target for target in targets])


def _column(weights: str) -> str:
    """The name under which weights are stored: a word that SQL takes."""
    return weights.replace(".", "_")


def trained_models(result: Any) -> "TrainedAutoencoders":
    """The models of a stored result; members are as :func:`every_target` lays them out."""
    experiment = result.experiment
    model = experiment.untrained()
    for key, weights in model.weights().items():
        weights.copy_(torch.from_numpy(result[_column(key)]))
    exact = Exact(**{key: torch.from_numpy(result[key]) for key in Exact.__dataclass_fields__})
    targets, seeds = tuple(dict.fromkeys(experiment.targets)), tuple(dict.fromkeys(experiment.seeds))
    return TrainedAutoencoders(targets, seeds, model, result["estimate"], exact)


def trained_stack(results: Results) -> "TrainedAutoencoders":
    """The models of the single experiment of a study."""
    (result,) = results
    return trained_models(result)


@dataclass(frozen=True, eq=False)
class TrainedAutoencoders:
    """Trained models: member i * len(seeds) + s has target i and seed s; estimate: I as training had it, [S]."""

    targets: Sequence[float | None]
    seeds: Sequence[int]
    model: Model
    estimate: np.ndarray
    exact: Exact

    def rows(self, place: int) -> slice:
        """Members with target number ``place``."""
        return slice(place * len(self.seeds), (place + 1) * len(self.seeds))

    def of(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Values [S] by the name of their target."""
        return {name(target): values[self.rows(i)] for i, target in enumerate(self.targets)}

    @property
    def information(self) -> np.ndarray:
        return self.exact.information.numpy()

    def collapse(self) -> dict[str, np.ndarray]:
        """Exact information of the models that should have none."""
        return {k: v for k, v in self.of(self.information).items() if k in ("VAE", "M = 0")}

    def misses(self) -> dict[str, np.ndarray]:
        """|I - M| of models with a target above 0."""
        information = self.of(self.information)
        return {name(t): np.abs(information[name(t)] - t) for t in self.targets if t}

    def steps_between(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Differences between neighbouring targets, seed by seed."""
        placed = [(t, values[self.rows(i)]) for i, t in enumerate(self.targets) if t is not None]
        return {f"{name(a)} to {b:.4g}": w - v for (a, v), (b, w) in pairwise(placed)}


def name(target: float | None) -> str:
    return "VAE" if target is None else f"M = {target:.4g}"


def rows_and_one(rows: int) -> tuple[Figure, list[Axes], Axes]:
    """A figure with a column of flat panels that share x, and one large panel beside them."""
    figure = Figure(figsize=(8.4, 0.8 * rows + 0.6), layout="constrained")
    places = figure.add_gridspec(rows, 2, width_ratios=(1.25, 1))
    column = [figure.add_subplot(places[row, 0]) for row in range(rows)]
    for panel in column[:-1]:
        panel.tick_params(labelbottom=False)
    return figure, column, figure.add_subplot(places[:, 1])


def attained(panel: Axes, toys: TrainedAutoencoders) -> None:
    """Exact information against the target, one point per seed; the diagonal is what was asked for."""
    top = max(t for t in toys.targets if t is not None)
    panel.plot([0, top], [0, top], color="#888888", linewidth=0.8)
    for i, target in enumerate(toys.targets):
        information = toys.information[toys.rows(i)]
        place = np.full(len(information), target if target is not None else -0.12 * top)
        colour, words = (PALETTE[3], "VAE") if target is None else (PALETTE[0], "_" if target else "mutual autoencoder")
        panel.plot(place, information, "o", color=colour, markersize=4, alpha=0.6, label=words)
        if target is not None:
            estimate = toys.estimate[toys.rows(i)]
            panel.plot(
                place, estimate, "_", color=PALETTE[1], markersize=9, label="_" if target else "its own estimate"
            )
    panel.set(xlabel="M, nats", ylabel="exact I(x; z), nats")
    panel.legend(loc="upper left")
