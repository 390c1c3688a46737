"""Do indices of similarity see what they should? The six tests of the ReSi benchmark (Klabunde et al. 2024) here.

    python benchmarks/similarity_tests.py [--members 10] [--json FILE]

Models are networks 64-64-64-64-10 trained here on the 8 x 8 digits, one stack per group; they are compared at their
last hidden layer on the test digits. Two tests ask for correlation (Spearman) of dissimilarity with the difference of
accuracies, and with that of predictions (disagreement and Jensen-Shannon divergence). Three make groups that must
differ by design: labels at random, an input that gives the label away, noise on the inputs. For them: share of
comparisons in which two models of one group are more alike than two of different groups, and average precision. The
last asks whether layers that are nearer to one another are more alike. 1 is best throughout.
"""

import argparse
import itertools
import json
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from torch import Tensor

import tutelage as tt
from provenance import provenance
from tutelage.data import load_images
from tutelage.measures import INDICES, similarity
from tutelage.networks import forward
from tutelage.training.inputs import from_tensors

WIDTHS, CLASSES, LEVELS = (64, 64, 64), 10, (0.0, 0.25, 0.5, 0.75, 1.0)
MATCHED = "matched units"


def digits() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Points [N, 64] in [0, 1] and labels, to train on and to test."""
    images = load_images("digits")
    (x, y), (u, v) = ((images.train, images.train_labels), (images.test, images.test_labels))
    scale = float(x.max())
    flat = [torch.from_numpy(np.asarray(a, dtype=np.float32)).flatten(1) / scale for a in (x, u)]
    return flat[0], torch.from_numpy(y), flat[1], torch.from_numpy(v)


def trained(x: Tensor, y: Tensor, members: int, first: int):
    """Networks trained on these points: one stack."""
    seeds = range(first, first + members)
    start = tt.students.FanInNormal(hidden=WIDTHS).build(
        tt.networks.BlackBox(None, x.shape[1], CLASSES, members), seeds
    )
    inputs = from_tensors(x, y, seeds=seeds)
    return tt.train(
        None, start, inputs, epochs=40, batch=32, learning_rate=0.1, loss="cross-entropy", keep="last"
    ).students


def activity(network, x: Tensor) -> tuple[list[Tensor], Tensor]:
    """Hidden layers [S, N, units] from below, and outputs [S, N, C], in float64."""
    found = forward(network.to("cpu", torch.float64), x.double())
    hidden = [found.features[i] for i in range(1, len(WIDTHS) + 1)]
    return hidden, found.outputs


def likeness(by: str, x: Tensor, y: Tensor) -> np.ndarray:
    """How alike, pair by pair, larger is more: [P, N, p], [P, N, q] -> [P]."""
    if by != MATCHED:
        values = similarity(x, y, by=by).numpy()
        return values if INDICES[by].identical == INDICES[by].high else -values
    x, y = ((a - a.mean(1, keepdim=True)) for a in (x, y))
    x, y = (a / a.norm(dim=1, keepdim=True).clamp_min(1e-300) for a in (x, y))
    rho = (x.mT @ y).numpy()
    return np.array([r[linear_sum_assignment(-r)].mean() for r in rho])


def pairs_of(by: str, layers: Tensor, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Likeness of models i and j for every pair, in pieces that fit into memory."""
    i, j = (torch.tensor([p[k] for p in pairs]) for k in (0, 1))
    pieces = zip(i.split(100), j.split(100), strict=True)
    return np.concatenate([likeness(by, layers[a], layers[b]) for a, b in pieces])


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """Mean Jensen-Shannon divergence of predictions [P, N, C]."""
    m = (p + q) / 2
    parts = [(a * (a.clamp_min(1e-300).log() - m.clamp_min(1e-300).log())).sum(-1) for a in (p, q)]
    return ((parts[0] + parts[1]) / 2).mean(-1)


