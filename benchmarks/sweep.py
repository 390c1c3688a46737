"""The two-layer sweep of seeds 000 and 001 from end to end: 72 settings x 32 seeds x 100,000 steps.

python benchmarks/sweep.py [--share 0.1] [--device auto] [--out FOLDER] [--json FILE]

With --share below 1 that share of the steps, and so of the recordings, is carried out, and the time of the whole is
estimated: what is done once (drawing the inputs, compiling) is counted once, the rest in proportion.
"""

import argparse
import json
import logging
import tempfile
import time
from pathlib import Path

from provenance import provenance
from tutelage.runs import Spec, Store, build, execute
from tutelage.runs.execute import pick_device
from tutelage.studies.two_layer import MULTIPLES, sweep

HIDDEN = (5, 10, 20)
POLARITIES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)


def specs(share: float) -> list[Spec]:
    """All packs of the sweep, with a share of their steps."""
    whole = [spec for hidden in HIDDEN for spec in sweep("paper", hidden, MULTIPLES, POLARITIES)]
    steps = max(1000, round(share * whole[0].training.steps / 1000) * 1000)
    return [s.model_copy(update={"training": s.training.model_copy(update={"steps": steps})}) for s in whole]


def warm(device: str) -> float:
    """Compile every kernel and draw the inputs once; the seconds that takes."""
    start = time.perf_counter()
    where = pick_device(device)
    packs = [s.model_copy(update={"training": s.training.model_copy(update={"steps": 1000})}) for s in specs(1.0)]
    build(packs[0], where)
    shapes = {s.student.widths(s.teacher.widths()): s for s in packs}
    few = packs[0].inputs.model_copy(update={"train": 100, "evaluate": 100})
    some = [s.model_copy(update={"seeds": s.seeds[:2], "inputs": few}) for s in shapes.values()]
    with tempfile.TemporaryDirectory() as folder:
        execute(some, Store(folder), device=device)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    once = warm(options.device)
    chosen = specs(options.share)
    with tempfile.TemporaryDirectory() as temporary:
        start = time.perf_counter()
        packs = execute(chosen, Store(options.out or temporary), device=options.device)
        seconds = time.perf_counter() - start
        logs = [json.loads((p.folder / "log.jsonl").read_text()) for p in packs]
    share = chosen[0].training.steps / 100_000
    training = sum(line["training_seconds"] for line in logs)
    result = {
        "provenance": provenance(),
        "device": logs[0]["device"],
        "engine": sorted({line["engine"] for line in logs}),
        "students": sum(len(s.seeds) for s in chosen),
        "steps": chosen[0].training.steps,
        "recordings": len(chosen[0].record.steps(chosen[0].training.steps)),
        "once_s": round(once, 1),
        "seconds": round(seconds, 1),
        "training_s": round(training, 1),
        "whole_sweep_s": round(once + seconds / share, 1),
        "whole_training_s": round(training / share, 1),
    }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
