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

Biases of units and outputs take the increments :math:`-\eta \delta_k` and :math:`-\eta_2 (f - f^*)`, and scatter in
the same order as the overlaps.

For inputs with a covariance the numbers are :math:`w_p \cdot P_e w_q` in every eigenspace, and their increments have
:math:`w_p \cdot P_e x` in the place of :math:`\lambda` and :math:`\rho`. These are Gaussian with the pre-activations,
on which alone :math:`\delta` depends: averages over the pre-activations are enough, of the products of means given
them, and of :math:`E[\delta_k \delta_l]` times the covariances that are left.

A is had from differences of the slope, D from the rules of :mod:`.nodes`, whose error is stated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import value_and_derivative
from tutelage.population.expectations import Units
from tutelage.population.integrate import integrate
from tutelage.population.nodes import rule
from tutelage.population.order_parameters import Factor, OverlapRows, beginning, check_noise, rates_of
from tutelage.population.overlaps import Overlaps, OverlapTrajectory, trajectory_of
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
        d times the covariance of the overlaps at every time [T, S, D, D]: R row by row, the upper triangle of Q row by
        row, c row by row where it learns, the biases of units where there are some, and those of outputs where the
        second layer learns.
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

    def biases(self, dimension: int) -> tuple[Tensor, Tensor]:
        """Standard deviations of the biases of units [T, S, K] and of outputs [T, S, C]; 0 where they are fixed."""
        if self.mean.start.biases is None:
            raise TutelageError("the students have no biases, so there is no spread of them")
        units, outputs = self._deviations(dimension)[3:]
        return units, outputs

    def _deviations(self, dimension: int) -> list[Tensor]:
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise TutelageError(f"dimension must be a whole number of at least 1, got {dimension!r}")
        deviations = (self.covariance.diagonal(dim1=2, dim2=3).clamp_min(0) / dimension).sqrt()
        times, members, size = deviations.shape
        state = OverlapRows(self.mean.start)
        least = _Coordinates(state, learns=False)
        frame = least if size == least.size else _Coordinates(state, learns=True)
        still = deviations.new_zeros(times * members, frame.first.shape[1])
        still[:, frame.moving] = deviations.flatten(0, 1)[:, frame.source]
        rows, *small = state.unpacked(still)
        parts = rows[:, 0, :, state.k :].mT, rows[:, 0, :, : state.k], *small
        return [part.reshape(times, members, *part.shape[1:]) for part in parts]


