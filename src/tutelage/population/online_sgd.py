"""Online SGD in a finite number of dimensions, to be compared with the equations of the limit."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import value_and_derivative
from tutelage.population.expectations import Units
from tutelage.population.integrate import recorded_times
from tutelage.population.order_parameters import Factor, beginning, check_noise, rates_of
from tutelage.population.overlaps import Overlaps, OverlapTrajectory, trajectory_of
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
    check_noise(label_noise, batch)
    # In the basis of eigenvectors coordinates are independent; what is simulated is turned there once.
    start, _, units = beginning(teacher, students, covariance)
    members, _, d = units[1].w.shape
    deviations = None if covariance is None else spectral(covariance, d)[0].sqrt()
    state = _OnlineState(start, *units, deviations)
    seeds = draws.as_seeds(seeds)
    if len(seeds) != members:
        raise TutelageError(f"there are {len(seeds)} seeds for {members} members: give one per member")
    record = [round(t * d) for t in recorded_times(times)]
    if record != sorted(set(record)) or not record or record[0] < 0:
        raise TutelageError(f"times must grow from 0 on by at least a step, 1 / {d}")
    both = ((rate, "rate"), (second_rate, "second_rate"))
    per_step = [rates_of(value, members, name)[:, None, None] / d for value, name in both]
    wanted, kept = set(record), []
    draw = _stream(seeds, d, record[-1], start.c.shape[2], label_noise, batch, deviations)
    # Invariant: at the head of the loop the students have seen `step` samples.
    for step in range(record[-1] + 1):
        if step in wanted:
            kept.append(state.overlaps())
            if on_progress:
                on_progress(step / max(record[-1], 1))
        if step < record[-1]:
            factor = 1.0 if schedule is None else float(schedule(torch.tensor([step / d], dtype=torch.float64)))
            state.step(*draw(step), [each * (factor / batch) for each in per_step])
    if not all(now.q.isfinite().all() and now.c.isfinite().all() for now in kept):
        raise TutelageError(f"online SGD at the rate {rate} has diverged: lower the rate")
    return trajectory_of(start, kept, tuple(step / d for step in record))


class _OnlineState:
    """Units w [S, K + M, d] and fan-outs c [S, K + M, C] of students and teachers, the teacher's last with -c.

    Biases of units are the weights of one more input, which is 1, and that of the outputs (the students' less the
    teachers') the fan-out of one more unit, whose activity is 1: both layers move as without them.
    """

    def __init__(self, start: Overlaps, teacher: Units, students: Units, deviations: Tensor | None) -> None:
        self.start, self.count, self.deviations = start, students.w.shape[1], deviations
        self.w = torch.cat([students.w, teacher.w.expand(len(students.w), -1, -1)], 1)
        if deviations is not None:
            self.w /= deviations
        self.c = torch.cat([students.c, -start.taught], 1)
        self.biased = start.biases is not None
        if self.biased:
            self.w = torch.cat([self.w, start.means.unsqueeze(2)], 2)
            self.c = torch.cat([self.c, start.offset.unsqueeze(1)], 1)

    def step(self, x: Tensor, noise: Tensor, rates: Sequence[Tensor]) -> None:
        """One batch for every member, in place: x [S, B, d] and the noise of labels [S, B, C]."""
        count, one = self.count, x.new_ones(())
        if self.biased:
            x = torch.cat([x, one.expand(*x.shape[:2], 1)], 2)
        active, bend = value_and_derivative(self.start.activation, self.w @ x.mT, self.start.slope)
        if self.biased:
            active = torch.cat([active, one.expand(len(active), 1, active.shape[2])], 1)
        error = active.mT @ self.c - noise
        # Both layers move at the weights before the step: `back` is formed before c changes.
        back = bend[:, :count] * (self.c[:, :count] @ error.mT)
        self.w[:, :count].baddbmm_(rates[0] * back, x, alpha=-1)
        self.c[:, :count].baddbmm_(rates[1] * active[:, :count], error, alpha=-1)
        if self.biased:
            self.c[:, -1:].baddbmm_(rates[1] * active[:, -1:], error, alpha=-1)

    def overlaps(self) -> Overlaps:
        """The overlaps of the pre-activations now."""
        start, d = self.start, self.w.shape[2] - self.biased
        w = self.w[..., :d] if self.deviations is None else self.w[..., :d] * self.deviations
        students, taught = w[:, : self.count], w[:, self.count :]
        now = replace(start, q=students @ students.mT, r=taught @ students.mT, c=self.c[:, : self.count].clone())
        if start.taught_biases is None:
            return now
        return replace(now, biases=(self.w[:, : self.count, d].clone(), self.c[:, -1] + start.taught_biases[1]))


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
