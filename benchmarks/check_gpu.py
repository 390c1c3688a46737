"""Checks and times the GPU engines on a machine that has a GPU; prints a table and writes everything as JSON.

    python benchmarks/check_gpu.py --out gpu.json [--quick] [--commit HASH]

Checks hold fused-gpu to the stacked engine in float64 and to itself, bit for bit; times are nanoseconds a step and
student. The exit code is 1 when a check fails; no time ever makes it fail.
"""

import argparse
import datetime
import itertools
import json
import math
import subprocess
import sys
import time

import torch

import gpu_rules
from tutelage import draws
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of
from tutelage.training import Task, Training
from tutelage.training.fused_gpu import FusedGpu
from tutelage.training.inputs import Gaussian
from tutelage.training.make_task import make_task
from tutelage.training.optimisers import TrainingState
from tutelage.training.schedules import Cosine
from tutelage.training.stacked import Stacked
from tutelage.training.stacked_graph import StackedGraph
from tutelage.training.students import FanInNormal
from tutelage.training.teachers import Normal

DEVICE = "cuda"
ERROR_40, ERROR_1000, ERROR_SWEEP, ERROR_GRAPH = 2e-6, 2e-5, 2e-6, {"float32": 2e-6, "float64": 1e-13}
KINK_40, KINK_1000 = 5e-7, 2e-6  # pre-activations nearer to 0 than this may fall either way: see kink_margin


# ------------------------------------------------------------------------------------------------ problems to solve
def network(members, widths, scale=1.0, bias=True, activation="relu", seed=0):
    """Random networks with weights of size scale / sqrt(fan-in), float32 on the GPU."""
    source = torch.Generator(DEVICE).manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=source, device=DEVICE)

    pairs = list(itertools.pairwise(widths))
    weights = tuple(normal(members, i, o) * (scale / i**0.5) for i, o in pairs)
    biases = tuple(normal(members, o) * (0.1 * scale) for _, o in pairs) if bias else None
    return Network(weights, biases, activation, slope_of(activation, 0.1))


def problem(members, inputs, hidden, output_count, samples=500, bias=True, activation="relu", shared=False, **training):
    """Students and their task: labels by a random teacher of 10 units a member."""
    teacher = network(members, (inputs, 10, output_count), bias=bias, seed=1)
    students = network(members, (inputs, hidden, output_count), bias=bias, activation=activation, seed=2)
    source = torch.Generator(DEVICE).manual_seed(3)
    points = torch.randn(1 if shared else members, samples, inputs, generator=source, device=DEVICE)
    if shared:
        points = points[0].expand(members, -1, -1)
    labels = outputs(teacher, points)
    training = {"steps": 2000, "learning_rate": 0.01} | training
    return students, Task(points, labels, Training(**training), tuple(range(100, 100 + members)))


def in_double(students, task):
    """The same problem in float64."""
    points = task.points[0].double().expand(task.points.shape) if task.points.stride(0) == 0 else task.points.double()
    return students.to(dtype=torch.float64), Task(points, task.labels.double(), task.training, task.seeds)


def errors(students, reference):
    """The largest relative error |a - b| / |b| of any array, of each member; infinite when anything is not finite."""
    ratios = []
    for a, b in zip(students.parameters, reference.parameters, strict=True):
        a, b = a.double().flatten(1), b.double().flatten(1)
        ratios.append((a - b).norm(dim=1) / b.norm(dim=1).clamp(min=1e-30))
    return torch.stack(ratios).nan_to_num(nan=math.inf).amax(0).tolist()


def error(students, reference):
    """The largest relative error of all members."""
    return max(errors(students, reference))


def kink_margin(students, task, steps):
    """How near a two-layer student came to a kink of its activation: the least |u| / (|x| |w|) of any unit and row.

    Where that is below float32 rounding, a gate may fall either way and the trajectory leaves the float64 one by far
    more than rounding, on any engine.
    """
    engine, least = Stacked(task), math.inf
    for t in range(steps):
        rows = task.rows(t, t + 1)[:, 0]
        x = torch.gather(task.points, 1, rows.unsqueeze(-1).expand(-1, -1, task.points.shape[-1]))
        bias = 0 if students.biases is None else students.biases[0].unsqueeze(1)
        u = torch.bmm(x, students.weights[0]) + bias
        size = x.norm(dim=2, keepdim=True) * students.weights[0].norm(dim=1, keepdim=True)
        least = torch.minimum(torch.as_tensor(least, device=DEVICE), (u.abs() / size).min())
        students = engine.advance(students, t, t + 1)
    return float(least)


