"""Own experiments: the stacked engine against the same work written by hand, and the fused engine against plain SGD.

python benchmarks/bench_own_experiments.py [--json FILE] [--device cuda] [--fused]

By hand is what one would write for that one case with torch.bmm: forward, gradients and update of stacked students.
Both ways in turn, several times, in one run; ratios are of the medians. On a GPU the engine is stacked-graph.
"""

import argparse
import itertools
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from provenance import provenance
from tutelage.networks import Network
from tutelage.training import ENGINES, Task, Training
from tutelage.training.inputs import Gaussian
from tutelage.training.make_task import make_task
from tutelage.training.optimisers import TrainingState

MEMBERS, WIDTHS, BATCH, SAMPLES, STEPS, ROUNDS = 32, (100, 52, 50), 16, 2_000, 200, 7
CASES = {
    "tanh": ("tanh", {}),
    "erf, online": ("erf", {"sampling": "online"}),
    "relu, weight decay": ("relu", {"optimiser": {"kind": "sgd", "weight_decay": 1e-3}}),
    "relu, momentum": ("relu", {"optimiser": {"kind": "sgd", "momentum": 0.9}}),
    "relu, adam": ("relu", {"optimiser": {"kind": "adam"}}),
    "gelu, fixed second layer": ("gelu", {"frozen": (2,)}),
}
FUSED = {
    "plain": ("relu", {}),
    "weight decay": ("relu", {"optimiser": {"kind": "sgd", "weight_decay": 1e-3}}),
    "momentum": ("relu", {"optimiser": {"kind": "sgd", "momentum": 0.9}}),
    "adam": ("relu", {"optimiser": {"kind": "adam"}}),
    "erf": ("erf", {}),
    "tanh": ("tanh", {}),
    "fixed second layer": ("relu", {"frozen": (2,)}),
    "label noise": ("relu", {"label_noise": 0.1}),
    "fresh label noise": ("relu", {"label_noise": {"kind": "gaussian", "std": 0.1, "fresh": True}}),
    "online": ("relu", {"sampling": "online"}),
}


def problem(activation: str, settings: dict, device: str) -> tuple[Network, Task]:
    draw = torch.Generator().manual_seed(0)
    pairs = list(itertools.pairwise(WIDTHS))

    def network() -> Network:
        w = tuple(torch.randn(MEMBERS, a, b, generator=draw).to(device) / a**0.5 for a, b in pairs)
        return Network(w, tuple(torch.zeros(MEMBERS, b, device=device) for _, b in pairs), activation)

    teacher, students = network(), network()
    inputs = Gaussian(train=SAMPLES, evaluate=1).draw(teacher, range(MEMBERS))
    training = Training(**{"steps": 10**6, "batch": BATCH, "learning_rate": 1e-3} | settings)
    return students, make_task(students, teacher, inputs, training)


def value_and_slope(activation: str, u: Tensor) -> tuple[Tensor, Tensor]:
    if activation == "relu":
        return u.relu(), (u > 0).to(u.dtype)
    if activation == "tanh":
        f = u.tanh()
        return f, 1 - f * f
    if activation == "erf":
        return torch.erf(u / math.sqrt(2)), math.sqrt(2 / math.pi) * torch.exp(-u * u / 2)
    below = torch.special.ndtr(u)
    return u * below, below + u * torch.exp(-u * u / 2) / math.sqrt(2 * math.pi)


