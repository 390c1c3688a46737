r"""How far online SGD in d dimensions strays from the equations of infinitely many: the spread over samples.

The overlaps y = (R, Q, c) of students that see one batch per step take the random increments g / d, whose mean is the
slope f(y) of :mod:`.order_parameters`. After d steps per unit of time, the fluctuations of y around its mean are
Gaussian to the first order in 1/d, with the covariance :math:`\Sigma / d` that follows a linear equation (van Kampen's
expansion, for online learning Riegler and Biehl 1995):

.. math::
    \dot\Sigma = A \Sigma + \Sigma A^T + D, \qquad A = \partial f / \partial y, \qquad D = \tfrac1B \mathrm{Cov}(g)

with what one sample does to the overlaps,

.. math::
    g_{R_{nk}} = -\eta\, \delta_k \rho_n, \qquad
    g_{Q_{kl}} = -\eta (\delta_k \lambda_l + \delta_l \lambda_k) + \tfrac{\eta^2}{B} \delta_k \delta_l, \qquad
    g_{c_k} = -\eta_2\, \sigma(\lambda_k)\, (f - f^*)

:math:`|x|^2 / d` differs from 1, and different samples of a batch from being orthogonal, by :math:`1 / \sqrt d`; what
that adds to :math:`\Sigma / d` is of order :math:`1 / d^2`, as is the square of the shift of the mean.

A is had from differences of the slope, D from the rules of :mod:`.nodes`, whose error is stated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import value_and_derivative
from tutelage.population.expectations import Units, as_units
from tutelage.population.integrate import integrate
from tutelage.population.nodes import rule
from tutelage.population.order_parameters import Factor, change, check_noise, rates_of
from tutelage.population.overlaps import Overlaps, OverlapTrajectory, overlaps, trajectory_of
from tutelage.printing import printed

_STEPS = 1e-7, 1e-4
"""Smallest and largest difference by which the slope is differentiated. Between them it is a quarter of the least
eigenvalue of the pre-activations' covariance: beyond that, no vectors would have the overlaps."""
_SAFETY = 3.0
"""Times the difference from a shorter rule that is stated as the error."""
_FEW = 2
"""Outputs with a noise of their own for which the product of rules is worth its nodes, three times as many each."""
_CHUNK = 1 << 22  # numbers formed at a time


@printed
@dataclass(frozen=True, eq=False)
class OverlapFluctuations:
    """The mean course of overlaps and their covariance over samples.

    Attributes
    ----------
    mean
        The course in infinitely many dimensions, as of :func:`order_parameters`.
    covariance
        d times the covariance of the coordinates at every time [T, S, D, D]: R row by row, the upper triangle of Q
        row by row, and c row by row where it learns.
    error
        Error of the covariance of one step's increments, relative to its largest entry: three times the largest
        difference from a shorter rule at the recorded times.
    """

    mean: OverlapTrajectory
    covariance: Tensor
    error: float

    def r(self, dimension: int) -> Tensor:
        """Standard deviation of the overlaps of teachers with students in so many dimensions [T, S, M, K]."""
        return self._deviations(dimension)[0]

    def q(self, dimension: int) -> Tensor:
        """Standard deviation of the overlaps among students [T, S, K, K]."""
        return self._deviations(dimension)[1]

    def c(self, dimension: int) -> Tensor:
        """Standard deviation of the fan-outs [T, S, K, C]; 0 where they are fixed."""
        return self._deviations(dimension)[2]

    def _deviations(self, dimension: int) -> tuple[Tensor, Tensor, Tensor]:
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise TutelageError(f"dimension must be a whole number of at least 1, got {dimension!r}")
        variance = self.covariance.diagonal(dim1=2, dim2=3).clamp_min(0) / dimension
        times, members, size = variance.shape
        frame = _Coordinates(self.mean.start, size)
        parts = frame.unpacked(variance.sqrt().reshape(times * members, size), zero=True)
        r, q, c = (part.reshape(times, members, *part.shape[1:]) for part in parts)
        return r, q, c


