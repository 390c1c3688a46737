"""Optimisers, activations and ways of sampling of fused-gpu: checked against the stacked engine, timed over plain SGD.

    python benchmarks/gpu_rules.py [--json FILE] [--quick]

Times are nanoseconds per step and student, all cases in turn several times in one run; ratios are of the medians.
`check_gpu.py` runs the checks and the times as well.
"""

import argparse
import json
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

import torch

from provenance import provenance
from tutelage.networks import Network
from tutelage.training import ENGINES, Task, Training
from tutelage.training.inputs import Gaussian, Inputs
from tutelage.training.make_task import make_task
from tutelage.training.optimisers import TrainingState

INPUTS, OUTPUTS, SAMPLES, STEPS = 100, 50, 2_000, 512
ERROR = 2e-4
"""Allowed relative difference of two engines after 40 steps in float32: Adam amplifies rounding where gradients are
small, and a unit at the edge of its gate may open in one engine and not in the other."""
RULES = {
    "plain": {},
    "weight decay": {"optimiser": {"kind": "sgd", "weight_decay": 1e-3}},
    "momentum": {"optimiser": {"kind": "sgd", "momentum": 0.9}},
    "nesterov": {"optimiser": {"kind": "sgd", "momentum": 0.9, "nesterov": True}},
    "adam": {"optimiser": {"kind": "adam"}, "learning_rate": 1e-3},
    "adamw": {"optimiser": {"kind": "adamw"}, "learning_rate": 1e-3},
    "fixed second layer": {"frozen": (2,)},
    "erf": {"activation": "erf"},
    "tanh": {"activation": "tanh"},
    "label noise": {"label_noise": 0.1},
    "fresh label noise": {"label_noise": {"kind": "gaussian", "std": 0.1, "fresh": True}},
    "online": {"sampling": "online"},
    "online, erf, label noise": {"activation": "erf", "sampling": "online", "label_noise": 0.1},
}


def network(members: int, widths: tuple[int, ...], scale: float, activation: str, seed: int) -> Network:
    source = torch.Generator("cuda").manual_seed(seed)
    pairs = list(pairwise(widths))
    weights = tuple(torch.randn(members, a, b, generator=source, device="cuda") * (scale / a**0.5) for a, b in pairs)
    biases = tuple(torch.randn(members, b, generator=source, device="cuda") * (0.1 * scale) for _, b in pairs)
    return Network(weights, biases, activation)


def problem(
    teacher: Network, inputs: Inputs, hidden: int, activation: str = "relu", **training
) -> tuple[TrainingState, Task]:
    """Students at the start and their task."""
    students = network(teacher.members, (INPUTS, hidden, OUTPUTS), 0.1, activation, seed=2)
    settings = Training(**{"steps": 10**6, "batch": 16, "learning_rate": 0.01} | training)
    optimiser = settings.optimiser
    start = TrainingState(students) if optimiser.plain else optimiser.start(students)
    return start, make_task(students, teacher, inputs, settings)


def teacher_and_inputs(members: int) -> tuple[Network, Inputs]:
    teacher = network(members, (INPUTS, 10, OUTPUTS), 1.0, "relu", seed=1)
    return teacher, Gaussian(train=SAMPLES, evaluate=1).draw(teacher, range(members))


def differences(steps: int = 40) -> dict[str, float]:
    """The largest relative difference of fused-gpu and stacked, both in float32 on the GPU, for every rule."""
    teacher, inputs = teacher_and_inputs(8)
    found = {}
    for name, settings in RULES.items():
        start, task = problem(teacher, inputs, 52, **settings)
        ours, wanted = (ENGINES[engine](task).learn(start, 0, steps).students for engine in ("fused-gpu", "stacked"))
        pairs = zip(ours.parameters, wanted.parameters, strict=True)
        found[name] = max(((a - b).norm() / b.norm()).item() for a, b in pairs)
    return found


def seconds(action) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    action()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def times(members: int, hidden: int, rounds: int) -> list[dict]:
    """Nanoseconds per step and student of every rule, and its ratio to plain SGD."""
    teacher, inputs = teacher_and_inputs(members)
    actions = {}
    for name, settings in RULES.items():
        start, task = problem(teacher, inputs, hidden, **settings)
        engine = ENGINES["fused-gpu"](task)
        actions[name] = lambda engine=engine, start=start: engine.learn(start, 0, STEPS)
        actions[name]()  # compiles
    taken = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            taken[name].append(1e9 * seconds(action) / STEPS / members)
    medians = {name: statistics.median(found) for name, found in taken.items()}
    rows = []
    for name, nanoseconds in medians.items():
        ratio = nanoseconds / medians["plain"]
        print(f"S = {members:5d}  n = {hidden:4d}  {name:26s} {nanoseconds:10.1f} ns  {ratio:6.2f} x plain", flush=True)
        row = {"members": members, "hidden": hidden, "rule": name}
        rows.append(row | {"nanoseconds": round(nanoseconds, 2), "of plain": round(ratio, 3)})
    return rows


def measured(quick: bool) -> list[dict]:
    sizes = [(132, 52)] if quick else [(2304, hidden) for hidden in (10, 20, 52, 100, 200)]
    table = []
    for members, hidden in sizes:
        table += times(members, hidden, rounds=3 if quick else 5)
        torch.cuda.empty_cache()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="one small ensemble")
    options = parser.parse_args()
    found = differences()
    for name, difference in found.items():
        print(f"{'ok  ' if difference <= ERROR else 'FAIL'} {name}: {difference:.2g} (<= {ERROR:g})")
    result = {"provenance": provenance(), "differences": found, "rules": measured(options.quick)}
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(0 if all(difference <= ERROR for difference in found.values()) else 1)


if __name__ == "__main__":
    main()
