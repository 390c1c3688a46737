r"""Gradient descent on the population loss, and with fresh samples every step (Zhou et al. 2021, Theorems 4 and 6).

.. math:: w_j \leftarrow w_j - \eta\, \nabla_{w_j} L(W)

The Hessian at a global minimum has no eigenvalue above :math:`4 \sum_i |w^*_i|`, so descent is stable there below
:math:`1 / (2 \sum_i |w^*_i|)`; the usual rate here is half of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.draws import as_seeds, keys, normals
from tutelage.errors import TutelageError
from tutelage.local.exact import gradient_norm, loss, spread_pairs, top_of
from tutelage.local.setting import LocalSetting
from tutelage.printing import printed
from tutelage.whole import positive, recorded_steps


@printed
@dataclass(frozen=True, eq=False)
class Descent:
    """Record of a gradient descent on the population loss.

    Attributes
    ----------
    start, end
        Students at the first and the last step.
    rate
        Learning rates [S].
    steps
        T recorded steps.
    losses, gradients
        Losses and gradient norms [T, S].
    students
        Students at the recorded steps [T, S, m, d], or None.
    levels, reached
        Losses that were asked for, and the first step at or below each, int64 [S, E], -1 where there was none.
    """

    start: LocalSetting
    end: LocalSetting
    rate: Tensor
    steps: tuple[int, ...]
    losses: Tensor
    gradients: Tensor
    students: Tensor | None
    levels: tuple[float, ...]
    reached: Tensor

    def at(self, place: int) -> LocalSetting:
        """The students at one of the recorded steps."""
        if self.students is None:
            raise TutelageError("the students along the way were not kept: descend with keep=True")
        return self.start.moved(self.students[place])

    @property
    def constant(self) -> Tensor:
        """The least |grad L| / L over the recorded steps, kappa of Theorem 4 on this path: [S]; inf at L = 0."""
        ratio = self.gradients / torch.where(self.losses > 0, self.losses, 1)
        return torch.where(self.losses > 0, ratio, torch.inf).amin(0)

    @property
    def displacement(self) -> Tensor:
        """|W_T - W_0| / |W_0|, small where training is lazy: [S]."""
        moved = (self.end.students - self.start.students).flatten(1).norm(dim=1)
        return moved / self.start.students.flatten(1).norm(dim=1)

    @property
    def unit_displacement(self) -> Tensor:
        """The same of every student: [S, m]; a zero student has 0."""
        size = self.start.students.norm(dim=2)
        return (self.end.students - self.start.students).norm(dim=2) / torch.where(size == 0, 1, size)


def usual_rate(setting: LocalSetting) -> Tensor:
    """1 / (4 sum |w*_i|): [S]."""
    return 1 / (4 * setting.total)


def greatest_rate(setting: LocalSetting) -> Tensor:
    """1 / (2 sum |w*_i|), beyond which descent is not stable at the optimum: [S]."""
    return 1 / (2 * setting.total)


def lazy_rate(setting: LocalSetting, top: Tensor) -> Tensor:
    """Learning rate for the lazy model: half of what is stable at the start.

    Parameters
    ----------
    setting
        Teachers and students.
    top
        Factor of each student's output [m].

    Returns
    -------
    Tensor
        1 / (4 sum_j top_j^2 |w_j|^2), [S].

    Examples
    --------
    >>> lazy_rate(LocalSetting(torch.eye(2)[None], torch.eye(2)[None]), torch.ones(2))
    tensor([0.1250], dtype=torch.float64)
    """
    factors = torch.from_numpy(top_of(setting, top))
    return 1 / (4 * (factors.square() * setting.students.square().sum(2)).sum(1))


def descend(
    setting: LocalSetting,
    record: Sequence[int],
    *,
    rate: float | Tensor | None = None,
    levels: Sequence[float] = (),
    keep: bool = True,
    beyond: bool = False,
    top: Tensor | None = None,
) -> Descent:
    """Gradient descent of every member on the exact population loss.

    Parameters
    ----------
    setting
        Teachers and starting students.
    record
        Numbers of steps after which to record.
    rate
        One learning rate, or one per member [S]; by default a stable one.
    levels
        Losses whose first passing is recorded; losses are then computed at every step.
    keep
        Whether to keep the students at the recorded steps.
    beyond
        Whether the rate may exceed the largest stable one.
    top
        Factor of each student's output [m], for the lazy model (:func:`lazy_rate`).

    Returns
    -------
    Descent

    Examples
    --------
    >>> run = descend(LocalSetting(torch.eye(2), 0.9 * torch.eye(2)), [0, 1000])
    >>> bool(run.losses[1, 0] < 1e-25)
    True
    """
    from tutelage.local._loops import descents

    steps = tuple(sorted(set(recorded_steps(record))))
    if not steps or steps[0] < 0:
        raise TutelageError("descent is recorded after numbers of steps from 0 on: give at least one")
    factors = top_of(setting, top)
    if top is not None and rate is None:
        rate = lazy_rate(setting, top)
    rates = _rates(setting, rate, beyond or top is not None)
    w, shape = setting.students.numpy().copy(), (len(steps), setting.members)
    kept = np.empty((*shape, setting.m, setting.d) if keep else (0, 1, 1, 1))
    # NaN until written: what is left of it tells which member diverged before its last record.
    losses, sizes = np.full(shape, np.nan), np.full(shape, np.nan)
    falling = np.array(sorted(levels, reverse=True), dtype=float)
    limits = np.tile(falling, (setting.members, 1))
    reached = np.full(limits.shape, -1, dtype=np.int64)
    last = np.empty_like(w)
    arguments = (w, setting.teachers.numpy(), factors, bool((factors == 1).all()), rates.numpy(), np.array(steps),
                 limits, kept, last, losses, sizes, reached)  # fmt: skip
    spread_pairs(descents, setting.members, setting.members * (setting.m + setting.r) ** 2 * (steps[-1] + 1), arguments)
    _check_finite(losses, last, rates)
    return Descent(
        setting,
        setting.moved(torch.from_numpy(last)),
        rates,
        steps,
        torch.from_numpy(losses),
        torch.from_numpy(sizes).sqrt(),
        torch.from_numpy(kept) if keep else None,
        tuple(falling.tolist()),
        torch.from_numpy(reached),
    )


def _rates(setting: LocalSetting, rate: float | Tensor | None, beyond: bool) -> Tensor:
    limit = greatest_rate(setting)
    rates = usual_rate(setting) if rate is None else doubles(rate, "rate").detach().cpu()
    if rates.ndim > 1 or rates.numel() not in (1, setting.members):
        raise TutelageError(
            f"rate has {rates.numel()} values for {setting.members} members: give one, or one per member"
        )
    rates = rates.expand(setting.members).contiguous()
    if not bool((rates > 0).all()):
        raise TutelageError(f"rate must be above 0, got {float(rates.min())}")
    if not beyond and bool((rates > limit).any()):
        worst = int((rates / limit).argmax())
        raise TutelageError(
            f"the rate {float(rates[worst]):.4g} is beyond {float(limit[worst]):.4g} = 1 / (2 sum |w*|), where descent "
            "is not stable at the optimum: lower it, or say beyond=True"
        )
    return rates


def _check_finite(losses: np.ndarray, last: np.ndarray, rates: Tensor) -> None:
    if not (np.isfinite(losses).all() and np.isfinite(last).all()):
        gone = int((~np.isfinite(losses)).any(0).argmax())
        raise TutelageError(f"member {gone} has diverged at the rate {float(rates[gone]):.4g}: lower the rate")


def stochastic_gradient(setting: LocalSetting, x: Tensor) -> Tensor:
    """The gradient of (1 / 2N) sum_k R(x_k)^2 at samples x [S, N, d]: [S, m, d].

    (Zhou et al. 2021, section 3.4 prints the loss without 1/2, whose gradient would be twice that of L.)
    """
    x = x.double()
    return _on_samples(setting.students, x, _labels(setting.teachers, x))


def _labels(teachers: Tensor, x: Tensor) -> Tensor:
    """f*(x) of samples [S, N, d]: [S, N]."""
    return (x @ teachers.mT).abs().sum(2)


def _on_samples(students: Tensor, x: Tensor, labels: Tensor) -> Tensor:
    length = students.norm(dim=2, keepdim=True)
    unit = students / torch.where(length == 0, 1, length)
    inner = x @ unit.mT
    # The gradient in the effective neuron g = |w| w, and then the Jacobian |w| (I + u u^T) of g.
    off = _residual(inner, length, labels)
    g = (off.unsqueeze(2) * inner.sign()).mT @ x / x.shape[1]
    return length * (g + (g * unit).sum(2, keepdim=True) * unit)


def descend_on_samples(
    setting: LocalSetting,
    record: Sequence[int],
    batch: int,
    seeds: Sequence[int],
    *,
    rate: float | Tensor | None = None,
    beyond: bool = False,
) -> Descent:
    """SGD with fresh samples at every step (Zhou et al. 2021, Theorem 6); recorded losses and gradients are exact.

    Parameters
    ----------
    setting, record, rate, beyond
        As in :func:`descend`.
    batch
        Samples per step.
    seeds
        One seed per member.

    Returns
    -------
    Descent

    Examples
    --------
    >>> from tutelage.local import local_students, separated_teachers
    >>> teachers = separated_teachers(2, 3, [0])
    >>> run = descend_on_samples(LocalSetting(teachers, local_students(teachers, 4, [0])), [0, 50], 100, [0])
    >>> bool(run.losses[-1] < run.losses[0])
    True
    """
    steps, batch, seeds = tuple(sorted(set(recorded_steps(record)))), positive(batch, "batch"), as_seeds(seeds)
    if not steps or steps[0] < 0:
        raise TutelageError("descent is recorded after numbers of steps from 0 on: give at least one")
    if len(seeds) != setting.members:
        raise TutelageError(f"there are {len(seeds)} seeds for {setting.members} members: give one per member")
    rates, streams = _rates(setting, rate, beyond), keys(seeds, "local batches")
    w, kept, count, wanted = setting.students, [], batch * setting.d, set(steps)
    for step in range(steps[-1] + 1):
        if step in wanted:
            kept.append(w)
        if step < steps[-1]:
            x = normals(streams, count, start=step * count).view(setting.members, batch, setting.d)
            w = w - rates[:, None, None] * _on_samples(w, x, _labels(setting.teachers, x))
    if not bool(w.isfinite().all()):
        raise TutelageError("descent on samples has diverged: lower the rate, or take larger batches")
    losses = torch.stack([loss(setting.moved(w)) for w in kept])
    gradients = torch.stack([gradient_norm(setting.moved(w)) for w in kept])
    none = torch.empty(setting.members, 0, dtype=torch.int64)
    return Descent(setting, setting.moved(w), rates, steps, losses, gradients, torch.stack(kept), (), none)


def _residual(inner: Tensor, length: Tensor, labels: Tensor) -> Tensor:
    """Students less labels: samples along the unit vectors of the students [S, N, m], lengths [S, m, 1] -> [S, N]."""
    return (inner.abs() * length.square().mT).sum(2) - labels


@printed
@dataclass(frozen=True, eq=False)
class SetDescent:
    """Record of a gradient descent on a fixed training set.

    Attributes
    ----------
    end
        Students at the last step.
    steps
        T recorded steps.
    losses
        Exact losses on x ~ N(0, I) without noise [T, S].
    training
        Losses on the training set, half the mean of the squared residuals [T, S].
    """

    end: LocalSetting
    steps: tuple[int, ...]
    losses: Tensor
    training: Tensor


def descend_on_set(
    setting: LocalSetting,
    record: Sequence[int],
    x: Tensor,
    noise: Tensor | None = None,
    *,
    rate: float | Tensor | None = None,
    beyond: bool = False,
) -> SetDescent:
    r"""Gradient descent on a fixed training set, which the theorems of Zhou et al. 2021 do not speak of.

    .. math:: \hat L(W) = \frac{1}{2N} \sum_k (f(x_k) - f^*(x_k) - \xi_k)^2

    Parameters
    ----------
    setting, record, rate, beyond
        As in :func:`descend`.
    x
        Inputs [S, N, d] of any distribution.
    noise
        Noise of the labels [S, N], or None.

    Returns
    -------
    SetDescent

    Examples
    --------
    >>> start = LocalSetting(torch.eye(2), 0.9 * torch.eye(2))
    >>> x = torch.randn(1, 100, 2, generator=torch.Generator().manual_seed(0))
    >>> run = descend_on_set(start, [0, 1000], x)
    >>> bool(run.training[-1] < 1e-20), bool(run.losses[-1] < 1e-20)
    (True, True)
    """
    steps = tuple(sorted(set(recorded_steps(record))))
    if not steps or steps[0] < 0:
        raise TutelageError("descent is recorded after numbers of steps from 0 on: give at least one")
    x = doubles(x, "x")
    if x.ndim != 3 or (len(x), x.shape[2]) != (setting.members, setting.d) or not x.shape[1]:
        raise TutelageError(f"x must have shape [{setting.members}, N, {setting.d}], got {list(x.shape)}")
    if noise is not None:
        noise = doubles(noise, "noise")
        if noise.shape != x.shape[:2]:
            raise TutelageError(f"noise must have shape {list(x.shape[:2])}, got {list(noise.shape)}")
    rates, w, kept, wanted = _rates(setting, rate, beyond)[:, None, None], setting.students, [], set(steps)
    labels = _labels(setting.teachers, x)
    labels = labels if noise is None else labels + noise
    for step in range(steps[-1] + 1):
        if step in wanted:
            kept.append(w)
        if step < steps[-1]:
            w = w - rates * _on_samples(w, x, labels)
    if not bool(w.isfinite().all()):
        raise TutelageError("descent on the training set has diverged: lower the rate, or take more samples")
    losses = torch.stack([loss(setting.moved(each)) for each in kept])
    training = torch.stack([_training_loss(each, x, labels) for each in kept])
    return SetDescent(setting.moved(w), steps, losses, training)


def _training_loss(students: Tensor, x: Tensor, labels: Tensor) -> Tensor:
    length = students.norm(dim=2, keepdim=True)
    inner = x @ (students / torch.where(length == 0, 1, length)).mT
    return _residual(inner, length, labels).square().mean(1) / 2
