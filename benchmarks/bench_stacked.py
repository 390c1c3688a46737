"""The stacked engine against an eager loop over students, in one run: microseconds a step and student.

python benchmarks/bench_stacked.py [--members 32] [--hidden 52] [--json FILE]
"""

import argparse
import json
import time
from pathlib import Path

import torch

from provenance import provenance
from tutelage.inputs import Gaussian
from tutelage.networks import Network, SmallNormal, outputs, to_module
from tutelage.teachers import Levels
from tutelage.training import Task, Training
from tutelage.training.stacked import Stacked

INPUTS, OUTPUTS, BATCH, RATE = 100, 50, 16, 0.01


def make(members: int, hidden: int, dtype: torch.dtype) -> tuple[Network, Task]:
    """Students and their task at the sizes of the two-layer sweep."""
    law = Gaussian(std=1.5, train=10_000, evaluate=1)
    teacher = Levels(inputs=INPUTS, hidden=hidden, outputs=OUTPUTS).build(range(members), law, dtype)
    points = law.draw(teacher, range(members)).train
    students = SmallNormal().build(teacher, range(members))
    training = Training(steps=10**6, batch=BATCH, learning_rate=RATE)
    return students, Task(points, outputs(teacher, points), training, tuple(range(members)))


def eager_loop(students: Network, task: Task, steps: int) -> None:
    """What a script does: one student at a time, torch.nn, autograd and torch.optim.SGD, one step after another."""
    for member in range(students.members):
        module = to_module(students, member)
        optimiser = torch.optim.SGD(module.parameters(), lr=RATE)
        for rows in task.rows(0, steps)[member]:
            x, y = task.points[member, rows], task.labels[member, rows]
            optimiser.zero_grad()
            ((module(x) - y).square().sum(-1).mean() / 2).backward()
            optimiser.step()


def best_time(action, repeats: int = 3) -> float:
    """The shortest of a few runs, in seconds: the least disturbed one."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(members: int, hidden: int, dtype: torch.dtype, steps: int) -> dict:
    students, task = make(members, hidden, dtype)
    engine = Stacked(task)
    stacked = best_time(lambda: engine.advance(students, 0, steps)) / steps / members
    few = min(members, 2)
    loop = best_time(lambda: eager_loop(students[:few], task[list(range(few))], steps // 4)) / (steps // 4) / few
    return {
        "members": members,
        "hidden": hidden,
        "precision": str(dtype).removeprefix("torch."),
        "stacked_us": round(1e6 * stacked, 2),
        "eager_loop_us": round(1e6 * loop, 2),
        "ratio": round(loop / stacked, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--members", type=int, default=32)
    parser.add_argument("--hidden", type=int, nargs="+", default=[10, 52, 200])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [
        measure(options.members, hidden, dtype, options.steps)
        for dtype in (torch.float32, torch.float64)
        for hidden in options.hidden
    ]
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    if options.json:
        options.json.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
