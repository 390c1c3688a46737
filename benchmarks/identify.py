"""Weights of black boxes from values alone: time, queries and exactness beside the best published numbers.

python benchmarks/identify.py [--seeds 200-204] [--rows 10-15-15-1 trained-10-15-15-1 ...] [--seconds 60] [--json FILE]

Seeds 0 to 19 served to choose the settings of the search, 100 to 104 to measure an earlier version; 200 to 204 served
neither. Certified: same_function proves that both networks are equal on the whole box up to its tolerance.
"""

import argparse
import json
import time
from collections import Counter
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from provenance import provenance
from tutelage.functions import match, same_function
from tutelage.functions.querying.account import missing_units
from tutelage.functions.querying.reconstruction import identify
from tutelage.functions.studies._random_relu import random_relu
from tutelage.networks import Network, from_module, outputs

ROWS = {
    "10-15-15-1": "48 s (Carlini et al. 2020, their code)",
    "trained-10-15-15-1": "-",
    "40-20-10-10-1": "2^18.5 queries for 4,000 parameters, 2^-40 (Carlini et al. 2020)",
    "80-40-20-1": "2^18.5 queries for 4,000 parameters, 2^-40 (Carlini et al. 2020)",
    "784-32-1": "-",
    "784-128-1": "2^21.5 queries, under an hour, 2^-25 (Carlini et al. 2020, 100,000 parameters)",
    "20-10-10-10-10-1": "polynomial-time signs (Canales-Martinez et al. 2024)",
    "trained-64-64-32-10": "-",
}
BIAS = 0.3
FRESH = 20_000


def trained(widths: tuple[int, ...], seed: int, steps: int = 1_500) -> Network:
    """A student trained by Adam on the values of a random teacher of the same widths at standard normal inputs."""
    torch.manual_seed(seed)
    teacher = random_relu(widths, BIAS, [seed])
    parts = [layer for a, b in pairwise(widths) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())][:-1]
    module = torch.nn.Sequential(*parts).double()
    optimiser = torch.optim.Adam(module.parameters(), lr=5e-3)
    for _ in range(steps):
        x = torch.randn(128, widths[0], dtype=torch.float64)
        loss = (module(x) - outputs(teacher, x)[0]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return from_module(module)


def measured(row: str, seed: int, seconds: float, certify: float) -> dict:
    widths = tuple(map(int, row.removeprefix("trained-").split("-")))
    network = trained(widths, seed) if row.startswith("trained") else random_relu(widths, BIAS, [seed])
    begin, cpu = time.perf_counter(), time.process_time()
    found = identify(network, seconds=seconds)
    result = {"row": row, "seed": seed, "seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    x = torch.from_numpy(np.random.default_rng(seed).uniform(-4, 4, (FRESH, widths[0])))
    y = outputs(network, x)[0]
    result["error"] = float((outputs(found.network, x)[0] - y).abs().max() / y.abs().max())
    same = found.network.widths == network.widths and not found.open_signs
    result["weights"] = float(match(network, found.network).residual.max()) if same else None
    result |= {"log2_queries": float(np.log2(found.queries)), "units": found.units, "added": found.passing}
    result |= {"undecided": found.undecided, "notes": found.notes}
    missing = missing_units(network, found.network, (-4.0, 4.0)).units
    result["missing"] = [asdict(one) for one in missing]
    result["statuses"] = dict(Counter(one.status for one in found.accounts))
    result["certified"], result["tolerance"] = "not asked", None
    if certify:
        both = same_function(network, found.network, (-4.0, 4.0), seconds=certify)
        result |= {"certified": both.verdict, "tolerance": both.tolerance, "difference": both.difference}
        result["difference_at_most"] = both.bound
    weights = "-" if result["weights"] is None else f"{result['weights']:.1e}"
    print(
        f"{row:<20} seed {seed:>3}  {result['seconds']:6.1f} s ({result['cpu']:.1f} s CPU)  "
        f"2^{result['log2_queries']:.1f} queries  function {result['error']:.1e}  weights {weights}  "
        f"compare: {result['certified']}",
        flush=True,
    )
    return result


def table(rows: list[dict]) -> str:
    """Per row how many are exact (largest error on fresh points at most 1e-9 of the largest value)."""
    lines = [
        "| network | exact | certified | weights to 1e-6 | median time | median queries | published |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, published in ROWS.items():
        some = [r for r in rows if r["row"] == name]
        if some:
            exact, weights = sum(r["error"] <= 1e-9 for r in some), sum((r["weights"] or 1) <= 1e-6 for r in some)
            spent = np.median([r["seconds"] for r in some]), np.median([r["log2_queries"] for r in some])
            count, certified = len(some), sum(r["certified"].startswith("same") for r in some)
            lines.append(
                f"| {name} | {exact} of {count} | {certified} of {count} | {weights} of {count} "
                f"| {spent[0]:.1f} s | 2^{spent[1]:.1f} | {published} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0-4", help="first and last seed, as in 100-104")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit per network")
    parser.add_argument("--certify", type=float, default=10.0, help="seconds for a comparison on the whole box")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    rows, made = [], provenance()
    for row in options.rows:
        for seed in range(int(first), int(last or first) + 1):
            rows.append(measured(row, seed, options.seconds, options.certify))
            if options.json:
                options.json.write_text(json.dumps({"provenance": made, "rows": rows}, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