def identical(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.parameters, b.parameters, strict=True))


# ---------------------------------------------------------------------------------------------------------- checks
class Checks:
    """Results by name: what was measured, what was wanted, whether it holds."""

    def __init__(self):
        self.results = {}

    def add(self, name, measured, limit=None):
        holds = bool(measured) if limit is None else measured <= limit
        self.results[name] = {"measured": measured, "limit": limit, "holds": holds}
        print(f"{'ok  ' if holds else 'FAIL'} {name}: {measured}" + (f" (<= {limit})" if limit is not None else ""))

    @property
    def hold(self):
        return all(result["holds"] for result in self.results.values())


def check_draws(checks):
    seeds = list(range(64))
    here, there = draws.keys(seeds, "batches"), draws.keys(seeds, "batches", DEVICE)
    counters = torch.arange(4096)
    checks.add("draws: keys", torch.equal(here, there.cpu()))
    checks.add("draws: bits", torch.equal(draws.bits(here, counters), draws.bits(there, counters.to(DEVICE)).cpu()))
    for name, arguments in {
        "uniforms": (20_000,), "normals": (20_000,), "indices": (20_000, 9_973), "permutations": (9_973, 3)
    }.items():  # fmt: skip
        draw = getattr(draws, name)
        checks.add(f"draws: {name}", torch.equal(draw(here, *arguments), draw(there, *arguments).cpu()))


def check_precision(checks, quick):
    """fused-gpu against the stacked engine in float64, at the sizes of the seeds and with every activation.

    Members with a pre-activation nearer to 0 than the weights are to their exact values are excused (`kink_margin`):
    few after 40 steps, most of a wide network's after 1,000. The linear network has no kink and no excuse.
    """
    cases = {f"n = {n}": {"hidden": n} for n in (10, 52, 100, 200)}
    cases |= {name: {"hidden": 52, "activation": name} for name in ("leaky", "abs", "linear")}
    cases["no bias"] = {"hidden": 52, "bias": False}
    cases["shared points"] = {"hidden": 52, "shared": True}
    cases["batch 5"] = {"hidden": 52, "batch": 5}
    cases["epochs"] = {"hidden": 52, "sampling": "epochs"}
    cases["all of 11"] = {"hidden": 52, "batch": "all", "samples": 11}
    cases["rates a member, cosine"] = {
        "hidden": 52, "learning_rate": tuple(0.002 * (s + 1) for s in range(8)), "schedule": Cosine()
    }  # fmt: skip
    cases["d = 127, n = 256, C = 64"] = {"hidden": 256, "inputs": 127, "output_count": 64}
    for name, case in cases.items():
        students, task = problem(8, **{"inputs": 100, "output_count": 50} | case)
        rejected = FusedGpu.unsupported(students, task)
        if rejected:
            checks.add(f"fused-gpu, {name}: {rejected}", False)
            continue
        fused, (exact, exact_task) = FusedGpu(task), in_double(students, task)
        reference = Stacked(exact_task)
        for steps, limit, kink in ((40, ERROR_40, KINK_40), (1000, ERROR_1000, KINK_1000)):
            found = errors(fused.advance(students, 0, steps), reference.advance(exact, 0, steps))
            beyond = [s for s, e in enumerate(found) if e > limit]
            excused = [s for s in beyond[:6] if kink_margin(exact[[s]], exact_task[[s]], steps) < kink]
            worst = max(e for s, e in enumerate(found) if s not in excused)
            note = f" ({len(excused)} of 8 members crossed a kink)" if excused else ""
            checks.add(f"fused-gpu, {name}, {steps} steps{note}", worst, limit)
            if quick:
                break