@torch.no_grad()
def by_hand(students: Network, task: Task) -> None:
    """The steps as one would write them: batches by randint or randn, gradients by torch.bmm, updates in place."""
    arrays = [a.clone() for a in (*students.weights, *(students.biases or ()))]
    w1, w2, b1, b2 = arrays
    memory = [[torch.zeros_like(a) for a in arrays] for _ in range(2)]
    rule, rate, online = task.training.optimiser, 1e-3, task.training.sampling == "online"
    members = torch.arange(MEMBERS, device=w1.device)[:, None]
    teacher = task.teacher
    for step in range(STEPS):
        if online:
            x = torch.randn(MEMBERS, BATCH, WIDTHS[0], device=w1.device)
            h, _ = value_and_slope(
                students.activation, torch.baddbmm(teacher.biases[0].unsqueeze(1), x, teacher.weights[0])
            )
            y = torch.baddbmm(teacher.biases[1].unsqueeze(1), h, teacher.weights[1])
        else:
            rows = torch.randint(0, SAMPLES, (MEMBERS, BATCH), device=w1.device)
            x, y = task.points[members, rows], task.labels[members, rows]
        f, slope = value_and_slope(students.activation, torch.baddbmm(b1.unsqueeze(1), x, w1))
        error = (torch.baddbmm(b2.unsqueeze(1), f, w2) - y) / BATCH
        back = torch.bmm(error, w2.mT) * slope
        gradients = [torch.bmm(x.mT, back), None, back.sum(1), None]
        if not task.training.frozen:
            gradients[1], gradients[3] = torch.bmm(f.mT, error), error.sum(1)
        for a, g, m, v in zip(arrays, gradients, *memory, strict=True):
            if g is None:
                continue
            if rule.weight_decay:
                g = g + rule.weight_decay * a
            if rule.kind == "adam":
                m.lerp_(g, 0.1)
                v.mul_(0.999).addcmul_(g, g, value=0.001)
                size = (v / (1 - 0.999 ** (step + 1))).sqrt_().add_(1e-8)
                a.addcdiv_(m, size, value=-rate / (1 - 0.9 ** (step + 1)))
            elif rule.momentum:
                a.sub_(m.mul_(rule.momentum).add_(g), alpha=rate)
            else:
                a.sub_(g, alpha=rate)


def medians(device: str, *actions: Callable[[], object]) -> list[float]:
    """Microseconds per step and member of each action, taken in turn."""
    times: list[list[float]] = [[] for _ in actions]
    for turn in range(ROUNDS + 1):
        for taken, action in zip(times, actions, strict=True):
            start = time.perf_counter()
            action()
            if device == "cuda":
                torch.cuda.synchronize()
            if turn:
                taken.append(time.perf_counter() - start)
    return [statistics.median(taken) * 1e6 / STEPS / MEMBERS for taken in times]


def started(students: Network, task: Task) -> TrainingState:
    optimiser = task.training.optimiser
    return TrainingState(students) if optimiser.plain else optimiser.start(students)


def fused_cases() -> list[dict]:
    """Every case of the fused engine on the CPU, all in turn, over plain SGD."""
    actions = []
    for activation, settings in FUSED.values():
        students, task = problem(activation, settings, "cpu")
        engine, start = ENGINES["fused-cpu"](task), started(students, task)
        actions.append(lambda engine=engine, start=start: engine.learn(start, 0, STEPS))
    taken = medians("cpu", *actions)
    return [
        {"case": name, "fused-cpu": round(found, 2), "of plain": round(found / taken[0], 2)}
        for name, found in zip(FUSED, taken, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--fused", action="store_true", help="only the cases of the fused engine")
    options = parser.parse_args()
    rows = []
    for name, (activation, settings) in ({} if options.fused else CASES).items():
        students, task = problem(activation, settings, options.device)
        engine = ENGINES["stacked" if options.device == "cpu" else "stacked-graph"](task)
        ours, theirs = medians(
            options.device,
            lambda e=engine, s=students, t=task: e.learn(started(s, t), 0, STEPS),
            lambda s=students, t=task: by_hand(s, t),
        )
        rows.append(
            {"case": name, engine.name: round(ours, 2), "by hand": round(theirs, 2), "ratio": round(ours / theirs, 2)}
        )
    fused = fused_cases() if options.device == "cpu" else []  # on a GPU: gpu_rules.py
    about = {"members": MEMBERS, "widths": WIDTHS, "batch": BATCH, "unit": "microseconds per step and member"}
    result = {"provenance": provenance(), **about, "against code by hand": rows, "fused engine": fused}
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
