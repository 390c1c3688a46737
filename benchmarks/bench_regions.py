"""How long it takes to find all pieces of a network, vertices, edges, signs and regions together.

python benchmarks/bench_regions.py [--json FILE]

Weights are N(0, 1/fan-in), biases N(0, 0.05^2), the domain is (-1, 1)^d; one thread, the best
of several runs, after compilation.
"""

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path

import torch

from provenance import provenance
from tutelage import draws
from tutelage.functions.pieces.counts import estimate
from tutelage.functions.pieces.faces import facets
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.networks import Network

WIDTHS = ((2, 32, 32, 1), (2, 100, 100, 1), (3, 16, 16, 16, 1), (3, 32, 32, 1), (4, 16, 16, 1), (6, 16, 1), (8, 12, 1))
BIAS = 0.05
DOMAIN = (-1, 1)
REPEATS = 7


def network(widths: tuple[int, ...], seed: int = 0) -> Network:
    """One network at random weights."""

    def normal(name: str, *shape: int) -> torch.Tensor:
        count = torch.Size(shape).numel()
        return draws.normals(draws.keys([seed], name), count).reshape(1, *shape)

    weights = tuple(normal(f"weights {l}", i, o) / i**0.5 for l, (i, o) in enumerate(pairwise(widths)))
    return Network(weights, tuple(BIAS * normal(f"biases {l}", o) for l, o in enumerate(widths[1:])))


def best(function) -> float:
    """The shortest of several runs, in seconds."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def measured(widths: tuple[int, ...]) -> dict:
    net = network(widths)
    regions = enumerate_regions(net, DOMAIN)
    between = facets(regions)
    return {
        "widths": widths,
        "regions": len(regions),
        "expected": estimate(net, DOMAIN).regions,
        "vertices": len(regions.vertices),
        "edges": len(regions.edges),
        "facets": len(between),
        "pieces of boundaries": len(regions.pieces),
        "seconds": round(best(lambda: enumerate_regions(net, DOMAIN)), 4),
        "seconds for facets": round(best(lambda: facets(regions)), 4),
        "seconds for maps": round(best(regions.maps), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.perf_counter()
    enumerate_regions(network((2, 3, 1)), DOMAIN)
    first = time.perf_counter() - start
    rows = []
    for widths in WIDTHS:
        rows.append(measured(widths))
        print(json.dumps(rows[-1]), flush=True)
    result = {
        "provenance": provenance(),
        "seconds of the first call, compiled or loaded": round(first, 2),
        "runs": rows,
    }
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