def check_bits(checks):
    """What must hold bit for bit: rows, neighbours, splitting, streams, and that the argument stays as it was."""
    students, task = problem(8, 100, 52, 50)
    kept = students.map(torch.clone)
    engine = FusedGpu(task)
    whole = engine.advance(students, 0, 500)
    checks.add("fused-gpu: argument left alone", identical(students, kept))
    checks.add("fused-gpu: the same twice", identical(engine.advance(students, 0, 500), whole))
    checks.add("fused-gpu: drawn rows are task.rows", identical(FusedGpu(task, True).advance(students, 0, 500), whole))
    for cut in (1, 2, 3, 137):
        split = engine.advance(engine.advance(students, 0, cut), cut, 500)
        checks.add(f"fused-gpu: split at step {cut}", identical(split, whole))
    late = engine.advance(students, 10**10 + 1, 10**10 + 41)
    checks.add(
        "fused-gpu: rows at step 10^10",
        identical(FusedGpu(task, True).advance(students, 10**10 + 1, 10**10 + 41), late),
    )
    for members in ([3], [7, 0, 3]):
        alone = FusedGpu(task[members]).advance(students[members], 0, 500)
        checks.add(f"fused-gpu: members {members} alone", identical(alone, whole[members]))
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    aside = []
    for stream in streams:
        with torch.cuda.stream(stream):
            aside.append(engine.advance(students, 0, 500))
    torch.cuda.synchronize()
    checks.add("fused-gpu: three streams at once", all(identical(result, whole) for result in aside))
    check_not_finite(checks, students, task, whole)


def check_not_finite(checks, students, task, whole):
    """A member with a NaN, an infinite or an exploding label ends up not finite, and its neighbours as before."""
    labels = task.labels.clone()
    labels[1], labels[4, :, 7], labels[6] = float("nan"), float("inf"), labels[6] * 1e30
    spoilt = FusedGpu(Task(task.points, labels, task.training, task.seeds)).advance(students, 0, 500)
    others = [0, 2, 3, 5, 7]
    checks.add("fused-gpu: neighbours of diverged members", identical(spoilt[others], whole[others]))
    lost = [not bool(torch.isfinite(spoilt.weights[1][s]).all()) for s in (1, 4, 6)]
    checks.add("fused-gpu: NaN, infinity and overflow show", all(lost))


def check_remainders(checks, quick):
    """Every width of each axis by itself, few steps."""
    stride = 7 if quick else 1
    sweeps = {
        "n": [(17, n, 5) for n in range(1, 41, stride)],
        "d": [(d, 9, 5) for d in range(1, 41, stride)],
        "C": [(17, 9, c) for c in range(1, 21, stride)],
    }
    for bias in (True, False):
        for axis, sizes in sweeps.items():
            worst, where = 0.0, None
            for inputs, hidden, output_count in sizes:
                students, task = problem(3, inputs, hidden, output_count, samples=64, bias=bias)
                exact, exact_task = in_double(students, task)
                fused = FusedGpu(task).advance(students, 0, 7)
                found = error(fused, Stacked(exact_task).advance(exact, 0, 7))
                if not found <= worst:
                    worst, where = found, (inputs, hidden, output_count)
            name = f"fused-gpu: widths {axis} = 1 .. {sizes[-1]['dnC'.index(axis)]}, {'bias' if bias else 'no bias'}"
            checks.add(f"{name} (worst at d, n, C = {where})", worst, ERROR_SWEEP)


def check_graph(checks):
    """stacked-graph against stacked, in both precisions, at depth 2 and 3, with full batches, and split in two."""
    for case in ({}, {"sampling": "epochs"}, {"batch": "all"}, {"activation": "leaky"}):
        single = problem(8, 30, 52, 20, **case)
        for students, task in (single, in_double(*single)):
            name = f"stacked-graph, {str(students.dtype)[6:]} {case or ''}"
            engine, limit = StackedGraph(task), ERROR_GRAPH[str(students.dtype)[6:]]
            graph = engine.advance(students, 0, 300)
            checks.add(name, error(graph, Stacked(task).advance(students, 0, 300)), limit)
            split = engine.advance(engine.advance(students, 0, 45), 45, 300)
            checks.add(f"{name}: split at step 45", identical(split, graph))
    _, task = problem(4, 30, 52, 20)
    deep = network(4, (30, 40, 25, 20), seed=5)
    found = error(StackedGraph(task).advance(deep, 0, 100), Stacked(task).advance(deep, 0, 100))
    checks.add("stacked-graph, depth 3", found, ERROR_GRAPH["float32"])


GRAPH_MODES = (
    {"optimiser": {"kind": "adam"}, "learning_rate": 1e-3},
    {"optimiser": {"kind": "adamw"}, "learning_rate": 1e-3},
    {"optimiser": {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.01}},
    {"optimiser": {"kind": "gradient-flow"}, "batch": "all"},
    {"sampling": "online", "label_noise": 0.1},
    {"input_noise": {"kind": "gaussian", "std": 0.1, "fresh": True}},
    {"frozen": (2,)},
    {"loss": "logistic"},
)


