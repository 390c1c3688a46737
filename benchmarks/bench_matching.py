"""Matching of networks with three hidden layers of 512 units, beside the assignments alone that it cannot do without.

python benchmarks/bench_matching.py [--width 512] [--json FILE]
"""

import argparse
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import torch
from scipy.optimize import linear_sum_assignment

from provenance import provenance
from tutelage.functions import match, prune
from tutelage.networks import Network
from tutelage.training.speed import best_seconds

INPUTS, OUTPUTS, HIDDEN = 100, 10, 3
POINTS = 1000


def random_network(draw: torch.Generator, width: int) -> Network:
    widths = [INPUTS, *[width] * HIDDEN, OUTPUTS]
    weights = (torch.randn(1, a, b, generator=draw, dtype=torch.float64) / a**0.5 for a, b in pairwise(widths))
    biases = (0.1 * torch.randn(1, b, generator=draw, dtype=torch.float64) for b in widths[1:])
    return Network(tuple(weights), tuple(biases))


def mixed(network: Network, draw: torch.Generator, copies: int = 1) -> Network:
    """The same function with units split into copies, rescaled and in another order."""
    weights, biases = list(network.weights), list(network.biases or ())
    for layer in range(network.depth - 1):
        n = weights[layer].shape[2]
        order = torch.randperm(n * copies, generator=draw) % n
        scale = 0.5 + torch.rand(n * copies, generator=draw, dtype=torch.float64)
        weights[layer], biases[layer] = weights[layer][:, :, order] * scale, biases[layer][:, order] * scale
        weights[layer + 1] = weights[layer + 1][:, order] / (copies * scale).unsqueeze(1)
    return replace(network, weights=tuple(weights), biases=tuple(biases))


def measured(width: int) -> dict[str, float]:
    draw = torch.Generator().manual_seed(0)
    teacher, stranger = random_network(draw, width), random_network(draw, width)
    student, wide = mixed(teacher, draw), mixed(teacher, draw, copies=2)
    points = torch.randn(POINTS, INPUTS, generator=draw, dtype=torch.float64)
    similarities = [match(teacher, other).similarity for other in (student, stranger)]

    def assignments(layers: tuple) -> None:
        for s in layers:
            linear_sum_assignment(s[0].numpy(), maximize=True)

    return {
        "match, permuted and rescaled": best_seconds(lambda: match(teacher, student)),
        "its assignments alone": best_seconds(lambda: assignments(similarities[0])),
        "match, unrelated": best_seconds(lambda: match(teacher, stranger)),
        "its assignments alone, unrelated": best_seconds(lambda: assignments(similarities[1])),
        "match, twice as wide": best_seconds(lambda: match(teacher, wide)),
        f"match by activations, {POINTS} points": best_seconds(lambda: match(teacher, student, points, "activations")),
        "prune, twice as wide": best_seconds(lambda: prune(wide)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seconds = measured(options.width)
    for name, value in seconds.items():
        print(f"{name:<40} {value:7.3f} s")
    if options.json:
        result = {"provenance": provenance(), "hidden": [options.width] * HIDDEN, "seconds": seconds}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
