"""The exact gradient of a thousand members, compiled and by arrays.

python benchmarks/bench_theory.py [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from provenance import provenance
from tutelage.population.expectations import Units, first_layer_gradient, gradient
from tutelage.population.kernels import weighted_gradient

MEMBERS, TEACHERS, STUDENTS, DIMENSION = 1000, 5, 20, 20


def best_of(call: Callable[[], object], times: int = 20) -> float:
    """Milliseconds of the fastest of several calls."""
    call()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return round(1e3 * min(seconds), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    generator = torch.Generator().manual_seed(0)
    teacher = Units(torch.randn(1, TEACHERS, DIMENSION, generator=generator), torch.ones(1, TEACHERS, 1))
    start = torch.randn(MEMBERS, STUDENTS, DIMENSION, generator=generator)
    students = Units(start, torch.ones(MEMBERS, STUDENTS, 1))
    both = torch.cat([students.w, teacher.w.expand(MEMBERS, -1, -1)], dim=1)
    signs = torch.cat([torch.ones(STUDENTS), -torch.ones(TEACHERS)]).double().expand(MEMBERS, STUDENTS, -1)
    result = {
        "provenance": provenance(),
        "members": MEMBERS,
        "teachers": TEACHERS,
        "students": STUDENTS,
        "dimension": DIMENSION,
        "milliseconds": {
            "first layer": best_of(lambda: first_layer_gradient(teacher, students)),
            "both layers": best_of(lambda: gradient(teacher, students)),
            "first layer by arrays": best_of(lambda: weighted_gradient(signs, students.w, both)),
        },
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
