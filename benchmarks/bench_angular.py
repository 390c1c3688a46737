"""How fast angle sets are settled, by random search and with all signs.

python benchmarks/bench_angular.py [--threads 2] [--json FILE]

Best of several rounds; "a core" is by processor time, which other work on the machine disturbs less.
"""

import argparse
import json
import math
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from provenance import provenance
from tutelage.alignment.conjecture_search import random_search
from tutelage.alignment.determinants import signs

ROUNDS = 3
SETS = 1 << 20


def timed(work) -> tuple[float, float]:
    """Least seconds by the clock and of the processor."""
    wall, worked = [], []
    for _ in range(ROUNDS):
        begin, used = perf_counter(), process_time()
        work()
        wall.append(perf_counter() - begin)
        worked.append(process_time() - used)
    return min(wall), min(worked)


def measured(threads: int) -> dict:
    random_search(3, 10)  # compiles
    rows = []
    for m in (3, 6, 9, 12):
        wall, worked = timed(lambda m=m: random_search(m, SETS * threads, threads=threads))
        angles = np.random.default_rng(0).uniform(0, 2 * math.pi, (10_000, m))
        each = timed(lambda angles=angles: signs(angles))[0]
        rows.append(
            {
                "m": m,
                "sets_a_second": round(SETS * threads / wall),
                "sets_a_second_a_core": round(SETS * threads / worked),
                "all_signs_a_second": round(len(angles) / each),
            }
        )
    return {"threads": threads, "searches": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="Where to write the numbers.")
    options = parser.parse_args()
    result = {"provenance": provenance(), **measured(options.threads)}
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