class _Coordinates:
    """The numbers that move, each once: R and the upper triangle of Q in every eigenspace, fan-outs and biases.

    size: how many; index: their places in the rows of the equations; moving, source: the places in the rows that they
    fill, and with which of them.
    """

    def __init__(self, state: OverlapRows, learns: bool) -> None:
        self.state, k = state, state.k
        self.first = state.packed()
        inner, c, *biases = (part[0] for part in state.unpacked(torch.arange(self.first.shape[1])[None]))
        row, column = torch.triu_indices(k, k)
        self.r, self.q = inner[..., k:].mT.flatten(), inner[:, row, column].flatten()
        small = [c.flatten(), *biases] if learns else biases[:1]
        self.index = torch.cat([self.r, self.q, *small])
        self.size = len(self.index)
        source = torch.full((self.first.shape[1],), -1)
        source[self.index] = torch.arange(self.size)
        self.mirrored = inner[:, column, row].flatten()
        source[self.mirrored] = source[self.q]
        self.moving = source >= 0
        self.source = source[self.moving]

    def rows(self, y: Tensor, who: Tensor) -> Tensor:
        """The rows of the equations from coordinates [A, D]; what is fixed is that of the start."""
        out = self.first[who]
        out[:, self.moving] = y[:, self.source]
        return out

    def overlaps(self, y: Tensor, who: Tensor) -> Overlaps:
        return self.state.overlaps(self.rows(y, who), who)

    def shown(self, covariance: Tensor) -> Tensor:
        """The covariance of the overlaps of the pre-activations from that of the coordinates [..., D, D]."""
        values = self.state.parts.values
        each = [torch.kron(values[None], torch.eye(len(ids) // len(values)).to(values)) for ids in (self.r, self.q)]
        onto = torch.block_diag(*each, torch.eye(self.size - len(self.r) - len(self.q)).to(values))
        return onto @ covariance @ onto.mT


@dataclass(frozen=True, eq=False)
class _OneStep:
    """What a step does to the overlaps, at rates [A]: its mean, its Jacobian, and the covariance of its increments."""

    frame: _Coordinates
    label_noise: float
    batch: int

    def slope(self, y: Tensor, who: Tensor, eta: Tensor, second: Tensor) -> Tensor:
        """f(y): [A, D]."""
        rows = self.frame.rows(y, who)
        return self.frame.state.slope(rows, who, eta, second, self.label_noise, self.batch)[:, self.frame.index]

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
        units, outputs = now.covariance.shape[1], now.c.shape[2]
        z, weights = _nodes(units, outputs if self.label_noise else 0, shorter)
        spaces = self.frame.state.parts.values[:, None, None] * self.frame.state.products(self.frame.rows(y, who), who)
        split = now.root(-0.5).unsqueeze(1) @ spaces  # from independent numbers to what is expected of each eigenspace
        first, second_moments = y.new_zeros(len(y), y.shape[1]), y.new_zeros(len(y), y.shape[1], y.shape[1])
        noise = torch.zeros_like(now.q)
        size = max(1, _CHUNK // (len(y) * (z.shape[1] + 2 * self.frame.first.shape[1])))
        for begin in range(0, len(z), size):
            part = slice(begin, begin + size)
            g, delta = self._increments(now, z[part], split, eta[:, None, None], second[:, None, None])
            weighted = weights[part, None] * g
            first += weighted.sum(1)
            second_moments += g.mT @ weighted
            noise += delta.mT @ (weights[part, None] * delta)
        total = second_moments - first[:, :, None] * first[:, None]
        if len(self.frame.state.parts.values) > 1:
            total = total + eta[:, None, None] ** 2 * self._unseen(spaces, split, noise)
        return total / self.batch

    def _increments(
        self, now: Overlaps, z: Tensor, split: Tensor, eta: Tensor, second: Tensor
    ) -> tuple[Tensor, Tensor]:
        """g at every node [A, N, D], its mean given the pre-activations, and delta [A, N, K].

        Nodes z [N, units], and [N, units + C] where labels are noisy.
        """
        k, units = now.q.shape[1], now.covariance.shape[1]
        u = z[:, :units] @ now.root() + now.means.unsqueeze(1)
        active, bend = value_and_derivative(now.activation, u, now.slope)
        error = active @ torch.cat([now.c, -now.taught], 1) + now.offset.unsqueeze(1)
        if self.label_noise:
            error = error - self.label_noise * z[:, units:]
        delta = bend[..., :k] * (error @ now.c.mT)
        along = (z[:, :units] @ split).transpose(1, 2)  # [A, N, E, units]: w . P_e x given all pre-activations
        drift = delta[:, :, None, :, None] * along[:, :, :, None]
        out = drift.clone()
        out[..., :k] += drift[..., :k].mT
        out *= -eta[..., None, None]
        both = (delta.unsqueeze(-1) * delta.unsqueeze(-2)).unsqueeze(2) * self.frame.state.parts.noise[:, None, None]
        out[..., :k] += eta[..., None, None] ** 2 / self.batch * both
        fans = active[..., :k].unsqueeze(-1) * error.unsqueeze(-2)
        moves = [out.flatten(2), -second * fans.flatten(2)]
        if now.biases is not None:
            moves += [-eta * delta, -second * error]
        return torch.cat(moves, 2)[..., self.frame.index], delta

    def _unseen(self, spaces: Tensor, split: Tensor, noise: Tensor) -> Tensor:
        r"""What the parts of the inputs add that pre-activations do not tell, over eta^2: [A, D, D].

        In eigenspace e unit p has :math:`w_p \cdot P_e x`, Gaussian given all pre-activations with a covariance Z that
        does not depend on them, so the products with :math:`\delta_k` have the covariance
        :math:`E[\delta_k \delta_l] Z^{ef}_{pq}` beside that of their means.
        """
        members, count, units, _ = spaces.shape
        flat = split.transpose(1, 2).flatten(2)  # [A, units, E units]
        z = torch.block_diag(*torch.ones(count, units, units).to(spaces)) * spaces.flatten(1, 2).repeat(1, 1, count)
        z = (z - flat.mT @ flat).view(members, count, units, count, units)
        k = noise.shape[1]
        both = torch.einsum("akl,aepfq->aekpflq", noise, z).reshape(members, count * k * units, -1)
        onto = noise.new_zeros(self.frame.size, both.shape[1])
        for ids, start in (
            (self.frame.r, 0),
            (self.frame.q, len(self.frame.r)),
            (self.frame.mirrored, len(self.frame.r)),
        ):
            onto[torch.arange(len(ids)) + start, ids] += 1
        return onto @ both @ onto.mT


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
    covariance: float | Tensor | None = None,
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
    teacher, students, rate, times, second_rate, label_noise, batch, schedule, covariance
        As in :func:`order_parameters`. With a covariance of E different eigenvalues there are E times as many numbers
        to follow, and the time grows with the square of that.
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
    start, parts, _ = beginning(teacher, students, covariance)
    members = len(start.q)
    rates = [rates_of(value, members, name) for value, name in ((rate, "rate"), (second_rate, "second_rate"))]
    check_noise(label_noise, batch)
    frame = _Coordinates(OverlapRows(start, parts), learns=bool((rates[1] > 0).any()))
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

    first = frame.first[:, frame.index]
    zeros = first.new_zeros(members, size * size)
    states = integrate(
        slope, torch.cat([first, zeros], 1), times, relative=relative, absolute=absolute, on_progress=on_progress
    )
    everyone = torch.arange(members)
    each = [frame.overlaps(state[:, :size], everyone) for state in states]
    error = max(_error(step, float(t), state[:, :size], at_rates) for t, state in zip(times, states, strict=True))
    spread = frame.shown(states[:, :, size:].reshape(len(states), members, size, size))
    return OverlapFluctuations(trajectory_of(start, each, times), spread, error)


def _error(step: _OneStep, t: float, y: Tensor, at_rates: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> float:
    """Error of D at a time, relative to its largest entry."""
    who = torch.arange(len(y))
    here = y, who, *at_rates(torch.full((len(y),), t, dtype=torch.float64), who)
    fine, coarse = step.covariance(*here), step.covariance(*here, shorter=True)
    largest = fine.abs().amax((1, 2)).clamp_min(1e-12)
    return float(_SAFETY * ((fine - coarse).abs().amax((1, 2)) / largest).max())
