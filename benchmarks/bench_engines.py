"""Every engine against an eager loop and a large matrix product, in one run.

python benchmarks/bench_engines.py [--hidden 10 20 52 100 200] [--device auto] [--json FILE]

The eager loop is what a script does: one student, torch.nn, autograd, torch.optim.SGD, one step after another.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch

from provenance import provenance
from tutelage.devices import pick_device
from tutelage.networks import Network, to_module
from tutelage.training import ENGINES, Task
from tutelage.training.speed import Speed, best_seconds, engine_speed, gemm_gflops, problem, step_flops

MEMBERS = {"cpu": 32, "cuda": 2304}
STEPS = {"cpu": 1000, "cuda": 2000}
LOOP_STEPS = 200


def eager_loop(students: Network, task: Task, steps: int) -> None:
    """Train the first student alone."""
    module = to_module(students, 0)
    optimiser = torch.optim.SGD(module.parameters(), lr=task.learning_rates[0])
    for rows in task.rows(0, steps)[0]:
        x, y = task.points[0, rows], task.labels[0, rows]
        optimiser.zero_grad()
        ((module(x) - y).square().sum(-1).mean() / 2).backward()
        optimiser.step()


def loop_speed(hidden: int, dtype: torch.dtype, device: torch.device) -> Speed:
    students, task = problem(hidden, 1, dtype, device)
    seconds = best_seconds(lambda: eager_loop(students, task, LOOP_STEPS)) / LOOP_STEPS
    precision = str(dtype).removeprefix("torch.")
    return Speed("eager loop", hidden, precision, 1, 1e6 * seconds, step_flops(hidden) / seconds / 1e9)


def measured(widths: list[int], device: torch.device) -> tuple[list[Speed], dict[str, float]]:
    """Speeds of engines and loop, and the rate of a matrix product before and after them (the better one)."""
    speeds, gemm = [], {}
    for dtype in (torch.float32, torch.float64):
        precision = str(dtype).removeprefix("torch.")
        gemm[precision] = gemm_gflops(dtype, device)
        for hidden in widths:
            for name in ENGINES:
                speed = engine_speed(name, hidden, MEMBERS[device.type], dtype, device, STEPS[device.type])
                speeds += [speed] if speed else []
            speeds.append(loop_speed(hidden, dtype, device))
        gemm[precision] = max(gemm[precision], gemm_gflops(dtype, device))
    return speeds, gemm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, nargs="+", default=[10, 20, 52, 100, 200])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device = pick_device(options.device)
    speeds, gemm = measured(options.hidden, device)
    print("matrix product, GFLOP/s:", {name: round(rate) for name, rate in gemm.items()})
    stacked = {(s.precision, s.hidden): s.microseconds for s in speeds if s.engine == "stacked"}
    for s in speeds:
        share, ratio = s.gflops / gemm[s.precision], stacked[s.precision, s.hidden] / s.microseconds
        print(
            f"{s.precision} n={s.hidden:<4} {s.engine:<14} {s.microseconds:9.3f} us  {s.gflops:8.1f} GFLOP/s  "
            f"{100 * share:5.1f} % of the product  {ratio:6.2f} x stacked"
        )
    if options.json:
        result = {"provenance": provenance(), "gemm_gflops": gemm, "speeds": [asdict(s) for s in speeds]}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
