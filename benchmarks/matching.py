"""The barrier between two trained networks of 3 x 512 units: our matching beside a plain weight matching by scipy.

python benchmarks/matching.py [--width 512] [--epochs 8] [--keep FOLDER] [--json FILE]

Trains two networks on MNIST from different seeds. The plain matching is what one would write with scipy alone: layers
in turns, each assigned by the inner products of its incoming and outgoing weights, until nothing changes. Barriers are
excesses of the cross-entropy on 2,000 test images over the line between the ends. MNIST must be in $TUTELAGE_DATA or
the cache (`tutelage data fetch mnist`).
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn

from provenance import provenance
from tutelage.data.cache import load_images
from tutelage.functions import barrier, connect, loss_along, straight
from tutelage.functions.matching.aligning import aligned
from tutelage.networks import Network, from_module, read_network, save

POINTS = 2000


def data() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    images = load_images("mnist")
    x, xt = (torch.tensor(part).flatten(1).float() / 255 for part in (images.train, images.test))
    y, yt = (torch.tensor(part).long() for part in (images.train_labels, images.test_labels))
    return x, y, xt, yt


def trained(seed: int, width: int, epochs: int, folder: Path | None) -> Network:
    path = None if folder is None else folder / f"mlp-{width}-{epochs}-{seed}.safetensors"
    if path is not None and path.is_file():
        return read_network(path)
    x, y, _, _ = data()
    torch.manual_seed(seed)
    hidden = [nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
    model = nn.Sequential(*hidden, nn.Linear(width, 10))
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    steps = torch.optim.lr_scheduler.MultiStepLR(optimiser, [3 * epochs // 4], 0.1)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(256):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            optimiser.step()
        steps.step()
    network = from_module(model)
    if path is not None:
        save(network, path)
    return network


def plain_matching(first: Network, second: Network) -> Network:
    """Weight matching with numpy and scipy alone."""
    a, b = ([w[0].double().numpy() for w in n.weights] for n in (first, second))
    a_bias, b_bias = ([c[0].double().numpy() for c in n.biases or ()] for n in (first, second))
    changed = True
    while changed:
        changed = False
        for layer in range(len(a) - 1):
            gain = a[layer].T @ b[layer] + np.outer(a_bias[layer], b_bias[layer]) + a[layer + 1] @ b[layer + 1].T
            order = linear_sum_assignment(gain, maximize=True)[1]
            changed |= bool((order != np.arange(len(order))).any())
            b[layer], b_bias[layer], b[layer + 1] = b[layer][:, order], b_bias[layer][order], b[layer + 1][order]
    weights = tuple(torch.from_numpy(w)[None] for w in b)
    return Network(weights, tuple(torch.from_numpy(c)[None] for c in b_bias), second.activation)


def timed(work: Callable[[], Network]) -> tuple[Network, float]:
    begin = time.perf_counter()
    found = work()
    return found, time.perf_counter() - begin


def height(first: Network, second: Network, x: torch.Tensor, y: torch.Tensor) -> float:
    """Largest excess of the cross-entropy over the line between the ends."""
    share, loss = loss_along(straight(first, second), x[None], y[None], steps=20)
    between = (1 - share) * loss[0] + share * loss[-1]
    return (loss - between).max().item()


def path_row(a: Network, b: Network, points: torch.Tensor, labels: torch.Tensor) -> dict:
    """The path of `connect`, found and measured on the same points."""
    begin = time.perf_counter()
    path = connect(a, b, points, labels=labels)
    seconds = time.perf_counter() - begin
    share, loss = loss_along(path, points[None], labels[None])
    excess = (loss - (1 - share) * loss[0] - share * loss[-1]).max().item()
    return {"way": "connect, one bend (same points)", "barrier": excess, "seconds": seconds}


def measured(width: int, epochs: int, folder: Path | None) -> list[dict]:
    _, _, xt, yt = data()
    points, labels = xt[:POINTS].double(), yt[:POINTS]
    a, b = (trained(seed, width, epochs, folder).to(dtype=torch.float64) for seed in (0, 1))
    rows = [{"way": "as they are", "barrier": height(a, b, points, labels), "seconds": 0.0}]
    ways: dict[str, Callable[[], Network]] = {"plain weight matching (scipy)": lambda: plain_matching(a, b)}
    for by in ("weights", "activations", "best"):
        ways[f"ours by {by}"] = lambda by=by: aligned(a, b, points[None], labels[None], by)[0]
    for name, work in ways.items():
        found, seconds = timed(work)
        rows.append({"way": name, "barrier": height(a, found, points, labels), "seconds": seconds})
    repaired = barrier(a, b, points, labels, repair=True)
    rows.append({"way": "ours by best, repaired", "barrier": repaired.height("repaired").item(), "seconds": None})
    return [*rows, path_row(a, b, points, labels)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--keep", type=Path, help="folder of trained networks, read where they are there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = measured(options.width, options.epochs, options.keep)
    for row in rows:
        seconds = "" if row["seconds"] is None else f"{row['seconds']:7.2f} s"
        print(f"{row['way']:<34} barrier {row['barrier']:.6f} {seconds}")
    if options.json:
        result = {"provenance": provenance(), "width": options.width, "epochs": options.epochs, "rows": rows}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
