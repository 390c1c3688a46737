r"""Online SGD in many dimensions: ordinary differential equations for the overlaps (Saad and Solla 1995).

Students :math:`f(x) = \sum_k c_k \sigma(w_k \cdot x)` see every x ~ N(0, I) of d dimensions once, and learn at the rate
:math:`\eta / d` from the teacher's labels, to which noise of a given deviation may be added. With d the overlaps

.. math:: Q_{kl} = w_k \cdot w_l, \qquad R_{nk} = w^*_n \cdot w_k, \qquad T_{nm} = w^*_n \cdot w^*_m

cease to fluctuate (with weights of size 1 in every coordinate these are w.w / d), and in the time t = steps / d

.. math::
    \dot R_{nk} = -\eta\, E[\delta_k\, \rho_n], \qquad
    \dot Q_{kl} = -\eta\, E[\delta_k \lambda_l + \delta_l \lambda_k] + \tfrac{\eta^2}{B} E[\delta_k \delta_l], \qquad
    \delta_k = \sigma'(\lambda_k)\, c_k \cdot (f - f^*)

with :math:`\lambda_k = w_k \cdot x`, :math:`\rho_n = w^*_n \cdot x` and batches of B samples. The terms in
:math:`\eta` are those of gradient flow: they come from the exact gradient of :mod:`.population`, taken at any vectors
with these overlaps. The term in :math:`\eta^2` is what single samples add (:mod:`.averages`).

For inputs with the covariance :math:`\Sigma = \sum_e \mu_e P_e`, of d_e dimensions each, the gradient is
:math:`E[\delta_k x] = \Sigma \sum_p A_{kp} w_p` by Stein's lemma, and the products in every eigenspace,
:math:`q^e_{kl} = w_k \cdot P_e w_l`, obey closed equations (Yoshida and Okada 2019 have them for powers of
:math:`\Sigma`):

.. math::
    \dot q^e_{kl} = -\eta \mu_e \sum_p (A_{kp} q^e_{pl} + A_{lp} q^e_{pk})
    + \tfrac{\eta^2}{B} \mu_e \tfrac{d_e}{d} E[\delta_k \delta_l], \qquad Q = \sum_e \mu_e q^e

With biases of the units and of the outputs, :math:`\lambda_k = w_k \cdot x + b_k` and :math:`f = \sum_k c_k
\sigma(\lambda_k) + a`, pre-activations have the means b and b*. A step of SGD at one learning rate :math:`\eta / d` for
weights and biases, as a training takes it, changes b by :math:`-\tfrac{\eta}{d} \delta_k`: after d steps its mean has
moved by order 1 and its variance, :math:`d \cdot (\eta / d)^2`, is of order 1/d. So biases cease to fluctuate too, have
no term in :math:`\eta^2`, and join the equations by

.. math:: \dot b_k = -\eta\, E[\delta_k], \qquad \dot a = -\eta_2\, E[f - f^*]

where :math:`\lambda_l` and :math:`\rho_n` in the terms of Q and R are those without their biases, :math:`w_l \cdot x`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.population.averages import averages, error_of
from tutelage.population.expectations import Units
from tutelage.population.integrate import integrate
from tutelage.population.overlaps import Overlaps, OverlapTrajectory, apart, overlaps_of, trajectory_of
from tutelage.population.whitening import spectral

_FAR = 1e9
"""So many times the largest overlap at the start, or fan-out, and a member counts as diverged."""
_SAME = 1e-9
"""Eigenvalues of the inputs' covariance within this share of the largest are one."""

Factor = Callable[[Tensor], Tensor]
"""From times [A], in steps / d, to factors on both rates [A]."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of the inputs' covariance and what teachers and students have in their eigenspaces.

    Attributes
    ----------
    values, shares
        E distinct eigenvalues, and the share of the dimensions that each has.
    inner
        Products of all vectors, students first, in every eigenspace [S, E, K + M, K + M].
    """

    values: Tensor
    shares: Tensor
    inner: Tensor

    @property
    def noise(self) -> Tensor:
        """The mean square length of the inputs in every eigenspace, over all dimensions [E]."""
        return self.values * self.shares


def spectrum(teacher: Units, students: Units, covariance: float | Tensor) -> tuple[Spectrum, Units, Units]:
    """The spectrum of a covariance, and the units for whitened inputs in the basis of its eigenvectors."""
    d = students.w.shape[2]
    values, basis = spectral(covariance, d)
    members = len(students.w)
    both = torch.cat([students.w, teacher.w.expand(members, -1, -1)], 1) @ basis  # [S, K + M, d]
    starts = torch.cat([values.new_ones(1, dtype=torch.bool), values.diff() > _SAME * values[-1]])
    group = starts.cumsum(0) - 1
    count = int(group[-1]) + 1
    mask = torch.nn.functional.one_hot(group, count).to(values.dtype).mT  # [E, d]
    inner = torch.einsum("spd,ed,sqd->sepq", both, mask, both)
    per = (mask @ values) / mask.sum(1)
    white = both * values.sqrt()
    return (
        Spectrum(per, mask.sum(1) / d, inner),
        teacher.moved(white[:, students.w.shape[1] :] if len(teacher.w) > 1 else white[:1, students.w.shape[1] :]),
        students.moved(white[:, : students.w.shape[1]]),
    )


