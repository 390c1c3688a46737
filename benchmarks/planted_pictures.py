"""The pictures of docs/subjects/planted.md: one per score, from answers of methods of the package.

python benchmarks/planted_pictures.py [FOLDER]    (default: docs/figures)
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from tutelage.lab import Context
from tutelage.planted import METHODS, Difficulty, PlantedStudents, evaluate
from tutelage.planted.answer import Candidates, candidates
from tutelage.planted.experiment import PlantedScene, _InMemory
from tutelage.planted.scores import RECALLS, hits, score
from tutelage.studies.figures import PALETTE, house_style

SEEDS = 24
RIGHT, WRONG = PALETTE[2], PALETTE[1]


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")
    students = PlantedStudents(difficulty=Difficulty(), seeds=SEEDS)
    scene = PlantedScene.of(_InMemory(students, students.run(Context())))
    with house_style():
        for name, draw in PICTURES.items():
            figure = draw(scene)
            figure.savefig(folder / f"planted-{name}.png", dpi=130)


def answered(scene: PlantedScene, name: str, case: str = "trained") -> tuple[Candidates, dict[str, np.ndarray]]:
    """The checked answer of a method and its scores."""
    known = scene.truth(case, 1)
    view = scene.view(case, 1, METHODS[name], known)
    checked = candidates(METHODS[name].function(view, scene.seen), view, name)
    return checked, score(checked, known, scene.scoring, scene.experiment.seeds)


def panel(width: float = 4.6, height: float = 2.6):
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def recall(scene: PlantedScene) -> Figure:
    """Candidates of one student in order, with precision and recall."""
    figure, axes = panel()
    checked, _ = answered(scene, "integrated-gradients")
    known, member = scene.truth("trained", 1), 1
    _, units = hits(checked, known, scene.scoring)
    order = checked.scores[member].argsort(descending=True)
    units = units[member][order].numpy()
    ranks = np.arange(1, len(units) + 1)
    precision = (units >= 0).cumsum() / ranks
    found = [len(set(units[:k]) - {-1}) / int(known.inside[member].sum()) for k in ranks]
    axes.plot(ranks, precision, color=PALETTE[0], label="precision")
    axes.plot(ranks, found, color=PALETTE[3], label="recall")
    for right, colour, label in ((True, RIGHT, "right"), (False, WRONG, "wrong")):
        chosen = (units >= 0) == right
        axes.plot(ranks[chosen], np.full(chosen.sum(), -0.12), "s", color=colour, ms=5, label=label)
    last = ranks[1 - precision <= 0.1 + 1e-12].max()
    axes.axvline(last + 0.5, color="#666666", ls=":")
    axes.set(xlabel="candidates, the surest first", ylim=(-0.2, 1.05))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def precision_recall(scene: PlantedScene) -> Figure:
    figure, axes = panel(3.8)
    for place, name in enumerate(("oracle", "integrated-gradients", "magnitude", "pca", "random")):
        curve = np.nanmean(answered(scene, name)[1]["curve"], 0)
        axes.plot(RECALLS, curve, "o-", color=PALETTE[place], ms=3, label=name)
    axes.set(xlabel="recall", ylabel="precision", ylim=(-0.03, 1.05))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def calibration(scene: PlantedScene) -> Figure:
    figure, axes = panel(3.8)
    known = scene.truth("trained", 1)
    axes.plot([0, 1], [0, 1], color="#666666", ls=":")
    for place, name in enumerate(("max-correlation", "twin-correlation", "random")):
        checked, _ = answered(scene, name)
        right = (hits(checked, known, scene.scoring)[1] >= 0).numpy().ravel()
        stated = checked.probabilities.numpy().ravel()
        bins = np.minimum((stated * 5).astype(int), 4)
        used = [b for b in range(5) if (bins == b).sum() >= 10]
        x, y = ([v[bins == b].mean() for b in used] for v in (stated, right))
        axes.plot(x, y, "o-", color=PALETTE[place], ms=4, label=name)
    axes.set(xlabel="stated probability", ylabel="share that is right")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def coverage(scene: PlantedScene) -> Figure:
    figure, axes = panel()
    checked, _ = answered(scene, "twin-correlation")
    strength, _ = hits(checked, scene.truth("trained", 1), scene.scoring)
    member = 0
    low, high = checked.intervals[member].numpy().T
    for k, value in enumerate(strength[member].numpy()):
        held = low[k] <= value <= high[k]
        axes.plot([k, k], [low[k], high[k]], color=RIGHT if held else WRONG, lw=3, alpha=0.6)
        axes.plot(k, value, "_", color="#000000", ms=8)
    axes.set(xlabel="candidate", ylabel="correlation")
    return figure


def count(scene: PlantedScene) -> Figure:
    figure, axes = panel()
    names = ("oracle", "kmeans-weights", "kmeans-activations", "pca", "sparse-autoencoder")
    values = [answered(scene, name)[1]["count_bias"] for name in names]
    for place, bias in enumerate(values):
        axes.plot(np.full(len(bias), place) + np.linspace(-0.2, 0.2, len(bias)), bias, ".", color=PALETTE[0], alpha=0.6)
        axes.plot([place - 0.3, place + 0.3], [bias.mean()] * 2, color="#000000")
    axes.axhline(0, color="#666666", ls=":")
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
    axes.set_ylabel("stated minus true number")
    return figure


def invariance(scene: PlantedScene) -> Figure:
    names, cases = ("max-correlation", "magnitude"), ("trained", "permuted", "scaled", "split")
    figure = Figure(figsize=(5.4, 2.2), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2, sharey=True), names, strict=True):
        found = np.stack([answered(scene, name, case)[1]["found"][0] for case in cases])
        axes.imshow(found, cmap="Greens", vmin=0, vmax=1.4, aspect="auto")
        axes.set(title=name, xlabel="teacher unit", xticks=range(found.shape[1]))
        axes.set_yticks(range(len(cases)), cases)
        axes.grid(False)
    return figure


def power(scene: PlantedScene) -> Figure:
    figure, axes = panel(3.8)
    decays = (0.0, 1.0, 1.5, 2.0, 3.0)
    for place, name in enumerate(("linear-probe", "integrated-gradients", "nmf")):
        values = [evaluate(name, Difficulty(decay=decay), seeds=8)["recall"][:, 0, 0] for decay in decays]
        axes.plot(decays, [np.nanmean(v) for v in values], "o-", color=PALETTE[place], ms=4, label=name)
    axes.set(xlabel="strength decay p", ylabel="recall", ylim=(-0.03, 1.05))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


PICTURES = {
    "recall": recall,
    "precision-recall": precision_recall,
    "calibration": calibration,
    "coverage": coverage,
    "count": count,
    "invariance": invariance,
    "power": power,
}

if __name__ == "__main__":
    main()
