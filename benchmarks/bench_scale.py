"""What store and scheduler cost, and what a second Ray worker brings: a quick sweep from end to end, three ways.

python benchmarks/bench_scale.py [--json FILE]
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from provenance import provenance
from tutelage.lab import Store, schedule
from tutelage.specialisation.studies._two_layer import sweep

PLACES = ("local", "ray:1", "ray:2")


def timed(on: str, folder: Path) -> dict:
    """Seconds of a quick sweep of 24 experiments, and how many of them went into the experiments themselves."""
    experiments = sweep("quick", 20, (1, 2, 5, 10), (0.0, 0.5, 1.0, 1.5, 2.0, 2.5))
    start = time.perf_counter()
    results = schedule(experiments, Store(folder), on, device="cpu")
    seconds = time.perf_counter() - start
    logs = [json.loads((result.folder / "log.jsonl").read_text().splitlines()[0]) for result in results]
    return {"on": on, "seconds": round(seconds, 2), "in_packs": round(sum(line["seconds"] for line in logs), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        timed("local", Path(folder) / "warm")  # compiles what has to be compiled
        rows = [timed(on, Path(folder) / on.replace(":", "-")) for on in PLACES]
    by_place = {row["on"]: row for row in rows}
    local = by_place["local"]
    result = {
        "provenance": provenance(),
        "runs": rows,
        "overhead_of_store_and_scheduler": round(1 - local["in_packs"] / local["seconds"], 4),
        "two_ray_workers_over_one": round(by_place["ray:1"]["seconds"] / by_place["ray:2"]["seconds"], 2),
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
