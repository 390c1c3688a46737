"""The two-layer sweep of Tian 2020 and Tian 2019 from end to end: 72 settings x 32 seeds x 100,000 steps.

python benchmarks/sweep.py [--share 0.1] [--device auto] [--once] [--out FOLDER] [--json FILE]

With --share below 1 that share of the steps, and so of the recordings, is carried out, and the time of the whole is
estimated: what is done once (drawing the inputs, compiling) is counted once, the rest in proportion. The sweep is
carried out a second time without its recordings, unless --once.
"""

import argparse
import json
import logging
import resource
import tempfile
import time
from pathlib import Path

from provenance import provenance
from tutelage.devices import pick_device
from tutelage.lab import Store, TeacherStudent, build, execute
from tutelage.specialisation.studies._two_layer import WIDTH_FACTORS, sweep

HIDDEN = (5, 10, 20)
POLARITIES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)


def experiments(share: float) -> list[TeacherStudent]:
    """All experiments of the sweep, with a share of their steps."""
    whole = [experiment for hidden in HIDDEN for experiment in sweep("paper", hidden, WIDTH_FACTORS, POLARITIES)]
    steps = max(1000, round(share * whole[0].training.steps / 1000) * 1000)
    return [s.model_copy(update={"training": s.training.model_copy(update={"steps": steps})}) for s in whole]


def unwatched(experiment: TeacherStudent) -> TeacherStudent:
    """The same training with the first and the last recording alone."""
    return experiment.model_copy(update={"record": experiment.record.model_copy(update={"every": None, "at": ()})})


def carried_out(results: list[TeacherStudent], device: str, folder: Path | str) -> float:
    """The seconds that all experiments take, from experiments to files."""
    start = time.perf_counter()
    execute(results, Store(folder), device=device)
    return time.perf_counter() - start


def warm(device: str) -> float:
    """Compile every kernel and draw the inputs once; the seconds that takes."""
    start = time.perf_counter()
    where = pick_device(device)
    results = [
        s.model_copy(update={"training": s.training.model_copy(update={"steps": 1000})}) for s in experiments(1.0)
    ]
    build(results[0], where)
    shapes = {s.student.widths(s.teacher.widths()): s for s in results}
    few = results[0].inputs.model_copy(update={"train": 100, "evaluate": 100})
    some = [s.model_copy(update={"seeds": s.seeds[:2], "inputs": few}) for s in shapes.values()]
    with tempfile.TemporaryDirectory() as folder:
        execute(some, Store(folder), device=device)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--once", action="store_true", help="with recordings alone")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    once = warm(options.device)
    chosen = experiments(options.share)
    with tempfile.TemporaryDirectory() as temporary:
        seconds = carried_out(chosen, options.device, options.out or Path(temporary) / "watched")
        alone = None
        if not options.once:
            alone = carried_out([unwatched(s) for s in chosen], options.device, Path(temporary) / "unwatched")
    share = chosen[0].training.steps / 100_000
    result = {
        "provenance": provenance(),
        "students": sum(len(s.seeds) for s in chosen),
        "steps": chosen[0].training.steps,
        "recordings": len(chosen[0].record.steps(chosen[0].training.steps)),
        "once_s": round(once, 1),
        "seconds": round(seconds, 1),
        "whole_sweep_s": round(once + seconds / share, 1),
        "peak_memory_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }
    if alone is not None:
        result["without_recordings_s"] = round(alone, 1)
        result["whole_without_recordings_s"] = round(once + alone / share, 1)
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
