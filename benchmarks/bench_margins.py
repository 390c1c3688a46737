"""Max-margin vectors of 64 sets, the flow of 100 networks to t = 1e300, and SGD on 64 sets of Phuong 2021, Fig. 3.1.

python benchmarks/bench_margins.py [--json FILE]
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path

from provenance import provenance
from tutelage.margins.datasets import cones, orthants
from tutelage.margins.flow import balanced_start, flow
from tutelage.margins.max_margin import max_margins
from tutelage.training.classify import classify, small_uniform

SETS, MEMBERS = 64, 100
LAST = 300 * math.log(10)


def timed(call: Callable[[], object], times: int = 3) -> tuple[float, object]:
    """Seconds of the fastest of several calls, and what it gave."""
    seconds, found = [], None
    for _ in range(times):
        start = time.perf_counter()
        found = call()
        seconds.append(time.perf_counter() - start)
    return round(min(seconds), 3), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    data = orthants(range(SETS))
    start = small_uniform(range(SETS), data.dimension, 100)
    classify(start, data.x, data.y, range(SETS), epochs=1)  # compiled before it is timed
    small, units = cones(range(MEMBERS)), balanced_start(range(MEMBERS), 20, 3)
    flow(small, units, [-math.inf, 0.0])
    solving, margins = timed(lambda: max_margins(data))
    flowing, course = timed(lambda: flow(small, units, [-math.inf, LAST]))
    training, trained = timed(lambda: classify(start, data.x, data.y, range(SETS)), times=1)
    right = (data.y * trained.outputs(data.x.float()) > 0).double().mean()
    off = ((course.a.abs() - course.w.norm(dim=3)).abs() / course.w.norm(dim=3)).max()
    result = {
        "provenance": provenance(),
        "max margins": {
            "sets": SETS,
            "samples": data.count,
            "dimension": data.dimension,
            "seconds": solving,
            "largest KKT residual": max(float(margins.positive.kkt.max()), float(margins.negative.kkt.max())),
        },
        "flow to 1e300": {
            "members": MEMBERS,
            "units": 20,
            "samples": small.count,
            "dimension": small.dimension,
            "seconds": flowing,
            "steps, mean": float(course.steps.double().mean()),
            "largest imbalance": float(off),
        },
        "SGD": {"sets": SETS, "units": 100, "epochs": 500, "seconds": training, "accuracy": float(right)},
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
