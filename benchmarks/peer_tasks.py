"""What each tool does in `peers.py`: one function per tool and question, called in a process of its own."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from lossless_pruning import accuracy, images
from lossless_pruning import trained as trained_with_l1
from matching import data, height, plain_matching
from matching import trained as trained_for_matching
from tutelage.functions import enumerate_regions, prune
from tutelage.functions.matching.aligning import aligned
from tutelage.networks import Network, from_module, outputs, read_network, save, to_module
from tutelage.networks.exporting import save_onnx
from tutelage.training.speed import BATCH, best_seconds, engine_speed, problem

ENSEMBLE = {"hidden": 52, "members": 32, "steps": 500}

# Comparing: one VNN-LIB file per question, read by every tool, and the same limit.


def compare_tutelage(first: Path, second: Path, asked: Path, seconds: float) -> dict:
    words = ["compare", first, second, "--on", asked, "--vnncomp", "--seconds", str(seconds)]
    done = subprocess.run([sys.executable, "-m", "tutelage", *words], capture_output=True, text=True)
    return {"verdict": (done.stdout.split() or [done.stderr[-200:]])[0]}


def compare_vibecheck(first: Path, second: Path, asked: Path, seconds: float) -> dict:
    words = ["verify", asked, "--network", f"f={first}", "--network", f"g={second}", "--timeout", str(seconds)]
    done = subprocess.run([Path(sys.executable).with_name("vibecheck"), *words], capture_output=True, text=True)
    return {"verdict": (done.stdout.split() or [done.stderr[-200:]])[0]}


def compare_marabou(first: Path, second: Path, asked: Path, seconds: float) -> dict:
    """Both networks as one whose outputs are the differences, as the tool knows one network only."""
    from maraboupy import Marabou

    from tutelage.functions.comparing.vnnlib import read_property

    begin = time.monotonic()
    a, b = (read_network(path).to(dtype=torch.float64) for path in (first, second))
    if a.depth != b.depth:
        return {"verdict": "not asked: the networks have different depths"}
    read = read_property(asked)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "difference.onnx")
        save_onnx(difference(a, b).to(dtype=torch.float32), file)
        for output, epsilon in read.epsilon.items():
            for sign in (1, -1):
                network = Marabou.read_onnx(str(file))
                for k, variable in enumerate(network.inputVars[0].ravel()):
                    network.setLowerBound(variable, float(read.low[k]))
                    network.setUpperBound(variable, float(read.high[k]))
                variable = network.outputVars[0].ravel()[output]
                bound = network.setLowerBound if sign > 0 else network.setUpperBound
                bound(variable, sign * epsilon)
                left = seconds - (time.monotonic() - begin)
                options = Marabou.createOptions(timeoutInSeconds=max(1, int(left)), verbosity=0)
                if left <= 0:
                    return {"verdict": "timeout"}
                verdict, values, _ = network.solve(verbose=False, options=options)
                if verdict == "sat":  # its numbers are not exact: what it shows is looked at
                    x = torch.tensor([[[values[v] for v in network.inputVars[0].ravel()]]], dtype=torch.float64)
                    gap = float((outputs(a, x) - outputs(b, x))[0, 0, output]) * sign
                    verdict = "sat" if gap > epsilon else "sat, but its counterexample is none"
                if verdict != "unsat":
                    return {"verdict": verdict.lower()}
    return {"verdict": "unsat"}


def difference(a: Network, b: Network) -> Network:
    """Units of both side by side; outputs are a less b."""
    pairs = list(zip(a.weights, b.weights, strict=True))
    first = torch.cat(pairs[0], -1)
    middle = [torch.block_diag(v[0], w[0])[None] for v, w in pairs[1:-1]]
    last = torch.cat([pairs[-1][0], -pairs[-1][1]], -2)
    biases = list(zip(a.biases, b.biases, strict=True))
    joined = [torch.cat(both, -1) for both in biases[:-1]]
    return Network((first, *middle, last), (*joined, biases[-1][0] - biases[-1][1]), a.activation)


# Training many small students.


def train_tutelage() -> dict:
    speed = engine_speed(
        "fused-cpu", ENSEMBLE["hidden"], ENSEMBLE["members"], torch.float32, torch.device("cpu"), ENSEMBLE["steps"]
    )
    return {"microseconds": speed.microseconds}


def train_jax() -> dict:
    """As its users write it: vmap over students, scan over steps, compiled once."""
    import jax
    import jax.numpy as jnp

    students, task = problem(ENSEMBLE["hidden"], ENSEMBLE["members"], torch.float32, torch.device("cpu"))
    weights = tuple(jnp.asarray(t.numpy()) for t in (*students.weights, *students.biases))
    points, labels = (jnp.asarray(t.numpy()) for t in (task.points, task.labels))

    def loss(parameters, x, y):
        w, v, b, c = parameters
        return ((jax.nn.relu(x @ w + b) @ v + c - y) ** 2).sum(-1).mean() / 2

    def step(parameters, rows):
        x, y = (jnp.take_along_axis(t, rows[..., None], 1) for t in (points, labels))
        gradients = jax.vmap(jax.grad(loss))(parameters, x, y)
        return tuple(p - 1e-4 * g for p, g in zip(parameters, gradients, strict=True)), None

    draw = np.random.default_rng(0)
    rows = jnp.asarray(draw.integers(0, points.shape[1], (ENSEMBLE["steps"], ENSEMBLE["members"], BATCH)))
    run = jax.jit(lambda parameters: jax.lax.scan(step, parameters, rows)[0])
    return {"microseconds": per_step(lambda: jax.block_until_ready(run(weights)))}


def train_torch_vmap() -> dict:
    """The same with torch.func, as its users write it."""
    students, task = problem(ENSEMBLE["hidden"], ENSEMBLE["members"], torch.float32, torch.device("cpu"))
    parameters = (*students.weights, *students.biases)

    def loss(w, v, b, c, x, y):
        return ((torch.relu(x @ w + b) @ v + c - y) ** 2).sum(-1).mean() / 2

    gradient = torch.func.vmap(torch.func.grad(loss, argnums=(0, 1, 2, 3)))
    rows = torch.randint(task.points.shape[1], (ENSEMBLE["steps"], ENSEMBLE["members"], BATCH))
    each = torch.arange(ENSEMBLE["members"])[:, None]

    def run() -> None:
        now = parameters
        for chosen in rows:
            gradients = gradient(*now, task.points[each, chosen], task.labels[each, chosen])
            now = tuple(p - 1e-4 * g for p, g in zip(now, gradients, strict=True))

    return {"microseconds": per_step(run)}


def per_step(run: Callable[[], object]) -> float:
    return 1e6 * best_seconds(run) / ENSEMBLE["steps"] / ENSEMBLE["members"]


# Matching the units of two networks trained from different seeds.


def two_networks(folder: Path) -> tuple[Network, Network]:
    first, second = (trained_for_matching(seed, 512, 4, folder).to(dtype=torch.float64) for seed in (0, 1))
    return first, second


def match_tutelage(folder: Path) -> dict:
    (a, b), (points, labels) = two_networks(folder), test_points()
    begin = time.perf_counter()
    matched = aligned(a, b, points[None], labels[None], "best")[0]
    return {"seconds": time.perf_counter() - begin, "barrier": height(a, matched, points, labels)}


def match_scipy(folder: Path) -> dict:
    (a, b), (points, labels) = two_networks(folder), test_points()
    begin = time.perf_counter()
    matched = plain_matching(a, b)
    return {"seconds": time.perf_counter() - begin, "barrier": height(a, matched, points, labels)}


def match_rebasin(folder: Path) -> dict:
    from rebasin import PermutationCoordinateDescent

    (a, b), (points, labels) = two_networks(folder), test_points()
    first, second = (to_module(n.to(dtype=torch.float32), 0) for n in (a, b))
    begin = time.perf_counter()
    descent = PermutationCoordinateDescent(first, second, points[:1].float())
    descent.rebasin()
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "barrier": height(a, from_module(second).to(dtype=torch.float64), points, labels)}


def test_points() -> tuple[torch.Tensor, torch.Tensor]:
    _, _, x, y = data()
    return x[:2000].double(), y[:2000]


# Pruning: accuracy at equal size.


def network_with_l1(folder: Path) -> Network:
    path = folder / "mnist-2x100.safetensors"
    if not path.is_file():
        save(trained_with_l1("mnist-2x100-5e-4", 8)[0], path)
    return read_network(path)


def prune_tutelage(folder: Path) -> dict:
    network = network_with_l1(folder)
    _, _, x, y = images("mnist")
    begin = time.perf_counter()
    pruned = prune(network, box=(0.0, 1.0))
    seconds = time.perf_counter() - begin
    (folder / "widths.json").write_text(json.dumps(pruned.network.widths))
    return {
        "seconds": seconds,
        "widths": pruned.network.widths,
        "accuracy": accuracy(pruned.network, x, y),
        "unpruned": accuracy(network, x, y),
        "proof": str(pruned.proof),
    }


def prune_torch_pruning(folder: Path) -> dict:
    """By magnitude to the widths that the lossless pruning left, without training afterwards."""
    import torch_pruning

    widths = json.loads((folder / "widths.json").read_text())
    _, _, x, y = images("mnist")
    module = to_module(network_with_l1(folder), 0)
    layers = [layer for layer in module.modules() if isinstance(layer, torch.nn.Linear)]
    begin = time.perf_counter()
    ratios = {layer: 1 - n / layer.out_features for layer, n in zip(layers, widths[1:-1], strict=False)}
    pruner = torch_pruning.pruner.MagnitudePruner(
        module,
        x[:1],
        importance=torch_pruning.importance.MagnitudeImportance(p=1),
        pruning_ratio_dict=ratios,
        ignored_layers=[layers[-1]],
    )
    pruner.step()
    seconds = time.perf_counter() - begin
    pruned = from_module(module)
    return {"seconds": seconds, "widths": pruned.widths, "accuracy": accuracy(pruned, x, y)}


# Linear regions of random networks.


def random_module(widths: tuple[int, ...]) -> torch.nn.Sequential:
    torch.manual_seed(0)
    layers = [m for i, o in pairwise(widths) for m in (torch.nn.Linear(i, o), torch.nn.ReLU())][:-1]
    return torch.nn.Sequential(*layers)


def regions_tutelage(widths: tuple[int, ...]) -> dict:
    network = from_module(random_module(widths)).to(dtype=torch.float64)
    enumerate_regions(network, (-1, 1))  # compiles
    begin = time.perf_counter()
    found = enumerate_regions(network, (-1000, 1000))
    return {"seconds": time.perf_counter() - begin, "regions": len(found)}


def regions_relucent(widths: tuple[int, ...]) -> dict:
    """All of input space; a box of half-width 1,000 is what the other side looks at."""
    import relucent

    complex_ = relucent.Complex(relucent.convert(random_module(widths)))
    begin = time.perf_counter()
    complex_.bfs()
    return {"seconds": time.perf_counter() - begin, "regions": len(complex_)}


TASKS: dict[str, dict[str, Callable[..., dict]]] = {
    "compare": {"tutelage": compare_tutelage, "vibecheck": compare_vibecheck, "marabou": compare_marabou},
    "train": {"tutelage": train_tutelage, "jax": train_jax, "torch.func": train_torch_vmap},
    "match": {"tutelage": match_tutelage, "scipy": match_scipy, "rebasin": match_rebasin},
    "prune": {"tutelage": prune_tutelage, "torch-pruning": prune_torch_pruning},
    "regions": {"tutelage": regions_tutelage, "relucent": regions_relucent},
}
