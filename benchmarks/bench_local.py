"""Local convergence: exact losses and gradients of a thousand members, descent, and the least-squares start.

python benchmarks/bench_local.py [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from provenance import provenance
from tutelage.local import LocalSetting, descend, local_students, loss_and_gradient, random_start, separated_teachers
from tutelage.local.starts import normal_students, plane_teachers
from tutelage.population import expectations as population

MEMBERS, TEACHERS, STUDENTS, DIMENSION = 1000, 3, 30, 20
RUNS, STEPS = 100, 20_000


def best_of(call: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of several calls, after one that compiles."""
    call()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seeds = range(MEMBERS)
    teachers = separated_teachers(TEACHERS, DIMENSION, seeds)
    far = LocalSetting(teachers, normal_students(STUDENTS, DIMENSION, seeds))
    near = LocalSetting(teachers, local_students(teachers, STUDENTS, seeds, spread=1e-6))
    taught, units = far.units()
    plane = LocalSetting(plane_teachers([20, 80, 140]), normal_students(20, 2, range(RUNS)))
    descend(plane, [1])
    result = {
        "provenance": provenance(),
        "members": MEMBERS,
        "teachers": TEACHERS,
        "students": STUDENTS,
        "dimension": DIMENSION,
        "milliseconds": {
            "loss and gradient": round(1e3 * best_of(lambda: loss_and_gradient(far), 20), 2),
            "loss and gradient near the optimum": round(1e3 * best_of(lambda: loss_and_gradient(near), 5), 2),
            "the same by the population layer": round(1e3 * best_of(lambda: _by_population(taught, units), 3), 2),
        },
        "seconds": {
            f"{STEPS} steps of {RUNS} members, 20 students, 3 teachers in the plane": round(
                best_of(lambda: descend(plane, [0, STEPS], rate=0.05, keep=False), 1), 2
            ),
            "least-squares start, 300 students, 20 dimensions": round(
                best_of(lambda: random_start(teachers[:1], 300, [0]), 5), 3
            ),
        },
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def _by_population(taught: population.Units, units: population.Units) -> tuple[torch.Tensor, torch.Tensor]:
    return population.loss(taught, units), population.gradient(taught, units)[0]


if __name__ == "__main__":
    main()