def beginning(
    teacher: Network | Units, students: Network | Units, covariance: float | Tensor | None
) -> tuple[Overlaps, Spectrum | None, tuple[Units, Units]]:
    """The overlaps at the start, the spectrum of the inputs, and the units of teacher and students that have them."""
    taught, learning, *biases = apart(teacher, students)
    parts = None
    if covariance is not None:
        parts, taught, learning = spectrum(taught, learning, covariance)
    return overlaps_of(taught, learning, *biases), parts, (taught, learning)


def order_parameters(
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
    relative: float = 1e-6,
    absolute: float = 1e-8,
    on_progress: Callable[[float], None] | None = None,
) -> OverlapTrajectory:
    """Solve the order-parameter equations of online SGD in the limit of many dimensions (Saad and Solla 1995).

    :func:`online_sgd` is the simulation in a finite number of dimensions, with the same arguments;
    :func:`recorded_overlaps` gives the same of a training.

    Parameters
    ----------
    teacher, students
        Two-layer networks; only their overlaps, fan-outs and biases matter. The expectations are closed forms or
        one-dimensional for relu, leaky, abs, linear, erf and hermite-k, sums of erfs for odd bounded activations such
        as tanh, and by quadrature for any other activation, a function of yours too; :func:`method` has them with
        biases. ``error`` of the result tells how exact they are. Students learn the biases that they have.
    rate
        eta = d times the learning rate of the first layer and its biases, one for all members or one per member.
    times
        Times to record, in steps / d, increasing.
    second_rate
        The same for the fan-outs and the biases of the outputs; 0 keeps them fixed.
    label_noise
        Standard deviation of Gaussian noise on every output.
    batch
        Samples per step; the time counts steps.
    schedule
        Factor on both rates as a function of the times [A], entry by entry.
    covariance
        Of the inputs: a variance, one per coordinate [d], or a matrix [d, d]; default: the identity.
    relative, absolute
        Tolerances of the integrator.
    on_progress
        Called with the share of the time that is done.

    Returns
    -------
    OverlapTrajectory
        Overlaps at the recorded times, with a covariance those of the pre-activations, :math:`w^T \\Sigma w`;
        ``losses()`` gives the generalisation error [T, S].

    Examples
    --------
    >>> teacher = Units(torch.eye(2, 100)[None], torch.ones(1, 2, 1), "erf")
    >>> start = 0.1 * torch.randn(1, 3, 100, generator=torch.Generator().manual_seed(0))
    >>> limit = order_parameters(teacher, Units(start, torch.ones(1, 3, 1), "erf"), rate=0.5, times=[0, 50, 100])
    >>> limit.losses().shape
    torch.Size([3, 1])
    """
    start, parts, _ = beginning(teacher, students, covariance)
    options = {"second_rate": second_rate, "label_noise": label_noise, "batch": batch, "schedule": schedule}
    tolerances = {"relative": relative, "absolute": absolute, "on_progress": on_progress}
    return follow_overlaps(start, rate, times, parts=parts, **options, **tolerances)  # type: ignore[arg-type]


def follow_overlaps(
    start: Overlaps,
    rate: float | Sequence[float],
    times: Sequence[float],
    *,
    second_rate: float | Sequence[float] = 0.0,
    label_noise: float = 0.0,
    batch: int = 1,
    schedule: Factor | None = None,
    parts: Spectrum | None = None,
    relative: float = 1e-6,
    absolute: float = 1e-8,
    on_progress: Callable[[float], None] | None = None,
) -> OverlapTrajectory:
    """:func:`order_parameters` from overlaps alone, where no weights are known.

    Two students that coincide do so for ever under SGD; here rounding parts them where their coincidence is unstable.
    """
    members = len(start.q)
    rates = [rates_of(value, members, name) for value, name in ((rate, "rate"), (second_rate, "second_rate"))]
    check_noise(label_noise, batch)
    state = OverlapRows(start, parts)
    first = state.packed()
    bound = _FAR * torch.maximum(first.abs().amax(1), start.t.flatten(1).abs().amax(1)).clamp_min(1)
    lost = torch.zeros(members, dtype=torch.bool)

    def slope(t: Tensor, y: Tensor, who: Tensor) -> Tensor:
        # Overlaps beyond the bound would overflow in the formulas. They are replaced before, and their slope is
        # infinite, so that the integrator retries a shorter step; when the step vanishes, `lost` says that divergence
        # was the cause.
        fine = (y.abs() < bound[who, None]).all(1, keepdim=True)
        lost[who] |= ~fine[:, 0]
        safe = torch.where(fine, y, first[who])
        factor = torch.ones_like(t) if schedule is None else schedule(t)
        eta, second = (each[who] * factor for each in rates)
        moves = state.slope(safe, who, eta, second, label_noise, batch)
        return torch.where(fine, moves, torch.inf)  # a step that leads there is taken back

    try:
        states = integrate(slope, first, times, relative=relative, absolute=absolute, on_progress=on_progress)
    except TutelageError as why:
        if not lost.any():
            raise
        member = int(lost.nonzero()[0, 0])
        raise TutelageError(f"the overlaps of member {member} grow without bound: lower the rate") from why
    everyone = torch.arange(members)
    each = [state.overlaps(y, everyone) for y in states]
    return trajectory_of(start, each, times, max(error_of(now) for now in each))