def check_graph_modes(checks):
    """stacked-graph against stacked in float64 for every kind of optimiser, sampling and activation."""
    teacher = Normal(inputs=30, hidden=9, outputs=5, activation="tanh").build(
        range(4), dtype=torch.float64, device="cuda"
    )
    inputs = Gaussian(train=200, evaluate=2).draw(teacher, range(4))
    for mode in GRAPH_MODES:
        for activation in ("relu", "erf", "gelu"):
            students = FanInNormal(hidden=(20, 15), activation=activation).build(teacher, range(4))
            training = Training(**{"steps": 1000, "learning_rate": 0.02} | mode)
            task = make_task(students, teacher, inputs, training)
            optimiser = training.optimiser
            start = TrainingState(students) if optimiser.plain else optimiser.start(students)
            after, wanted = (kind(task).learn(start, 0, 150).students for kind in (StackedGraph, Stacked))
            checks.add(f"stacked-graph, {activation} {mode}", error(after, wanted), 1e-9)


# ----------------------------------------------------------------------------------------------------------- times
def seconds(engine, students, steps):
    """Seconds of one advance, device finished before and after."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    engine.advance(students, 0, steps)
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def nanoseconds(engine, students, steps, repeats=3):
    """Nanoseconds a step and student: the median of some runs after a first that compiles or records."""
    seconds(engine, students, 64)
    times = sorted(seconds(engine, students, steps) for _ in range(repeats))
    return 1e9 * times[repeats // 2] / steps / students.members


def time_engines(quick):
    """The grid of members, hidden widths and engines; d = 100, C = 50, 10,000 rows a member, batch 16."""
    table = []
    for members in (32, 132) if quick else (32, 132, 2304):
        _, task = problem(members, 100, 20, 50, samples=2_000 if quick else 10_000)
        engines = {"fused-gpu": FusedGpu(task), "stacked-graph float32": StackedGraph(task)}
        for n in (10, 20, 52, 100, 200):
            students = network(members, (100, n, 50), scale=0.1, seed=4)
            table += [timed(name, engine, students, n) for name, engine in engines.items()]
        del engines
        _, task = in_double(students, task)
        engine = StackedGraph(task)
        for n in (10, 20, 52, 100, 200):
            students = network(members, (100, n, 50), scale=0.1, seed=4).to(dtype=torch.float64)
            table.append(timed("stacked-graph float64", engine, students, n))
        del engine, task
        torch.cuda.empty_cache()
    return table


def timed(name, engine, students, n):
    steps = (4096 if students.members < 1000 else 2048) if name == "fused-gpu" else 256
    found = nanoseconds(engine, students, steps)
    print(f"{name:24s} S = {students.members:5d}  n = {n:4d}  {found:10.1f} ns/step/student", flush=True)
    return {"engine": name, "members": students.members, "hidden": n, "steps": steps, "nanoseconds": found}


def time_sweep():
    """The whole sweep of Tian 2020: 2,304 students of 52 units, 100,000 steps."""
    students, task = problem(2304, 100, 52, 50, samples=10_000, steps=100_000)
    engine = FusedGpu(task)
    seconds(engine, students, 64)
    found = seconds(engine, students, 100_000)
    print(f"2,304 students x 100,000 steps at n = 52: {found:.2f} s", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="write everything to this file as JSON")
    parser.add_argument("--quick", action="store_true", help="fewer widths, smaller ensembles, no long sweep")
    parser.add_argument("--commit", help="the commit to name in the output (asked of git by default)")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("there is no CUDA device here")
    import cupy

    checks, begin = Checks(), time.time()
    for check in (check_draws, check_bits, check_graph, check_graph_modes):
        check(checks)
    for check in (check_precision, check_remainders):
        check(checks, options.quick)
    for name, difference in gpu_rules.differences().items():
        checks.add(f"fused-gpu, {name}: 40 steps against stacked in float32", difference, gpu_rules.ERROR)
    report = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cupy": cupy.__version__,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": options.commit or commit(),
        "checks": checks.results,
        "check_seconds": time.time() - begin,
        "times": time_engines(options.quick),
        "rules": gpu_rules.measured(options.quick),
        "sweep_seconds": None if options.quick else time_sweep(),
    }
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    print({key: report[key] for key in ("device", "torch", "cupy", "date", "commit", "check_seconds")})
    print("every check holds" if checks.hold else "A CHECK FAILED")
    sys.exit(0 if checks.hold else 1)


def commit():
    """The commit checked out here, or "unknown"."""
    answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else "unknown"


if __name__ == "__main__":
    main()
