"""Models of one law at several targets, members side by side, and the panels that figures of them share."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tutelage.autoencoders import Exact, Model, Sampler, Settings, evaluate, train_models
from tutelage.figures import PALETTE
from tutelage.studies.kept import Kept
from tutelage.studies.study import Scale

SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 4, "paper": 8}
COLLAPSED = "< 0.02"
"""Nats below which a code counts as collapsed."""


@dataclass(frozen=True, eq=False)
class Toys:
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
        found = self.of(self.information)
        return {name(t): np.abs(found[name(t)] - t) for t in self.targets if t}

    def steps_between(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Differences between neighbouring targets, seed by seed."""
        placed = [(t, values[self.rows(i)]) for i, t in enumerate(self.targets) if t is not None]
        return {f"{name(a)} to {b:.4g}": w - v for (a, v), (b, w) in pairwise(placed)}


def name(target: float | None) -> str:
    return "VAE" if target is None else f"M = {target:.4g}"


def trained(
    kept: Kept,
    what: str,
    build: Callable[[Sequence[int]], Model],
    data: Sampler,
    targets: Sequence[float | None],
    seeds: Sequence[int],
    settings: Settings,
    progress: Callable[[float], None],
    most: float | None = None,
) -> Toys:
    """Every target with every seed, in one stack; what: names the models and their data where they are kept."""
    members = [seed for _ in targets for seed in seeds]
    wanted = [target for target in targets for _ in seeds]
    model = build(members)

    def work() -> dict[str, torch.Tensor]:
        course = train_models(
            model, data, wanted, members, settings, most=most, on_progress=lambda p: progress(0.95 * p)
        )
        return {**model.weights(), **vars(evaluate(model)), "estimate": course.estimate[-1].double()}

    about = {"what": what, "targets": list(targets), "seeds": list(seeds), "most": most, **asdict(settings)}
    found = {name: torch.from_numpy(array) for name, array in kept.part(about, work).items()}
    for name, weights in model.weights().items():
        weights.copy_(found[name])
    progress(1.0)
    exact = Exact(**{name: found[name] for name in Exact.__dataclass_fields__})
    return Toys(targets, seeds, model, found["estimate"].numpy(), exact)


def table(toys: Toys) -> pa.Table:
    """One row a member."""
    return pa.Table.from_pylist(
        [
            {
                "target": target,
                "seed": seed,
                "estimate": float(toys.estimate[row]),
                "collapsed": bool(toys.exact.collapsed[row]),
                **{key: float(getattr(toys.exact, key)[row]) for key in toys.exact.__dataclass_fields__},
            }
            for i, target in enumerate(toys.targets)
            for s, seed in enumerate(toys.seeds)
            for row in [i * len(toys.seeds) + s]
        ]
    )


def rows_and_one(rows: int) -> tuple[Figure, list[Axes], Axes]:
    """A figure with a column of flat panels that share x, and one large panel beside them."""
    figure = Figure(figsize=(8.4, 1.0 * rows + 0.6), layout="constrained")
    places = figure.add_gridspec(rows, 2, width_ratios=(1.25, 1))
    column = [figure.add_subplot(places[row, 0]) for row in range(rows)]
    for panel in column[:-1]:
        panel.tick_params(labelbottom=False)
    return figure, column, figure.add_subplot(places[:, 1])


def attained(panel: Axes, toys: Toys) -> None:
    """Exact information against the target, a point a seed; the diagonal is what was asked for."""
    top = max(t for t in toys.targets if t is not None)
    panel.plot([0, top], [0, top], color="#888888", linewidth=0.8)
    for i, target in enumerate(toys.targets):
        found = toys.information[toys.rows(i)]
        place = np.full(len(found), target if target is not None else -0.12 * top)
        colour, words = (PALETTE[3], "VAE") if target is None else (PALETTE[0], "_" if target else "mutual autoencoder")
        panel.plot(place, found, "o", color=colour, markersize=4, alpha=0.6, label=words)
        if target is not None:
            said = toys.estimate[toys.rows(i)]
            panel.plot(place, said, "_", color=PALETTE[1], markersize=9, label="_" if target else "its own estimate")
    panel.set(xlabel="M, nats", ylabel="exact I(x; z), nats")
    panel.set_box_aspect(1)
    panel.legend(loc="upper left")
