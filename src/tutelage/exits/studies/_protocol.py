"""What the studies of exits share: sizes, ways of training, and the accuracies of networks trained in these ways."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutelage.exits.inference import best_exits
from tutelage.exits.studies.exit_network import TRACE, ExitNetwork, Teaching
from tutelage.lab import Results
from tutelage.studies.study import Scale

SETTINGS: dict[Scale, dict[str, Any]] = {
    "smoke": {"images": "blobs", "held": 4, "total": 20, "width": 4, "epochs": 2, "batch": 20, "drops": (1,)},
    "quick": {"images": "digits", "held": 50, "total": 130, "epochs": 180, "drops": (90, 135)},
    "paper": {
        "images": "cifar10", "held": 50, "total": 500, "network": "msdnet", "epochs": 300, "batch": 64,
        "learning_rate": 0.5, "drops": (150, 225), "mixed": True,
    },
}  # fmt: skip
"""Paper: the CIFAR protocol of the paper, on ten classes instead of a hundred and with the likeliest class alone."""
LABELLED: dict[Scale, tuple[int, ...]] = {"smoke": (10, 14), "quick": (55, 70), "paper": (150, 250, 350, 500)}
"""Labelled images per class, with those held; at the quick scale 5 and 20 digits per class to learn from."""
FEW: dict[Scale, int] = {"smoke": 8, "quick": 54, "paper": 80}
REPEATS: dict[Scale, int] = {"smoke": 2, "quick": 8, "paper": 5}


@dataclass(frozen=True)
class Method:
    """A way of training. temperature: a constant one, or None for annealing."""

    name: str
    teachers: Teaching = "last"
    temperature: float | None = None
    unlabelled: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the experiment."""
        return {"teachers": self.teachers, "temperature": self.temperature, "unlabelled": self.unlabelled}


EXIT_WISE = Method("exit-wise", teachers="none")
DISTILLED = Method("distilled")
WITH_UNLABELLED = Method("distilled, with unlabelled", unlabelled=True)
THREE = (EXIT_WISE, DISTILLED, WITH_UNLABELLED)
COLOURS = {EXIT_WISE.name: "#0072B2", DISTILLED.name: "#009E73", WITH_UNLABELLED.name: "#D55E00"}


def networks(
    settings: dict[str, Any], labelled: Sequence[int], methods: Sequence[Method], repeats: int
) -> list[ExitNetwork]:
    """Every method on every number of labelled images, a new subset and new initial weights per repeat.

    Where no image is without a label, methods that use such images are left out.
    """
    return [
        ExitNetwork(**settings, **method.settings, labelled=count, seed=seed)
        for count in labelled
        for method in methods
        if count < settings["total"] or not method.unlabelled
        for seed in range(repeats)
    ]


@dataclass(frozen=True, eq=False)
class NetworkAccuracy:
    """One network: accuracy of exits, of ensembles, on test and on held images [M]; trace by epoch [3, E]."""

    single: np.ndarray
    ensemble: np.ndarray
    held: np.ndarray
    trace: np.ndarray | None

    @property
    def budget(self) -> np.ndarray:
        """Test accuracy with 1, 2, ... exits available, the exit chosen on the held images: [M]."""
        return self.single[np.array(best_exits(self.held.tolist()), dtype=int) - 1]


@dataclass(frozen=True, eq=False)
class MethodAccuracies:
    """All repeats of every method at every number of labelled images per class: runs[labelled, method], one per repeat.

    held: of the labelled images per class, those held; total: images per class, with the unlabelled; drops: epochs
    after which the learning rate falls; top: a class counts as found among so many likeliest.
    """

    images: str
    held: int
    total: int
    drops: tuple[int, ...]
    top: int
    runs: dict[tuple[int, str], list[NetworkAccuracy]]

    @property
    def labelled(self) -> tuple[int, ...]:
        """Numbers of labelled images per class, in the order of the experiments."""
        return tuple(dict.fromkeys(count for count, _ in self.runs))

    def values(self, labelled: int, method: Method, kind: str) -> np.ndarray:
        """Accuracies in percent: "single", "ensemble" or "budget": [S, M]."""
        return 100 * np.stack([getattr(run, kind) for run in self.runs[labelled, method.name]])

    def gain(self, labelled: int, better: Method, worse: Method, kind: str) -> np.ndarray:
        """Differences of two methods on the same repeats, in points: [S, M]."""
        return self.values(labelled, better, kind) - self.values(labelled, worse, kind)


def accuracies(results: Results, methods: Sequence[Method] = THREE) -> MethodAccuracies:
    """The results by number of labelled images and by the method whose settings they have."""
    runs: dict[tuple[int, str], list[NetworkAccuracy]] = {}
    for labelled in dict.fromkeys(r.setting("labelled") for r in results):
        for method in methods:
            for r in results.where(labelled=labelled, **method.settings):
                trace = None if r.get(TRACE[0]) is None else np.stack([r[name][0] for name in TRACE])
                network = NetworkAccuracy(r["single"][0], r["ensemble"][0], r["held_out"][0], trace)
                runs.setdefault((labelled, method.name), []).append(network)
    about = next(iter(results)).experiment
    return MethodAccuracies(about.images, about.held, about.total, about.drops, about.top, runs)
