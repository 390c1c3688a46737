"""How long it takes to say whether two networks are the same function.

python benchmarks/bench_compare.py [--json FILE]

Networks of the size of an image classifier (784-128-128-10, torch's own initial weights): a permuted and scaled copy,
leaky units written as relu units, another network, and one weight moved by a thousandth; then small ones that are told
apart, on a box with the exact supremum from all regions. The best of several runs; the first call, with compilation,
is given by itself.
"""

import argparse
import json
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn

from provenance import provenance
from tutelage.functions import same_function
from tutelage.functions.comparing.canonical import reordered, scaled
from tutelage.functions.layers.joint import as_relu
from tutelage.networks import Network, from_module

REPEATS = 5
LARGE = (784, 128, 128, 10)
SMALL = ((2, 16, 16, 1), (3, 12, 12, 1), (4, 8, 8, 1))


def network(widths: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> Network:
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return from_module(nn.Sequential(*layers[:-1])).to(dtype=dtype)


def copied(net: Network, seed: int) -> Network:
    """Hidden units permuted and scaled."""
    draw = torch.Generator().manual_seed(seed)
    for layer, width in enumerate(net.widths[1:-1]):
        by = 0.1 + 3 * torch.rand(1, width, generator=draw, dtype=net.dtype)
        net = scaled(reordered(net, layer, torch.randperm(width, generator=draw)[None]), layer, by)
    return net


def one_weight_moved(net: Network, by: float) -> Network:
    weights = [w.clone() for w in net.weights]
    weights[0][0, 1, 1] += by
    return replace(net, weights=tuple(weights))


def measured(what: str, first: Network, second: Network, domain, **options) -> dict:
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        found = same_function(first, second, domain, **options)
        seconds.append(time.perf_counter() - start)
    return {
        "what": what,
        "widths": [first.widths, second.widths],
        "precision": str(first.dtype),
        "domain": found.domain,
        "verdict": found.verdict,
        "difference": found.difference,
        "exact": found.exact,
        "tolerance": found.tolerance,
        "seconds": round(min(seconds), 4),
    }


def cases():
    for dtype in (torch.float32, torch.float64):
        net = network(LARGE, 0, dtype)
        leaky = replace(net, activation="leaky", slope=0.1)
        for domain in (None, (0, 1)):
            yield "permuted and scaled copy", net, copied(net, 1), domain
            yield "leaky units as twice as many relu units", leaky, as_relu(leaky).to(dtype=dtype), domain
            yield "another network", net, network(LARGE, 1, dtype), domain
            yield "one weight moved by 0.001", net, one_weight_moved(net, 1e-3), domain
    for widths in SMALL:
        net = network(widths, 0, torch.float64)
        for domain in (None, (-1, 1)):
            yield "another network", net, network(widths, 1, torch.float64), domain
            yield "one weight moved by a millionth", net, one_weight_moved(net, 1e-6), domain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.perf_counter()
    same_function(network((2, 3, 1), 0), network((2, 3, 1), 1), (-1, 1))
    first = time.perf_counter() - start
    rows = []
    for case in cases():
        rows.append(measured(*case))
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
