"""Online SGD in a finite number of dimensions, to be compared with the equations of the limit."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import value_and_derivative
from tutelage.population.expectations import Units, as_units
from tutelage.population.integrate import recorded_times
from tutelage.population.order_parameters import Factor, check_noise, rates_of, spectrum
from tutelage.population.overlaps import OverlapTrajectory, overlaps
from tutelage.population.whitening import spectral

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
    batch: int = 1,
    schedule: Factor | None = None,
    covariance: float | Tensor | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> OverlapTrajectory:
    """Simulate online SGD: every sample is drawn afresh and used once.

    Parameters
    ----------
    teacher, students, rate, second_rate, label_noise, batch, schedule, covariance, on_progress
        As in :func:`order_parameters`, the limit of many dimensions; a step has the learning rate ``rate / d``.
    times
        Times to record in steps / d, rounded to whole steps.
    seeds
        One seed per member, which decides its samples.

    Returns
    -------
    OverlapTrajectory
        Overlaps at the recorded times.

    Examples
    --------
    >>> teacher = Units(torch.eye(1, 50)[None], torch.ones(1, 1, 1))
    >>> students = Units(0.5 * torch.eye(1, 50).repeat(4, 1, 1), torch.ones(4, 1, 1))
    >>> run = online_sgd(teacher, students, 0.5, [0.0, 5.0], seeds=range(4))
    >>> run.r.shape  # overlaps with the teacher: [time, member, student unit, teacher unit]
    torch.Size([2, 4, 1, 1])
    """
    teacher, students = as_units(teacher), as_units(students)
    check_noise(label_noise, batch)
    start, deviations = overlaps(teacher, students), None
    if covariance is not None:
        # In the basis of eigenvectors coordinates are independent; what is simulated is turned there once.
        turned = spectrum(teacher, students, covariance)[1:]
        start, deviations = overlaps(*turned), spectral(covariance, students.w.shape[2])[0].sqrt()
        teacher, students = (units.moved(units.w / deviations) for units in turned)
    members, count, d = students.w.shape
    seeds = draws.as_seeds(seeds)
    if len(seeds) != members:
        raise TutelageError(f"there are {len(seeds)} seeds for {members} members: give one per member")
    record = [round(t * d) for t in recorded_times(times)]
    if record != sorted(set(record)) or not record or record[0] < 0:
        raise TutelageError(f"times must grow from 0 on by at least a step, 1 / {d}")
    both = ((rate, "rate"), (second_rate, "second_rate"))
    per_step = [rates_of(value, members, name)[:, None, None] / d for value, name in both]
    taught = teacher.w.expand(members, -1, -1)
    w, c = torch.cat([students.w, taught], 1).clone(), torch.cat([students.c, -start.taught], 1).clone()
    wanted, kept = set(record), []
    draw = _stream(seeds, d, record[-1], c.shape[2], label_noise, batch, deviations)
    # Invariant: at the head of the loop the students have seen `step` samples. The teacher's units stand below the
    # students' in one array, with -c, so that one product gives the error f - f*.
    for step in range(record[-1] + 1):
        if step in wanted:
            w_students = w[:, :count] if deviations is None else w[:, :count] * deviations
            w_taught = taught if deviations is None else taught * deviations
            kept.append((w_students @ w_students.mT, w_taught @ w_students.mT, c[:, :count].clone()))
            if on_progress:
                on_progress(step / max(record[-1], 1))
        if step < record[-1]:
            factor = 1.0 if schedule is None else float(schedule(torch.tensor([step / d], dtype=torch.float64)))
            _step(w, c, count, draw(step), [each * (factor / batch) for each in per_step], students)
    q, r, c_kept = (torch.stack(a) for a in zip(*kept, strict=True))
    if not (q.isfinite().all() and c_kept.isfinite().all()):
        raise TutelageError(f"online SGD at the rate {rate} has diverged: lower the rate")
    return OverlapTrajectory(start, tuple(step / d for step in record), q, r, c_kept)


def _step(
    w: Tensor, c: Tensor, count: int, sample: tuple[Tensor, Tensor], rates: Sequence[Tensor], kind: Units
) -> None:
    """One batch for every member, in place: w [S, K + M, d] and c [S, K + M, C], the teacher's last with -c."""
    x, noise = sample  # [S, B, d], [S, B, C]
    active, bend = value_and_derivative(kind.activation, w @ x.mT, kind.slope)
    error = active.mT @ c - noise
    # Both layers move at the weights before the step: `back` is formed before c changes.
    back = bend[:, :count] * (c[:, :count] @ error.mT)
    w[:, :count].baddbmm_(rates[0] * back, x, alpha=-1)
    c[:, :count].baddbmm_(rates[1] * active[:, :count], error, alpha=-1)


def _stream(
    seeds: Sequence[int], d: int, steps: int, outputs: int, deviation: float, batch: int, deviations: Tensor | None
) -> Callable[[int], tuple[Tensor, Tensor]]:
    """From a step to its samples x [S, B, d] and label noise [S, B, C], drawn some thousand steps at a time."""
    points, noises = draws.keys(seeds, "online points"), draws.keys(seeds, "online noise")
    # A draw is a function of seed and position in its stream, so how many are drawn at a time changes no number: it
    # trades memory against the cost of a call per step.
    span = max(1, _DRAWN // (len(seeds) * d * batch))
    none = torch.zeros(len(seeds), batch, outputs, dtype=torch.float64)
    held: dict[str, Tensor] = {}

    def draw(step: int) -> tuple[Tensor, Tensor]:
        if step % span == 0:
            more, before = min(span, steps - step) * batch, step * batch
            x = draws.normals(points, more * d, before * d).view(len(seeds), -1, batch, d)
            held["x"] = x if deviations is None else x * deviations
            if deviation:
                drawn = draws.normals(noises, more * outputs, before * outputs)
                held["noise"] = deviation * drawn.view(len(seeds), -1, batch, outputs)
        return held["x"][:, step % span], held["noise"][:, step % span] if deviation else none

    return draw
