"""How fast the engines are on this machine, measured on the spot at the sizes of the two-layer sweep."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from tutelage.networks import Network
from tutelage.training.engine import ENGINES
from tutelage.training.settings import Training
from tutelage.training.task import Task

INPUTS, OUTPUTS, BATCH, SAMPLES = 100, 50, 16, 10_000


@dataclass(frozen=True)
class Speed:
    """Time of one step of one student, and the arithmetic done in it."""

    engine: str
    hidden: int
    precision: str
    members: int
    microseconds: float
    gflops: float


def step_flops(hidden: int) -> int:
    """Floating-point operations of one step: two products forward, one backward, two updates.

    >>> step_flops(52)
    588928
    """
    first, second = (INPUTS + 1) * hidden, (hidden + 1) * OUTPUTS
    return 2 * BATCH * (2 * first + 2 * second + hidden * OUTPUTS)


def problem(hidden: int, members: int, dtype: torch.dtype, device: torch.device) -> tuple[Network, Task]:
    """Random students, points and labels; their values do not matter for the time."""
    draw = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=draw, dtype=dtype, device=device)

    weights = (0.1 * normal(members, INPUTS, hidden), 0.1 * normal(members, hidden, OUTPUTS))
    students = Network(weights, (0.1 * normal(members, hidden), 0.1 * normal(members, OUTPUTS)))
    points, labels = normal(members, SAMPLES, INPUTS), normal(members, SAMPLES, OUTPUTS)
    training = Training(steps=10**9, batch=BATCH, learning_rate=1e-4)
    return students, Task(points, labels, training, tuple(range(members)))


def engine_speed(
    name: str, hidden: int, members: int, dtype: torch.dtype, device: torch.device, steps: int
) -> Speed | None:
    """The speed of an engine, the best of three runs; None when it cannot train this."""
    students, task = problem(hidden, members, dtype, device)
    kind = ENGINES[name]
    if kind.missing() or kind.unsupported(students, task):
        return None
    engine = kind(task)

    def run() -> None:
        engine.advance(students, 0, steps)
        if device.type == "cuda":
            torch.cuda.synchronize()

    seconds = best_seconds(run) / steps / members
    precision = str(dtype).removeprefix("torch.")
    return Speed(name, hidden, precision, members, 1e6 * seconds, step_flops(hidden) / seconds / 1e9)


def gemm_gflops(dtype: torch.dtype, device: torch.device, size: int = 2048) -> float:
    """What this machine does in a large matrix product: the yardstick for the engines."""
    a, b = (torch.randn(size, size, dtype=dtype, device=device) for _ in range(2))

    def run() -> None:
        torch.mm(a, b)
        if device.type == "cuda":
            torch.cuda.synchronize()

    return 2 * size**3 / best_seconds(run) / 1e9


def best_seconds(action: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of a few runs after one that does not count: the least disturbed."""
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)
