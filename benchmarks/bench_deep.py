"""Deep students trained side by side, against eager runs one after another.

python benchmarks/bench_deep.py [--json FILE]

The student of a 50-75-100-125 teacher, twice as wide. Both ways in turn, several times, in one run; the ratio is that
of the medians. The eager run is what a user would write: nn.Sequential, SGD, batches drawn by randint.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch

from provenance import provenance
from tutelage.networks import Network, to_module
from tutelage.training import Task, Training
from tutelage.training.inputs import Gaussian
from tutelage.training.stacked import Stacked
from tutelage.training.students import UniformFanIn
from tutelage.training.teachers import Levels
from tutelage.training.train import make_task

MEMBERS, STEPS, ROUNDS = 8, 40, 7


def side_by_side(students: Network, task: Task) -> float:
    """Seconds of all members' steps together."""
    engine = Stacked(task)
    start = time.perf_counter()
    engine.advance(students, 0, STEPS)
    return time.perf_counter() - start


def one_after_another(students: Network, task: Task) -> float:
    """Seconds of the same steps by eager runs, every member timed."""
    total = 0.0
    for member in range(MEMBERS):
        model = to_module(students, member)
        optimiser = torch.optim.SGD(model.parameters(), lr=float(task.rates(0, 1)[member, 0]))
        x, y = task.points[member], task.labels[member]
        start = time.perf_counter()
        for _ in range(STEPS):
            rows = torch.randint(0, len(x), (task.batch,))
            optimiser.zero_grad()
            loss = (model(x[rows]) - y[rows]).square().sum(-1).mean() / 2
            loss.backward()
            optimiser.step()
        total += time.perf_counter() - start
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    distribution, seeds = Gaussian(std=10.0, train=10_000, evaluate=100), range(MEMBERS)
    recipe = Levels(inputs=100, hidden=(50, 75, 100, 125), outputs=50, bias="median", standardised=True)
    teacher = recipe.build(seeds, distribution)
    students, inputs = UniformFanIn(width_factor=2).build(teacher, seeds), distribution.draw(teacher, seeds)
    rows = []
    for batch in (16, 64):
        task = make_task(students, teacher, inputs, Training(steps=STEPS, batch=batch, learning_rate=0.008))
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(side_by_side(students, task))
            theirs.append(one_after_another(students, task))
        scale = 1e6 / STEPS / MEMBERS
        fast, slow = statistics.median(ours) * scale, statistics.median(theirs) * scale
        rows.append(
            {"batch": batch, "side by side": round(fast, 1), "eager": round(slow, 1), "ratio": round(slow / fast, 2)}
        )
    result = {"provenance": provenance(), "members": MEMBERS, "microseconds a step and member": rows}
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