class OverlapRows:
    """The numbers that the equations move, one row per member.

    Products of students with all vectors, students first, in every eigenspace of the inputs, and what does not depend
    on their dimensions: fan-outs and biases.
    """

    def __init__(self, start: Overlaps, parts: Spectrum | None = None) -> None:
        self.start, self.k = start, start.q.shape[1]
        one = torch.ones(1, dtype=torch.float64)
        self.parts = parts or Spectrum(one, one, start.covariance.unsqueeze(1))
        self.plain = parts is None
        self.shape = self.parts.inner[:, :, : self.k].shape[1:]  # [E, K, K + M]

    def packed(self) -> Tensor:
        small = self.start.c, *(self.start.biases or ())
        return torch.cat([each.flatten(1) for each in (self.parts.inner[:, :, : self.k], *small)], 1)

    def unpacked(self, y: Tensor) -> tuple[Tensor, ...]:
        """Products [A, E, K, K + M] and fan-outs [A, K, C], and biases [A, K] and [A, C]."""
        shapes = self.shape, *(each.shape[1:] for each in (self.start.c, *(self.start.biases or ())))
        parts = y.split([shape.numel() for shape in shapes], 1)
        return tuple(part.view(-1, *shape) for part, shape in zip(parts, shapes, strict=True))

    def overlaps(self, y: Tensor, who: Tensor) -> Overlaps:
        """The overlaps of the pre-activations."""
        start, (rows, c, *biases) = self.start, self.unpacked(y)
        both = torch.einsum("e,sekp->skp", self.parts.values, rows)
        q, r = both.split([self.k, both.shape[2] - self.k], 2)
        now = Overlaps(q, r.mT, start.t[who], c, start.taught[who], start.activation, start.slope)
        if start.taught_biases is None:
            return now
        hidden, top = start.taught_biases
        return replace(now, biases=(biases[0], biases[1]), taught_biases=(hidden[who], top[who]))

    def products(self, y: Tensor, who: Tensor) -> Tensor:
        """Products of all vectors in every eigenspace [A, E, K + M, K + M]."""
        rows, k = self.unpacked(y)[0], self.k
        below = torch.cat([rows[..., k:].mT, self.parts.inner[who][:, :, k:, k:]], 3)
        return torch.cat([rows, below], 2)

    def slope(self, y: Tensor, who: Tensor, eta: Tensor, second: Tensor, label_noise: float, batch: int) -> Tensor:
        """The slope of the rows y of some members at the rates of the two layers [A]."""
        k, parts, now = self.k, self.parts, self.overlaps(y, who)
        found = averages(now, label_noise)
        # dQ and dR of gradient flow are products of the exact gradient with the vectors: w_l . dJ/dw_k, w*_n . dJ/dw_k.
        if self.plain:
            along = (found.towards @ now.root()).unsqueeze(1)
        else:
            coefficients = found.towards @ now.root(-0.5)
            along = parts.values[:, None, None] * (coefficients.unsqueeze(1) @ self.products(y, who))
        drift = along.clone()
        drift[..., :k] += along[..., :k].mT
        added = (eta[:, None, None] ** 2 / batch * found.noise).unsqueeze(1) * parts.noise[:, None, None]
        out = -eta[:, None, None, None] * drift
        out[..., :k] += added
        small = -second[:, None] * found.fan_outs.flatten(1)
        if found.biases is None:
            return torch.cat([out.flatten(1), small], 1)
        hidden, top = found.biases
        return torch.cat([out.flatten(1), small, -eta[:, None] * hidden, -second[:, None] * top], 1)


def check_noise(label_noise: float, batch: int) -> None:
    """Raise an error for a deviation or a batch that is none."""
    if not label_noise >= 0:
        raise TutelageError(f"label_noise must be at least 0, got {label_noise}")
    if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
        raise TutelageError(f"batch must be a whole number of at least 1, got {batch!r}")


def rates_of(value: float | Sequence[float], members: int, name: str) -> Tensor:
    """One rate per member, float64 [S], from one for all or one per member."""
    rates = torch.as_tensor(value, dtype=torch.float64)
    if rates.ndim > 1 or rates.numel() not in (1, members):
        raise TutelageError(f"{name} has {rates.numel()} values for {members} members: give one, or one per member")
    if not (rates.isfinite() & (rates >= 0)).all():
        raise TutelageError(f"{name} must be finite and at least 0, got {value}")
    return rates.expand(members)
