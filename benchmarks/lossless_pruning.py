"""Lossless pruning of networks trained with L1, at the sizes of Serra et al. (2020, 2021).

python benchmarks/lossless_pruning.py [mnist-2x100-1e-4 ...] [--epochs 20] [--keep FOLDER] [--json FILE]

Trains each network (784 or 3072 inputs in [0, 1], relu, cross-entropy plus L1 times the sum of absolute weights, SGD
with momentum), prunes it on the box of all images and prints accuracy, units and connections removed, and seconds. The
data sets must be in $TUTELAGE_DATA or the cache (`tutelage data fetch mnist cifar10`).
"""

import argparse
import json
import time
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn

from provenance import provenance
from tutelage.data.cache import load_images
from tutelage.functions import prune
from tutelage.networks import Network, from_module, outputs, read_network, save

ANCHORS = {
    "mnist-2x100-1e-4": "14.9 % smaller at 98.1 % accuracy (Serra et al. 2020)",
    "mnist-2x100-5e-4": "30.8 % smaller at 97.1 % accuracy (Serra et al. 2020)",
    "cifar10-5x100-1e-4": "up to 56 % of connections, minutes (Serra et al. 2021)",
}
NAMES = [
    *(f"mnist-2x{width}-{l1}" for width in (100, 200, 400, 800) for l1 in ("1e-4", "5e-4")),
    *(f"cifar10-5x100-{l1}" for l1 in ("1e-4", "5e-4")),
]
DATASETS = {"mnist": "mnist", "cifar10": "cifar10"}


def images(name: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Training and test images in [0, 1] as rows, with labels."""
    data = load_images(DATASETS[name])
    x, xt = (torch.tensor(part).flatten(1).float() / 255 for part in (data.train, data.test))
    y, yt = (torch.tensor(part).long() for part in (data.train_labels, data.test_labels))
    return x, y, xt, yt


def trained(name: str, epochs: int, seed: int = 0) -> tuple[Network, float]:
    """Network and seconds of training."""
    dataset, shape, l1 = name.split("-", 2)
    depth, width = map(int, shape.split("x"))
    x, y, _, _ = images(dataset)
    torch.manual_seed(seed)
    sizes = [x.shape[1], *[width] * depth, 10]
    layers = [module for a, b in pairwise(sizes) for module in (nn.Linear(a, b), nn.ReLU())][:-1]
    model = nn.Sequential(*layers)
    weights = [p for p in model.parameters() if p.ndim == 2]
    optimiser = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    steps = torch.optim.lr_scheduler.MultiStepLR(optimiser, [epochs // 2, 3 * epochs // 4, epochs - 1], 0.1)
    begin = time.monotonic()
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(128):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimiser.zero_grad()
            (loss + float(l1) * sum(w.abs().sum() for w in weights)).backward()
            optimiser.step()
        steps.step()
    return from_module(model), time.monotonic() - begin


def accuracy(network: Network, x: torch.Tensor, y: torch.Tensor) -> float:
    with torch.no_grad():
        return (outputs(network, x[None].to(network.dtype))[0].argmax(1) == y).double().mean().item()


def connections(network: Network) -> int:
    return sum(w.numel() for w in network.weights)


def measured(name: str, epochs: int, folder: Path | None, seconds: float | None) -> dict:
    path = None if folder is None else folder / f"{name}-{epochs}.safetensors"
    _, _, xt, yt = images(name.split("-")[0])
    training = None
    if path is not None and path.is_file():
        network = read_network(path)
    else:
        network, training = trained(name, epochs)
        if path is not None:
            save(network, path)
    begin = time.monotonic()
    found = prune(network, box=(0.0, 1.0), seconds=seconds)
    took = time.monotonic() - begin
    before, after = sum(network.widths[1:-1]), sum(found.network.widths[1:-1])
    return {
        "name": name,
        "accuracy": accuracy(network, xt, yt),
        "accuracy_after": accuracy(found.network, xt, yt),
        "widths_before": network.widths,
        "widths_after": found.network.widths,
        "units_removed": 1 - after / before,
        "connections_removed": 1 - connections(found.network) / connections(network),
        "proof": str(found.proof),
        "decided": [asdict(d) for d in found.decided],
        "seconds": took,
        "epochs": epochs,
        "training_seconds": training,
        "anchor": ANCHORS.get(name),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NAMES, help=f"default: {' '.join(NAMES)}")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seconds", type=float, help="time limit of each pruning")
    parser.add_argument("--keep", type=Path, help="folder of trained networks, read where they are there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name in options.names:
        row = measured(name, options.epochs, options.keep, options.seconds)
        rows.append(row)
        print(
            f"{name:<20} accuracy {100 * row['accuracy']:.2f} %, units {100 * row['units_removed']:.1f} % and "
            f"connections {100 * row['connections_removed']:.1f} % removed in {row['seconds']:.1f} s; "
            f"{'-'.join(map(str, row['widths_after']))}; {row['proof']}",
            flush=True,
        )
        if options.json:
            result = {"provenance": provenance(), "rows": rows}
            options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
