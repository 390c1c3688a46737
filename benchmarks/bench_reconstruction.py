"""Time, queries and exactness of identification from values, on networks drawn or trained with seeds of their own.

python benchmarks/bench_reconstruction.py [--seeds 8] [--first 100] [--json FILE]
"""

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path

import torch

from provenance import provenance
from tutelage.functions import match
from tutelage.functions.identifying.construction import construct
from tutelage.functions.querying.reconstruction import identify
from tutelage.networks import Network, from_module

CONSTRUCTED = (
    (2, 2, 1), (2, 2, 2, 1), (3, 2, 2, 1), (3, 3, 2, 1), (3, 3, 3, 1), (2, 2, 2, 2, 1), (3, 3, 2, 2, 1), (4, 3, 2, 1),
    (4, 3, 3, 2, 1),
)  # fmt: skip


def random_network(widths: tuple[int, ...], seed: int) -> Network:
    draw = torch.Generator().manual_seed(seed)
    weights = (torch.randn(1, a, b, generator=draw, dtype=torch.float64) / a**0.5 for a, b in pairwise(widths))
    biases = (0.3 * torch.randn(1, b, generator=draw, dtype=torch.float64) for b in widths[1:])
    return Network(tuple(weights), tuple(biases))


def trained_network(widths: tuple[int, ...], seed: int, steps: int = 1_500) -> Network:
    """Trained by Adam on a smooth target with standard normal inputs, from torch's own starting point."""
    torch.manual_seed(seed)
    parts = [layer for a, b in pairwise(widths) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())][:-1]
    module = torch.nn.Sequential(*parts).double()
    x = torch.randn(2_048, widths[0], dtype=torch.float64)
    way = torch.randn(widths[0], 4, dtype=torch.float64) / widths[0] ** 0.5
    top = torch.randn(4, widths[-1], dtype=torch.float64)
    y = torch.sin(2 * x @ way) @ top + (x @ way).abs() @ top
    optimiser = torch.optim.Adam(module.parameters(), lr=5e-3)
    for _ in range(steps):
        batch = torch.randint(0, len(x), (128,))
        loss = (module(x[batch]) - y[batch]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return from_module(module)


def measured(name: str, network: Network, box: tuple[float, float]) -> dict:
    begin = time.perf_counter()
    found = identify(network, box=box)
    seconds = time.perf_counter() - begin
    same = found.network.widths == network.widths and not found.open_signs
    error = float(match(network, found.network).residual.max()) if same else None
    row = {"network": name, "seconds": seconds, "units": found.units, "added": found.passing, "weight_error": error}
    row |= {"unexplained": found.unexplained, "queries": found.queries, "lines": found.lines}
    said = "not all units" if error is None else f"{error:8.1e}"
    print(
        f"{name:<28} {seconds:7.2f} s  {found.queries:>10,} queries  weights {said:>13}  rest {found.unexplained:.1e}"
    )
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [
        measured(f"identifiable {'-'.join(map(str, widths))}", construct(widths, (-1, 1), seed), (-1.0, 1.0))
        for widths in CONSTRUCTED
        for seed in (0, 1)
    ]
    for seed in range(options.first, options.first + options.seeds):
        for widths in ((20, 10, 1), (10, 15, 15, 1)):
            name = "-".join(map(str, widths))
            rows.append(measured(f"random {name}", random_network(widths, seed), (-4.0, 4.0)))
            rows.append(measured(f"trained {name}", trained_network(widths, seed), (-4.0, 4.0)))
    if options.json:
        options.json.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
