r"""Online SGD in a finite number of dimensions: every sample is drawn afresh and seen once.

.. math:: w_k \leftarrow w_k - \frac{\eta}{d}\, \sigma'(w_k \cdot x)\, (c_k \cdot (f(x) - f^*(x) - \xi))\, x

The simulation to which :mod:`.order_parameters` is the limit of many dimensions.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import value_and_derivative
from tutelage.population.expectations import Units, as_units
from tutelage.population.integrate import recorded_times
from tutelage.population.order_parameters import OverlapTrajectory, overlaps, rates_of

_DRAWN = 1 << 22  # numbers drawn at a time


def online_sgd(
    teacher: Network | Units,
    students: Network | Units,
    rate: float | Sequence[float],
    times: Sequence[float],
    seeds: Sequence[int],
    *,
    second_rate: float | Sequence[float] = 0.0,
    label_noise: float = 0.0,
    on_progress: Callable[[float], None] | None = None,
) -> OverlapTrajectory:
    """Simulate online SGD: every sample is drawn afresh and used once.

    Parameters
    ----------
    teacher, students, rate, second_rate, label_noise, on_progress
        As in :func:`order_parameters`, the limit of many dimensions; a step has the learning rate ``rate / d``.
    times
        Times to record in steps / d, rounded to whole steps.
    seeds
        One seed per member, which decides its samples.

    Returns
    -------
    OverlapTrajectory
        Overlaps at the recorded times.
    """
    teacher, students = as_units(teacher), as_units(students)
    start = overlaps(teacher, students)
    members, count, d = students.w.shape
    seeds = draws.as_seeds(seeds)
    if len(seeds) != members:
        raise TutelageError(f"there are {len(seeds)} seeds for {members} members: give one each")
    record = [round(t * d) for t in recorded_times(times)]
    if record != sorted(set(record)) or not record or record[0] < 0:
        raise TutelageError(f"times must grow from 0 on by at least a step, 1 / {d}")
    both = ((rate, "rate"), (second_rate, "second_rate"))
    per_step = [rates_of(value, members, name)[:, None, None] / d for value, name in both]
    taught = teacher.w.expand(members, -1, -1)
    w, c = torch.cat([students.w, taught], 1).clone(), torch.cat([students.c, -start.taught], 1).clone()
    wanted, kept = set(record), []
    draw = _stream(seeds, d, record[-1], c.shape[2], label_noise)
    for step in range(record[-1] + 1):
        if step in wanted:
            w_students = w[:, :count]
            kept.append((w_students @ w_students.mT, w_students @ taught.mT, c[:, :count].clone()))
            if on_progress:
                on_progress(step / max(record[-1], 1))
        if step < record[-1]:
            _step(w, c, count, draw(step), per_step, students)
    q, r, c_kept = (torch.stack(a) for a in zip(*kept, strict=True))
    if not (q.isfinite().all() and c_kept.isfinite().all()):
        raise TutelageError(f"online SGD at the rate {rate} has diverged: lower the rate")
    return OverlapTrajectory(start, tuple(step / d for step in record), q, r, c_kept)


def _step(
    w: Tensor, c: Tensor, count: int, sample: tuple[Tensor, Tensor], rates: Sequence[Tensor], kind: Units
) -> None:
    """One sample for every member, in place: w [S, K + M, d] and c [S, K + M, C], the teacher's last with -c."""
    x, noise = sample
    u = w @ x.unsqueeze(2)
    active, bend = value_and_derivative(kind.activation, u, kind.slope)
    error = (active.mT @ c).squeeze(1) - noise
    back = bend[:, :count] * (c[:, :count] @ error.unsqueeze(2))
    w[:, :count].baddbmm_(rates[0] * back, x.unsqueeze(1), alpha=-1)
    c[:, :count].baddbmm_(rates[1] * active[:, :count], error.unsqueeze(1), alpha=-1)


def _stream(
    seeds: Sequence[int], d: int, steps: int, outputs: int, deviation: float
) -> Callable[[int], tuple[Tensor, Tensor]]:
    """From a step to its samples x [S, d] and label noise [S, C], drawn some thousand steps at a time."""
    points, noises = draws.keys(seeds, "online points"), draws.keys(seeds, "online noise")
    span = max(1, _DRAWN // (len(seeds) * d))
    none = torch.zeros(len(seeds), outputs, dtype=torch.float64)
    held: dict[str, Tensor] = {}

    def draw(step: int) -> tuple[Tensor, Tensor]:
        if step % span == 0:
            more = min(span, steps - step)
            held["x"] = draws.normals(points, more * d, step * d).view(len(seeds), more, d)
            if deviation:
                drawn = draws.normals(noises, more * outputs, step * outputs)
                held["noise"] = deviation * drawn.view(-1, more, outputs)
        return held["x"][:, step % span], held["noise"][:, step % span] if deviation else none

    return draw
