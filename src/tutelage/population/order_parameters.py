r"""Online SGD in many dimensions: ordinary differential equations for the overlaps (Saad and Solla 1995).

Students :math:`f(x) = \sum_k c_k \sigma(w_k \cdot x)` see every x ~ N(0, I) of d dimensions once, and learn at the rate
:math:`\eta / d` from the teacher's labels, to which noise of a given deviation may be added. With d the overlaps

.. math:: Q_{kl} = w_k \cdot w_l, \qquad R_{kn} = w_k \cdot w^*_n, \qquad T_{nm} = w^*_n \cdot w^*_m

cease to fluctuate (with weights of size 1 in every coordinate these are w.w / d), and in the time t = steps / d

.. math::
    \dot R_{kn} = -\eta\, E[\delta_k\, \rho_n], \qquad
    \dot Q_{kl} = -\eta\, E[\delta_k \lambda_l + \delta_l \lambda_k] + \eta^2 E[\delta_k \delta_l], \qquad
    \delta_k = \sigma'(\lambda_k)\, c_k \cdot (f - f^*)

with :math:`\lambda_k = w_k \cdot x` and :math:`\rho_n = w^*_n \cdot x`. The terms in :math:`\eta` are those of gradient
flow: they come from the exact gradient of :mod:`.population`, taken at any vectors with these overlaps. The term in
:math:`\eta^2` is what single samples add; its integrals are in ``_fourfold.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import value_and_derivative
from tutelage.population._fourfold import fourfold
from tutelage.population.erf_sums import ErfSum, erf_sum
from tutelage.population.expectations import Units, as_units, gradient, loss
from tutelage.population.integrate import integrate, recorded_times
from tutelage.population.kernels import KINDS, odd_and_even
from tutelage.population.quadrature import expected
from tutelage.printing import printed
from tutelage.training.trajectory import Trajectory

_FAR = 1e9
"""So many times the largest overlap at the start, or fan-out, and a member counts as diverged."""


@printed
@dataclass(frozen=True, eq=False)
class Overlaps:
    """Order parameters of S students with K units and their teachers with M units.

    Attributes
    ----------
    q, r, t
        Overlaps among students [S, K, K], of students with teachers [S, K, M], among teachers [S, M, M].
    c, taught
        Fan-outs of the students [S, K, C] and of the teachers [S, M, C].
    activation, slope
        Of all units.
    """

    q: Tensor
    r: Tensor
    t: Tensor
    c: Tensor
    taught: Tensor
    activation: str = "relu"
    slope: float = 0.01

    @property
    def covariance(self) -> Tensor:
        """Of all pre-activations, students first: [S, K + M, K + M]."""
        return torch.cat([torch.cat([self.q, self.r], 2), torch.cat([self.r.mT, self.t], 2)], 1)

    def vectors(self) -> tuple[Units, Units]:
        """A teacher and students with these overlaps, in K + M dimensions, from the root of the covariance.

        What rounding has made of an eigenvalue below 0 is 0.
        """
        # The equations need the vectors' products alone, so any vectors with these products do, and K + M dimensions
        # are enough. The symmetric root exists where Cholesky's does not: students that coincide with one another or
        # with a teacher.
        values, basis = torch.linalg.eigh(self.covariance)
        root = basis * values.clamp_min(0).sqrt().unsqueeze(1) @ basis.mT
        students, teacher = root.split([self.q.shape[1], self.t.shape[1]], 1)
        kind = self.activation, self.slope
        return Units(teacher, self.taught, *kind), Units(students, self.c, *kind)

    def loss(self) -> Tensor:
        """J of every member, without the noise of the labels: [S]."""
        return loss(*self.vectors())


def overlaps(teacher: Network | Units, students: Network | Units) -> Overlaps:
    """Overlaps Q, R, T of students and their teachers.

    Parameters
    ----------
    teacher, students
        Two-layer networks without biases; one teacher per member or one for all.

    Returns
    -------
    Overlaps
        Q [S, K, K], R [S, K, M], T [S, M, M] and the fan-outs.

    Examples
    --------
    >>> w = torch.eye(3, dtype=torch.float64)[None]
    >>> found = overlaps(Units(w[:, :1], torch.ones(1, 1, 1)), Units(w[:, :2], torch.ones(1, 2, 1)))
    >>> found.r.squeeze().tolist(), found.loss().item()  # the second unit is one too many
    ([1.0, 0.0], 0.25)
    """
    teacher, students = as_units(teacher), as_units(students)
    loss(teacher, students)  # raises an error where the two do not fit
    if bool((students.w.norm(dim=2) == 0).any()):
        raise TutelageError("a student unit is 0, where its slope is not defined: give every unit some length")
    members = len(students.w)
    w, c = (a.expand(members, -1, -1) for a in (teacher.w, teacher.c))
    q, r, t = students.w @ students.w.mT, students.w @ w.mT, w @ w.mT
    return Overlaps(q, r, t, students.c, c, students.activation, students.slope)


@printed
@dataclass(frozen=True, eq=False)
class OverlapTrajectory:
    """Overlaps during online SGD.

    Attributes
    ----------
    start
        Overlaps at the beginning.
    times
        T recorded times, in steps / d.
    q, r, c
        Overlaps among students [T, S, K, K], of students with teachers [T, S, K, M], and fan-outs [T, S, K, C].
    """

    start: Overlaps
    times: tuple[float, ...]
    q: Tensor
    r: Tensor
    c: Tensor

    def at(self, place: int) -> Overlaps:
        """The overlaps at one of the times."""
        o = self.start
        return Overlaps(self.q[place], self.r[place], o.t, self.c[place], o.taught, o.activation, o.slope)

    def losses(self) -> Tensor:
        """J at every time: [T, S]."""
        return torch.stack([self.at(i).loss() for i in range(len(self.times))])


def recorded_overlaps(trajectory: Trajectory) -> OverlapTrajectory:
    """Overlaps of students at the recorded steps of a training, to be compared with :func:`order_parameters`.

    Parameters
    ----------
    trajectory
        Result of :func:`tutelage.train` on two-layer networks without biases, with the weights of all recorded steps.

    Returns
    -------
    OverlapTrajectory
        Overlaps Q, R, T and fan-outs; times are in steps / d, and ``losses()`` is the exact generalisation error.

    Examples
    --------
    >>> import tutelage as tt
    >>> teacher = tt.teachers.Normal(inputs=20, hidden=2, outputs=1, activation="erf").build([0])
    >>> students = tt.students.FanInNormal(hidden=3, activation="erf", bias=False).build(teacher, seeds=range(4))
    >>> inputs = tt.inputs.Gaussian(train=1, evaluate=1).draw(teacher, range(4))
    >>> run = tt.train(teacher, students, inputs, steps=100, batch=1, sampling="online", record=[50])
    >>> recorded_overlaps(run).times, recorded_overlaps(run).r.shape
    ((0.0, 2.5, 5.0), torch.Size([3, 4, 3, 2]))
    """
    if not isinstance(trajectory.teacher, Network):
        raise TutelageError("overlaps need a teacher with units, and this teacher is a function or a data set")
    steps = sorted(trajectory.recorded)
    each = [overlaps(trajectory.teacher, trajectory.recorded[step]) for step in steps]
    times = tuple(step / trajectory.teacher.inputs for step in steps)
    q, r, c = (torch.stack([getattr(now, name) for now in each]) for name in ("q", "r", "c"))
    return OverlapTrajectory(each[0], times, q, r, c)


def noise_term(now: Overlaps, label_noise: float = 0.0) -> Tensor:
    r"""E[delta_k delta_l], what single samples add to Q over eta^2: [S, K, K].

    .. math:: \sum_{p, q} (c_k \cdot a_p)(c_l \cdot a_q)\, I_4(k, l, p, q) + s^2 (c_k \cdot c_l)\, E[\sigma'(\lambda_k)
        \sigma'(\lambda_l)], \qquad a = (c, -c^*)

    label_noise: the deviation s of the noise in every output.
    """
    count = now.q.shape[1]
    both = torch.cat([now.c, -now.taught], 1)
    lean = now.c @ both.mT  # c_k . a_p
    integrals = fourfold(now.covariance, count, now.activation, now.slope)
    added = torch.einsum("skp,slq,sklpq->skl", lean, lean, integrals)
    return added + label_noise**2 * (now.c @ now.c.mT) * _slopes(now) if label_noise else added


def change(now: Overlaps, rate: Tensor, second_rate: Tensor, label_noise: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    """dQ/dt [S, K, K], dR/dt [S, K, M] and dc/dt [S, K, C] at the rates [S] of the two layers."""
    if not _closed(now.activation):
        return _change_as_erfs(now, erf_sum(now.activation), rate, second_rate, label_noise)
    # dQ and dR of gradient flow are products of the exact gradient with the vectors: w_l . dJ/dw_k, and w*_n . dJ/dw_k.
    teacher, students = now.vectors()
    dw, dc = gradient(teacher, students)
    eta = rate[:, None, None]
    towards = dw @ students.w.mT
    dq = -eta * (towards + towards.mT) + eta**2 * noise_term(now, label_noise)
    return dq, -eta * dw @ teacher.w.mT, -second_rate[:, None, None] * dc


def _closed(activation: str) -> bool:
    """Whether all integrals of an activation are closed forms or one-dimensional."""
    return activation in KINDS or activation.startswith("hermite-")


def _change_as_erfs(
    now: Overlaps, parts: ErfSum, rate: Tensor, second_rate: Tensor, label_noise: float
) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`change` of the network of erf units that stands for this one, its tied parts added up."""
    teacher, students = now.vectors()
    taught, learnt = parts.units(teacher), parts.units(students)
    by_part, dc = gradient(taught, learnt)
    dw = parts.collected(by_part, parts.widths)
    eta = rate[:, None, None]
    towards = dw @ students.w.mT
    noise = noise_term(overlaps(taught, learnt), label_noise)  # [S, K n, K n]
    once = parts.collected(noise, parts.widths)
    added = parts.collected(once.mT, parts.widths).mT
    dq = -eta * (towards + towards.mT) + eta**2 * added
    return dq, -eta * dw @ teacher.w.mT, -second_rate[:, None, None] * parts.collected(dc, parts.weights)


def order_parameters(
    teacher: Network | Units,
    students: Network | Units,
    rate: float | Sequence[float],
    times: Sequence[float],
    *,
    second_rate: float | Sequence[float] = 0.0,
    label_noise: float = 0.0,
    relative: float = 1e-6,
    absolute: float = 1e-8,
    on_progress: Callable[[float], None] | None = None,
) -> OverlapTrajectory:
    """Solve the order-parameter equations of online SGD in the limit of many dimensions (Saad and Solla 1995).

    :func:`online_sgd` is the simulation in a finite number of dimensions, with the same arguments.

    Parameters
    ----------
    teacher, students
        Two-layer networks without biases (relu, leaky, abs, linear, erf or hermite-k; odd bounded activations such as
        tanh by sums of erfs, whose error :func:`erf_sum` tells); only their overlaps and fan-outs matter.
    rate
        eta = d times the learning rate of the first layer, one for all members or one per member.
    times
        Times to record, in steps / d, increasing.
    second_rate
        The same for the fan-outs; 0 keeps them fixed.
    label_noise
        Standard deviation of Gaussian noise on every output.
    relative, absolute
        Tolerances of the integrator.
    on_progress
        Called with the share of the time that is done.

    Returns
    -------
    OverlapTrajectory
        Overlaps at the recorded times; ``losses()`` gives the generalisation error [T, S].

    Examples
    --------
    >>> teacher = Units(torch.eye(2, 100)[None], torch.ones(1, 2, 1), "erf")
    >>> start = 0.1 * torch.randn(1, 3, 100, generator=torch.Generator().manual_seed(0))
    >>> limit = order_parameters(teacher, Units(start, torch.ones(1, 3, 1), "erf"), rate=0.5, times=[0, 50, 100])
    >>> limit.losses().shape
    torch.Size([3, 1])
    """
    start = overlaps(teacher, students)
    return follow_overlaps(
        start,
        rate,
        times,
        second_rate=second_rate,
        label_noise=label_noise,
        relative=relative,
        absolute=absolute,
        on_progress=on_progress,
    )


def follow_overlaps(
    start: Overlaps,
    rate: float | Sequence[float],
    times: Sequence[float],
    *,
    second_rate: float | Sequence[float] = 0.0,
    label_noise: float = 0.0,
    relative: float = 1e-6,
    absolute: float = 1e-8,
    on_progress: Callable[[float], None] | None = None,
) -> OverlapTrajectory:
    """:func:`order_parameters` from overlaps alone, where no weights are known.

    Two students that coincide do so for ever under SGD; here rounding parts them where their coincidence is unstable.
    """
    if not _closed(start.activation):
        erf_sum(start.activation)  # raises an error where there is none
    members, k, m = start.r.shape
    outputs = start.c.shape[2]
    rates = [rates_of(value, members, name) for value, name in ((rate, "rate"), (second_rate, "second_rate"))]
    if not label_noise >= 0:
        raise TutelageError(f"the deviation of the label noise is not below 0, so it cannot be {label_noise}")
    cuts = [k * k, k * m, k * outputs]

    def unpacked(y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, r, c = y.split(cuts, -1)
        lead = y.shape[:-1]
        return q.reshape(*lead, k, k), r.reshape(*lead, k, m), c.reshape(*lead, k, outputs)

    first = torch.cat([a.flatten(1) for a in (start.q, start.r, start.c)], 1)
    bound = _FAR * torch.maximum(first.abs().amax(1), start.t.flatten(1).abs().amax(1)).clamp_min(1)
    lost = torch.zeros(members, dtype=torch.bool)

    def slope(t: Tensor, y: Tensor, who: Tensor) -> Tensor:
        # Overlaps beyond the bound would overflow in the formulas. They are replaced before, and their slope is
        # infinite, so that the integrator retries a shorter step; when the step vanishes, `lost` says that divergence
        # was the cause.
        fine = (y.abs() < bound[who, None]).all(1, keepdim=True)
        lost[who] |= ~fine[:, 0]
        q, r, c = unpacked(torch.where(fine, y, first[who]))
        now = Overlaps(q, r, start.t[who], c, start.taught[who], start.activation, start.slope)
        moves = torch.cat([a.flatten(1) for a in change(now, rates[0][who], rates[1][who], label_noise)], 1)
        return torch.where(fine, moves, torch.inf)  # a step that leads there is taken back

    try:
        states = integrate(slope, first, times, relative=relative, absolute=absolute, on_progress=on_progress)
    except TutelageError as why:
        if not lost.any():
            raise
        member = int(lost.nonzero()[0, 0])
        raise TutelageError(f"the overlaps of member {member} grow without bound: lower the rate") from why
    return OverlapTrajectory(start, tuple(map(float, times)), *unpacked(states))


def rates_of(value: float | Sequence[float], members: int, name: str) -> Tensor:
    """One rate per member, float64 [S], from one for all or one per member."""
    rates = torch.as_tensor(value, dtype=torch.float64)
    if rates.ndim > 1 or rates.numel() not in (1, members):
        raise TutelageError(f"{name} has {rates.numel()} values for {members} members: give one, or one each")
    if not (rates.isfinite() & (rates >= 0)).all():
        raise TutelageError(f"{name} is a finite number not below 0, not {value}")
    return rates.expand(members)


def _slopes(now: Overlaps) -> Tensor:
    """E[sigma'(lambda_k) sigma'(lambda_l)]: [S, K, K]."""
    size = now.q.diagonal(dim1=1, dim2=2)
    if now.activation == "erf":
        inner = (1 + size).unsqueeze(2) * (1 + size).unsqueeze(1) - now.q**2
        return 2 / torch.pi / inner.sqrt()
    if now.activation not in KINDS:
        root = size.sqrt()
        cosine = (now.q / (root.unsqueeze(2) * root.unsqueeze(1))).clamp(-1, 1)
        return expected(root, root, cosine, now.activation, "slopes")[0]
    a, b = odd_and_even(now.activation, now.slope)
    cosine = (now.q / (size.unsqueeze(2) * size.unsqueeze(1)).sqrt()).clamp(-1, 1)
    return a * a + b * b * 2 / torch.pi * torch.asin(cosine)


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

    Examples
    --------
    >>> teacher = Units(torch.eye(1, 50)[None], torch.ones(1, 1, 1))
    >>> students = Units(0.5 * torch.eye(1, 50).repeat(4, 1, 1), torch.ones(4, 1, 1))
    >>> run = online_sgd(teacher, students, 0.5, [0.0, 5.0], seeds=range(4))
    >>> run.r.shape  # overlaps with the teacher: [time, member, student unit, teacher unit]
    torch.Size([2, 4, 1, 1])
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
    # Invariant: at the head of the loop the students have seen `step` samples. The teacher's units stand below the
    # students' in one array, with -c, so that one product gives the error f - f*.
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
    # Both layers move at the weights before the step: `back` is formed before c changes.
    back = bend[:, :count] * (c[:, :count] @ error.unsqueeze(2))
    w[:, :count].baddbmm_(rates[0] * back, x.unsqueeze(1), alpha=-1)
    c[:, :count].baddbmm_(rates[1] * active[:, :count], error.unsqueeze(1), alpha=-1)


def _stream(
    seeds: Sequence[int], d: int, steps: int, outputs: int, deviation: float
) -> Callable[[int], tuple[Tensor, Tensor]]:
    """From a step to its samples x [S, d] and label noise [S, C], drawn some thousand steps at a time."""
    points, noises = draws.keys(seeds, "online points"), draws.keys(seeds, "online noise")
    # A draw is a function of seed and position in its stream, so how many are drawn at a time changes no number: it
    # trades memory against the cost of a call per step.
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