class _Coordinates:
    """The numbers that move, each once: R row by row, the upper triangle of Q, and c where it learns."""

    def __init__(self, start: Overlaps, size: int | None = None, learns: bool = True) -> None:
        self.start, (self.m, self.k) = start, start.r.shape[1:]
        self.upper = torch.triu_indices(self.k, self.k)
        fixed = self.m * self.k + self.upper.shape[1]
        self.learns = learns if size is None else size > fixed
        self.size = fixed + (start.c[0].numel() if self.learns else 0)

    def packed(self, r: Tensor, q: Tensor, c: Tensor) -> Tensor:
        """[A, ..., D] from R [A, ..., M, K], Q [A, ..., K, K] and c [A, ..., K, C]."""
        parts = [r.flatten(-2), q[..., self.upper[0], self.upper[1]]]
        return torch.cat([*parts, c.flatten(-2)] if self.learns else parts, -1)

    def unpacked(self, y: Tensor, who: Tensor | None = None, zero: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """R, Q and c of coordinates [A, D]; fan-outs that are fixed are those of the start, or 0."""
        r, q, c = y.split([self.m * self.k, self.upper.shape[1], y.shape[1] - self.m * self.k - self.upper.shape[1]], 1)
        square = y.new_zeros(len(y), self.k, self.k)
        square[:, self.upper[0], self.upper[1]] = q
        square[:, self.upper[1], self.upper[0]] = q
        if self.learns:
            fan_outs = c.view(-1, *self.start.c.shape[1:])
        elif zero:
            fan_outs = y.new_zeros(len(y), *self.start.c.shape[1:])
        else:
            fan_outs = self.start.c[who]
        return r.view(-1, self.m, self.k), square, fan_outs

    def overlaps(self, y: Tensor, who: Tensor) -> Overlaps:
        start, (r, q, c) = self.start, self.unpacked(y, who)
        return Overlaps(q, r, start.t[who], c, start.taught[who], start.activation, start.slope)


@dataclass(frozen=True, eq=False)
class _OneStep:
    """What a step does to the overlaps, at rates [A]: its mean, its Jacobian, and the covariance of its increments."""

    frame: _Coordinates
    label_noise: float
    batch: int

    def slope(self, y: Tensor, who: Tensor, eta: Tensor, second: Tensor) -> Tensor:
        """f(y): [A, D]."""
        dq, dr, dc = change(self.frame.overlaps(y, who), eta, second, self.label_noise, self.batch)
        return self.frame.packed(dr, dq, dc)

    def jacobian(self, y: Tensor, who: Tensor, eta: Tensor, second: Tensor) -> Tensor:
        """df/dy [A, D, D], the row of a coordinate of f, by central differences of all members at once."""
        least = torch.linalg.eigvalsh(self.frame.overlaps(y, who).covariance)[:, 0]
        h = (least / 4).clamp(*_STEPS)
        size = y.shape[1]
        moved = y[:, None] + h[:, None, None] * torch.cat([torch.eye(size).to(y), -torch.eye(size).to(y)])
        each = [value.repeat_interleave(2 * size) for value in (who, eta, second)]
        ahead, behind = self.slope(moved.reshape(-1, size), *each).view(len(y), 2, size, size).unbind(1)
        return ((ahead - behind) / (2 * h[:, None, None])).mT

    def covariance(self, y: Tensor, who: Tensor, eta: Tensor, second: Tensor, shorter: bool = False) -> Tensor:
        """D [A, D, D]."""
        now = self.frame.overlaps(y, who)
        units, outputs = self.frame.k + self.frame.m, now.c.shape[2]
        z, weights = _nodes(units, outputs if self.label_noise else 0, shorter)
        first, second_moments = y.new_zeros(len(y), y.shape[1]), y.new_zeros(len(y), y.shape[1], y.shape[1])
        size = max(1, _CHUNK // (len(y) * (z.shape[1] + y.shape[1])))
        for begin in range(0, len(z), size):
            part = slice(begin, begin + size)
            g = self._increments(now, z[part], eta[:, None, None, None], second[:, None, None, None])
            first += (weights[part, None] * g).sum(1)
            second_moments += g.mT @ (weights[part, None] * g)
        return (second_moments - first[:, :, None] * first[:, None]) / self.batch

    def _increments(self, now: Overlaps, z: Tensor, eta: Tensor, second: Tensor) -> Tensor:
        """g at every node [A, N, D]; nodes z [N, units], and [N, units + C] where labels are noisy."""
        k, units = self.frame.k, self.frame.k + self.frame.m
        u = z[:, :units] @ now.root()
        active, bend = value_and_derivative(now.activation, u, now.slope)
        error = active @ torch.cat([now.c, -now.taught], 1)
        if self.label_noise:
            error = error - self.label_noise * z[:, units:]
        delta = bend[..., :k] * (error @ now.c.mT)
        learnt, taught = u[..., :k], u[..., k:]
        drift = delta.unsqueeze(-1) * learnt.unsqueeze(-2)
        both = delta.unsqueeze(-1) * delta.unsqueeze(-2)
        return self.frame.packed(
            -eta * taught.unsqueeze(-1) * delta.unsqueeze(-2),
            -eta * (drift + drift.mT) + eta**2 / self.batch * both,
            -second * active[..., :k].unsqueeze(-1) * error.unsqueeze(-2),
        )


def _nodes(units: int, noises: int, shorter: bool) -> tuple[Tensor, Tensor]:
    """Nodes [N, units + noises] and weights [N] for the pre-activations and the noise of labels."""
    if not 0 < noises <= _FEW:
        return rule(units + noises, shorter)
    # g is of degree 2 in the noise, so three nodes per output are exact for its square.
    z, weights = rule(units, shorter)
    x = torch.tensor([-(3**0.5), 0.0, 3**0.5], dtype=torch.float64)
    for _ in range(noises):
        z = torch.cat([z.repeat(3, 1), x.repeat_interleave(len(z))[:, None]], 1)
        weights = torch.cat([weights / 6, weights * 2 / 3, weights / 6])
    return z, weights


def fluctuations(
    teacher: Network | Units,
    students: Network | Units,
    rate: float | Sequence[float],
    times: Sequence[float],
    *,
    second_rate: float | Sequence[float] = 0.0,
    label_noise: float = 0.0,
    batch: int = 1,
    schedule: Factor | None = None,
    relative: float = 1e-4,
    absolute: float = 1e-6,
    on_progress: Callable[[float], None] | None = None,
) -> OverlapFluctuations:
    """The spread of overlaps under online SGD in d dimensions, to the first order in 1/d.

    All runs start from the overlaps of the students given: the spread is that over samples, not that over draws of the
    weights. It is wrong where students (nearly) coincide with one another or with the teacher, because overlaps of
    vectors have a bound there, which a Gaussian does not know; and where the mean course runs away from an unstable
    plateau, once the fluctuations have grown to the size of the overlaps.

    Parameters
    ----------
    teacher, students, rate, times, second_rate, label_noise, batch, schedule
        As in :func:`order_parameters`; inputs have the identity as covariance.
    relative, absolute
        Tolerances of the integrator.
    on_progress
        Called with the share of the time that is done.

    Returns
    -------
    OverlapFluctuations
        The mean course, and standard deviations ``r(d)``, ``q(d)`` and ``c(d)`` in d dimensions.

    Examples
    --------
    >>> teacher = Units(torch.eye(1, 2)[None], torch.ones(1, 1, 1), "erf")
    >>> student = Units(torch.tensor([[[0.5, 0.5]]]), torch.ones(1, 1, 1), "erf")
    >>> spread = fluctuations(teacher, student, rate=1.0, times=[0.0, 2.0])
    >>> [round(deviation, 3) for deviation in spread.r(100)[:, 0, 0, 0].tolist()]
    [0.0, 0.016]
    """
    start = overlaps(as_units(teacher), as_units(students))
    members = len(start.q)
    rates = [rates_of(value, members, name) for value, name in ((rate, "rate"), (second_rate, "second_rate"))]
    check_noise(label_noise, batch)
    frame = _Coordinates(start, learns=bool((rates[1] > 0).any()))
    step = _OneStep(frame, label_noise, batch)
    size = frame.size

    def at_rates(t: Tensor, who: Tensor) -> tuple[Tensor, Tensor]:
        factor = torch.ones_like(t) if schedule is None else schedule(t)
        return rates[0][who] * factor, rates[1][who] * factor

    def slope(t: Tensor, state: Tensor, who: Tensor) -> Tensor:
        y, sigma = state[:, :size], state[:, size:].view(-1, size, size)
        here = y, who, *at_rates(t, who)
        turned = step.jacobian(*here) @ sigma
        moves = turned + turned.mT + step.covariance(*here)
        return torch.cat([step.slope(*here), moves.flatten(1)], 1)

    first = frame.packed(start.r, start.q, start.c)
    zeros = first.new_zeros(members, size * size)
    states = integrate(
        slope, torch.cat([first, zeros], 1), times, relative=relative, absolute=absolute, on_progress=on_progress
    )
    everyone = torch.arange(members)
    each = [frame.overlaps(state[:, :size], everyone) for state in states]
    error = max(_error(step, float(t), state[:, :size], at_rates) for t, state in zip(times, states, strict=True))
    covariance = states[:, :, size:].reshape(len(states), members, size, size)
    return OverlapFluctuations(trajectory_of(start, each, times), covariance, error)


def _error(step: _OneStep, t: float, y: Tensor, at_rates: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> float:
    """Error of D at a time, relative to its largest entry."""
    who = torch.arange(len(y))
    here = y, who, *at_rates(torch.full((len(y),), t, dtype=torch.float64), who)
    fine, coarse = step.covariance(*here), step.covariance(*here, shorter=True)
    largest = fine.abs().amax((1, 2)).clamp_min(1e-12)
    return float(_SAFETY * ((fine - coarse).abs().amax((1, 2)) / largest).max())
