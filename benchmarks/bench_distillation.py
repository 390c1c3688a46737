"""A thousand transfer sets in a thousand dimensions, and the flow of 256 deep linear students to 1e-8 of their limit.

python benchmarks/bench_distillation.py [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

from provenance import provenance
from tutelage.distillation import Isotropic, Polynomial, balanced_start, flow, learned, limit
from tutelage.distillation.flows import settle
from tutelage.distillation.learners import unsigned_angle

SETS, DIMENSION, COUNT = 1000, 1000, 20
MEMBERS, LAYERS, INPUTS, WIDTH = 256, 3, 100, 10


def timed(call: Callable[[], object]) -> tuple[float, object]:
    """Seconds of one call, and what it gave."""
    start = time.perf_counter()
    found = call()
    return round(time.perf_counter() - start, 3), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    task = Polynomial(DIMENSION, kappa=1.0)
    drawing, transfer = timed(lambda: task.transfer(range(SETS), COUNT))
    solving, w = timed(lambda: learned(transfer))
    judging, risk = timed(lambda: task.risk(w))
    few = Isotropic(INPUTS).transfer(range(MEMBERS), COUNT)
    start = balanced_start(few, range(MEMBERS), LAYERS, width=WIDTH)
    goal = limit(few, start.w, LAYERS)
    settling, (end, took) = timed(lambda: settle(few, start.w, LAYERS))
    whole, course = timed(lambda: flow(few, start.network, [float(took.max())]))
    result = {
        "provenance": provenance(),
        "closed form": {
            "sets": SETS,
            "dimension": DIMENSION,
            "inputs": COUNT,
            "seconds to draw": drawing,
            "seconds to solve": solving,
            "seconds to judge": judging,
            "mean angle": float(unsigned_angle(w, transfer.teacher).mean()),
            "mean risk": float(risk.mean()),
        },
        "deep linear flow": {
            "members": MEMBERS,
            "layers": LAYERS,
            "dimension": INPUTS,
            "inputs": COUNT,
            "seconds, product alone": settling,
            "largest distance from the limit": float((end - goal).norm(dim=1).max()),
            "time, largest": float(took.max()),
            "width": WIDTH,
            "seconds, every layer": whole,
            "largest distance from the limit, every layer": float((course.w[-1] - goal).norm(dim=1).max()),
        },
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