def by_behaviour(layers: Tensor, outputs: Tensor, labels: Tensor) -> dict[str, dict[str, float]]:
    """Rank correlation of dissimilarity with differences of accuracy and of predictions."""
    pairs = list(itertools.combinations(range(len(layers)), 2))
    i, j = (torch.tensor([p[k] for p in pairs]) for k in (0, 1))
    chosen, odds = outputs.argmax(-1), outputs.softmax(-1)
    accuracy = (chosen == labels).double().mean(1)
    behaviour = {
        "accuracy": (accuracy[i] - accuracy[j]).abs().numpy(),
        "disagreement": (chosen[i] != chosen[j]).double().mean(1).numpy(),
        "divergence": divergence(odds[i], odds[j]).numpy(),
    }
    found: dict[str, dict[str, float]] = {}
    for by in (*INDICES, MATCHED):
        alike = pairs_of(by, layers, pairs)
        found[by] = {name: float(spearmanr(-alike, value).statistic) for name, value in behaviour.items()}
    return found


def average_precision(alike: np.ndarray, same: np.ndarray) -> float:
    """Area under precision against recall when pairs are called the same from the most alike on."""
    hits = same[np.argsort(-alike, kind="stable")]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def by_design(groups: list[Tensor]) -> dict[str, dict[str, float]]:
    """Whether models of one group are more alike than models of two: groups of layers [S, N, units]."""
    layers, member = torch.cat(groups), np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    pairs = list(itertools.combinations(range(len(layers)), 2))
    i, j = (np.array([p[k] for p in pairs]) for k in (0, 1))
    found = {}
    for by in (*INDICES, MATCHED):
        alike, shares, precisions = pairs_of(by, layers, pairs), [], []
        for g in range(len(groups)):
            touching = (member[i] == g) | (member[j] == g)
            same = (member[i] == member[j])[touching]
            inside, outside = alike[touching][same], alike[touching][~same]
            shares.append(float((inside[:, None] > outside).mean()))
            precisions.append(average_precision(alike[touching], same))
        found[by] = {"share": float(np.mean(shares)), "precision": float(np.mean(precisions))}
    return found


def by_layers(hidden: list[Tensor]) -> dict[str, dict[str, float]]:
    """Share of the triples of layers of one model in which the nearer two are more alike."""
    places = itertools.product(range(len(hidden)), repeat=3)
    triples = [(a, b, c) for a, b, c in places if 0 < abs(a - b) < abs(a - c)]
    found = {}
    for by in (*INDICES, MATCHED):
        right = [likeness(by, hidden[a], hidden[b]) > likeness(by, hidden[a], hidden[c]) for a, b, c in triples]
        found[by] = {"share": float(np.mean(right))}
    return found


def designs(x: Tensor, y: Tensor):
    """Training sets of the groups of each design, and how the test points look to it."""
    draw = torch.Generator().manual_seed(1)
    wrong, order = torch.randint(CLASSES, y.shape, generator=draw), torch.rand(y.shape, generator=draw)
    hint = torch.nn.functional.one_hot(y, CLASSES).float()
    other = torch.nn.functional.one_hot(wrong, CLASSES).float()
    noise = torch.randn(x.shape, generator=draw)
    yield "labels at random", [(x, torch.where(order < level, wrong, y)) for level in LEVELS]
    yield "label given away", [(torch.cat([x, torch.where(order[:, None] < v, hint, other)], 1), y) for v in LEVELS]
    yield "noise on inputs", [(x + 0.5 * level * noise, y) for level in LEVELS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    x, y, u, v = digits()
    hidden, outputs = activity(trained(x, y, 3 * options.members, 0), u)
    accuracy = (outputs.argmax(-1) == v).double().mean().item()
    found = {"behaviour": by_behaviour(hidden[-1], outputs, v), "nearer layers": by_layers(hidden)}
    blank = torch.zeros(len(u), CLASSES)
    for name, sets in designs(x, y):
        seen = torch.cat([u, blank], 1) if name == "label given away" else u
        groups = [
            activity(trained(a, b, options.members, 1000 * (g + 1)), seen)[0][-1] for g, (a, b) in enumerate(sets)
        ]
        found[name] = by_design(groups)
        print(name, json.dumps(found[name]), flush=True)
    result = {"provenance": provenance(), "members": options.members, "accuracy": accuracy, "levels": LEVELS, **found}
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def table(found: dict) -> str:
    """One line per index, one column per test."""
    columns = [(test, name) for test, values in found.items() for name in next(iter(values.values()))]
    rows = [["index", *(f"{test}: {name}" for test, name in columns)], ["---"] * (len(columns) + 1)]
    rows += [[by, *(f"{found[test][by][name]:.2f}" for test, name in columns)] for by in (*INDICES, MATCHED)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    main()
