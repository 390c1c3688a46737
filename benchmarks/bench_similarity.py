"""Similarity of two layers of 1,000 units over a million samples that never are in memory together.

python benchmarks/bench_similarity.py [--samples 1000000] [--json FILE]
"""

import argparse
import json
import resource
import time
from pathlib import Path

import torch
from scipy.linalg import subspace_angles
from scipy.spatial import procrustes

from provenance import provenance
from tutelage.measures import INDICES, second_moments, similarity

UNITS, PIECE = 1000, 2000


def pieces(samples: int):
    """Activations of two layers, made piece by piece into the same memory."""
    generator = torch.Generator().manual_seed(0)
    mixing = torch.randn(UNITS, UNITS, generator=generator) / UNITS**0.5
    x, y = torch.empty(PIECE, UNITS), torch.empty(PIECE, UNITS)
    for _ in range(samples // PIECE):
        x.normal_(generator=generator).relu_()
        torch.mm(x, mixing, out=y).relu_()
        yield x, y


def peak() -> float:
    """The most memory this process has held, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def beside_scipy(samples: int) -> dict[str, float]:
    """scipy's own routines, which want all samples at once, beside ours on the same ones."""
    kept = [(x.double(), y.double()) for x, y in pieces(samples)]
    x, y = (torch.cat([pair[i] for pair in kept]) for i in (0, 1))
    a, b = ((z - z.mean(0)).numpy() for z in (x, y))
    calls = {
        "scipy.linalg.subspace_angles (CCA)": lambda: subspace_angles(a, b),
        "ours, cca": lambda: similarity(x, y, by="cca"),
        "scipy.spatial.procrustes": lambda: procrustes(a, b),
        "ours, procrustes": lambda: similarity(x, y, by="procrustes"),
    }
    seconds: dict[str, float] = {"samples": samples}
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        seconds[name] = round(time.perf_counter() - start, 2)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    for _ in pieces(2 * PIECE):
        pass
    torch.linalg.eigh(torch.eye(UNITS, dtype=torch.float64))
    start, before = time.perf_counter(), peak()
    for _ in pieces(options.samples):
        pass
    making = time.perf_counter() - start
    start = time.perf_counter()
    moments = second_moments(pieces(options.samples))
    summing = time.perf_counter() - start - making
    indices = {}
    for name in INDICES:
        start = time.perf_counter()
        value = similarity(moments, by=name).item()
        indices[name] = {"value": round(value, 4), "seconds": round(time.perf_counter() - start, 2)}
    result = {
        "provenance": provenance(),
        "units": UNITS,
        "samples": options.samples,
        "pass_seconds": round(summing, 1),
        "extra_mib": round(peak() - before),
        "indices": indices,
        "beside_scipy": beside_scipy(5_000),
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
