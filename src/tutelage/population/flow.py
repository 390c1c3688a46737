r"""Training on the population loss itself: gradient flow, gradient descent, and what the end point is.

.. math:: \frac{dw_k}{dt} = -\frac{\partial J}{\partial w_k}, \qquad \frac{dc_k}{dt} = -\frac{\partial J}{\partial c_k}

with the exact gradient of :mod:`.population`: no samples, so no noise, and members differ by their start alone. Time is
learning rate times steps.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.population import biased
from tutelage.population.biased_flow import follow_biased
from tutelage.population.expectations import Units, as_units, first_layer_gradient, gradient, hessian, loss
from tutelage.population.integrate import integrate, recorded_times
from tutelage.population.kernels import pairs
from tutelage.population.whitening import root_of, seen_white, whitened
from tutelage.printing import printed
from tutelage.whole import recorded_steps

_FLOOR = 1e-7
"""Of the teachers' mean length: a unit shorter than that stays where it is."""
_ABOVE_NOISE = 1000
"""So does one shorter than this many times the absolute tolerance. Errors of the steps turn a unit to and fro, which
makes it longer: where it shrinks slowly they were seen to hold it up at 45 tolerances, with ever more steps."""


@printed
@dataclass(frozen=True, eq=False)
class PopulationFlow:
    """Students at the recorded times of a gradient flow on the population loss.

    Attributes
    ----------
    teacher
        The teacher's units.
    times
        T recorded times.
    w, c
        Directions [T, S, n, d] and fan-outs [T, S, n, C] of the students, float64.
    activation, slope
        Of all units.
    biases
        Biases of units [T, S, n] and of outputs [T, S, C]; None for networks without.
    taught
        The teacher as a network, where there are biases.
    root
        Symmetric root of the inputs' covariance [d, d]; None for the identity.
    """

    teacher: Units
    times: tuple[float, ...]
    w: Tensor
    c: Tensor
    activation: str
    slope: float
    biases: tuple[Tensor, Tensor] | None = None
    taught: Network | None = None
    root: Tensor | None = None

    def at(self, place: int) -> Units:
        """The students at one of the times, without their biases."""
        return Units(self.w[place], self.c[place], self.activation, self.slope)

    def network(self, place: int) -> Network:
        """The students at one of the times as a network, with their biases."""
        biases = None if self.biases is None else (self.biases[0][place], self.biases[1][place])
        return Network((self.w[place].mT, self.c[place]), biases, self.activation, self.slope)

    @property
    def end(self) -> Units:
        return self.at(-1)

    def losses(self) -> Tensor:
        """J at every time: [T, S]."""
        every = range(len(self.times))
        if self.taught is not None:
            taught = whitened(self.taught, self.root)
            return torch.stack([biased.loss(taught, whitened(self.network(i), self.root)) for i in every])
        taught_units = seen_white(self.teacher, self.root)
        return torch.stack([loss(taught_units, seen_white(self.at(i), self.root)) for i in every])

    def angles(self) -> Tensor:
        """Angle of every student unit with every teacher unit: [T, S, n, m]."""
        return torch.stack([pairs(w, self.teacher.w.expand(len(w), -1, -1)).angle for w in self.w])


def flow(
    teacher: Network | Units,
    students: Network | Units,
    times: Sequence[float],
    *,
    both_layers: bool = False,
    covariance: float | Tensor | None = None,
    relative: float = 1e-8,
    absolute: float = 1e-10,
    on_progress: Callable[[float], None] | None = None,
) -> PopulationFlow:
    r"""Follow gradient flow on the population loss, without samples.

    .. math:: \dot w_k = -\partial J / \partial w_k, \qquad \dot c_k = -\partial J / \partial c_k

    Each member is integrated with its own steps and error control. A unit that shrinks below 1e-7 of the mean length
    of the teacher's units, or below 1000 times ``absolute``, stays where it is: near the origin its direction turns
    ever faster towards where it shrinks least, so it would arrive at 0.

    Parameters
    ----------
    teacher
        Two-layer networks, one per member or one for all. With biases teacher and students are networks, and the biases
        of the layers that move are learned too.
    students
        Where the flow starts.
    times
        Times to record, at least one, finite and increasing from 0 on; time is learning rate times steps.
    both_layers
        Whether the fan-outs move too; otherwise only the first layer does.
    covariance
        Of the inputs: a variance, one per coordinate [d], or a matrix [d, d]; default: the identity.
    relative, absolute
        Tolerances of the integrator.
    on_progress
        Called with the share of the time that is done.

    Returns
    -------
    PopulationFlow
        The students at the recorded times.

    Examples
    --------
    >>> teacher = Units(torch.eye(2)[None], torch.ones(1, 2, 1))
    >>> students = Units(torch.tensor([[[1.0, 0.5], [0.3, 1.0]]]), torch.ones(1, 2, 1))
    >>> path = flow(teacher, students, times=[0, 10, 100])
    >>> bool(path.losses()[-1] < path.losses()[0] / 100)
    True
    """
    times = recorded_times(times)
    if _biased(teacher) or _biased(students):
        options = {"relative": relative, "absolute": absolute, "on_progress": on_progress}
        taught, path, root = follow_biased(teacher, students, times, both_layers, covariance, options)
        w, c, b, top = (torch.stack(each) for each in zip(*(network.parameters for network in path), strict=True))
        kind = taught.activation, taught.slope
        units = Units(taught.weights[0].mT, taught.weights[1], *kind)
        return PopulationFlow(units, times, w.mT, c, *kind, (b, top), taught, root)
    teacher, students = as_units(teacher), as_units(students)
    _check_some(students)
    root = root_of(covariance, students.w.shape[2])
    white = seen_white(teacher, root)
    floor = max(_FLOOR * float(teacher.w.norm(dim=2).mean()), _ABOVE_NOISE * absolute)
    floors = (students.w.norm(dim=2, keepdim=True) / 10).clamp_max(floor)  # one that starts short may grow
    shape_w, shape_c = students.w.shape[1:], students.c.shape[1:]
    cut = shape_w.numel()

    def slope(t: Tensor, y: Tensor, who: Tensor) -> Tensor:
        now = students.moved(
            y[:, :cut].view(-1, *shape_w), y[:, cut:].view(-1, *shape_c) if both_layers else students.c[who]
        )
        mine = white if len(white.w) == 1 else Units(white.w[who], white.c[who], white.activation, white.slope)
        # Judged at every evaluation: a unit below its floor has the slope 0, so it costs no more steps.
        moving = now.w.norm(dim=2, keepdim=True) > floors[who]
        if both_layers:
            dw, dc = gradient(mine, seen_white(now, root))
            return -torch.cat([(moving * _back(dw, root)).flatten(1), dc.flatten(1)], dim=1)
        return -(moving * _back(first_layer_gradient(mine, seen_white(now, root)), root)).flatten(1)

    start = torch.cat([students.w.flatten(1), students.c.flatten(1)], dim=1) if both_layers else students.w.flatten(1)
    states = integrate(slope, start, times, relative=relative, absolute=absolute, on_progress=on_progress)
    w = states[..., :cut].view(len(times), -1, *shape_w)
    c = states[..., cut:].view(len(times), -1, *shape_c) if both_layers else students.c.expand(len(times), -1, -1, -1)
    return PopulationFlow(teacher, times, w, c, students.activation, students.slope, root=root)


def _back(dw: Tensor, root: Tensor | None) -> Tensor:
    """The gradient by weights from that by weights of whitened inputs: J(w) = J_0(w S), so dJ/dw = dJ_0 S."""
    return dw if root is None else dw @ root


def _biased(network: Network | Units) -> bool:
    return isinstance(network, Network) and network.biases is not None


def _check_some(students: Units) -> None:
    if 0 in students.w.shape[1:]:
        raise TutelageError(f"students have directions {list(students.w.shape)}: give them at least one unit")


def descend(
    teacher: Network | Units,
    students: Network | Units,
    rate: float,
    record: Sequence[int],
    *,
    both_layers: bool = False,
) -> PopulationFlow:
    """Gradient descent on the population loss with a finite learning rate.

    Parameters
    ----------
    teacher, students, both_layers
        As in :func:`flow`.
    rate
        Learning rate.
    record
        Numbers of steps after which the students are recorded, at least one.

    Returns
    -------
    PopulationFlow
        The students after these steps; times are rate times steps.

    Raises
    ------
    TutelageError
        If the loss has more than doubled at a recorded step, or a recorded step is no whole number of at least 0.
    """
    if not rate > 0:
        raise TutelageError(f"rate must be positive, got {rate}")
    wanted = set(recorded_steps(record))
    if not wanted or min(wanted) < 0:
        got = f"got {min(wanted)}" if wanted else "got none"
        raise TutelageError(f"record must hold at least one step, each at least 0, {got}")
    teacher, students = as_units(teacher), as_units(students)
    w, c = students.w.clone(), students.c.clone()
    kept_w, kept_c, before = [], [], loss(teacher, students)
    # Invariant: at the head of the loop w and c are the students after `step` steps.
    for step in range(max(wanted) + 1):
        diverged = not (w.isfinite().all() and c.isfinite().all())
        if not diverged:
            now = students.moved(w, c)
            diverged = step in wanted and bool((loss(teacher, now) > 2 * before + 1e-12).any())
        if diverged:
            raise TutelageError(f"descent at rate {rate} has diverged by step {step}: lower the rate")
        if step in wanted:
            kept_w.append(w.clone())
            kept_c.append(c.clone())
        dw, dc = gradient(teacher, now) if both_layers else (first_layer_gradient(teacher, now), 0)
        w, c = w - rate * dw, c - rate * dc
    times = tuple(rate * step for step in sorted(wanted))
    return PopulationFlow(teacher, times, torch.stack(kept_w), torch.stack(kept_c), students.activation, students.slope)


Kind = Literal["minimum", "saddle", "not stationary"]


@printed
@dataclass(frozen=True, eq=False)
class EndPoint:
    """Kind of a point of the population loss, with the numbers, for the first layer alone.

    Attributes
    ----------
    loss, gradient
        Loss and gradient norm, [S].
    least, largest
        Extreme eigenvalues of the Hessian, [S]; directions in which scales of aligned units can be exchanged give 0.
    kinds
        "minimum" (it may be flat), "saddle" (a direction of negative curvature) or "not stationary", one per member.
    """

    loss: Tensor
    gradient: Tensor
    least: Tensor
    largest: Tensor
    kinds: tuple[Kind, ...]


def end_point(teacher: Network | Units, students: Network | Units, tolerance: float = 1e-6) -> EndPoint:
    """Classify points of the population loss as minima, saddles or neither, for the first layer alone.

    Parameters
    ----------
    teacher, students
        Two-layer networks without biases; one teacher per member or one for all.
    tolerance
        A point is stationary if its gradient norm is at most this, and a minimum if no eigenvalue of the Hessian is
        below minus this times the largest.

    Returns
    -------
    EndPoint
        Loss, gradient norm, extreme eigenvalues and kind, one per member.

    Examples
    --------
    >>> teacher = Units(torch.eye(2)[None], torch.ones(1, 2, 1))
    >>> twins = Units(torch.full((1, 2, 2), 0.5), torch.ones(1, 2, 1))  # two units at one place stay together
    >>> end_point(teacher, flow(teacher, twins, times=[0, 500]).end).kinds
    ('saddle',)
    """
    if not 0 < tolerance < math.inf:
        raise TutelageError(f"tolerance must be positive and finite, got {tolerance}")
    teacher, students = as_units(teacher), as_units(students)
    _check_some(students)
    size = first_layer_gradient(teacher, students).flatten(1).norm(dim=1)
    values = torch.linalg.eigvalsh(hessian(teacher, students))
    least, largest = values[:, 0], values[:, -1]
    kinds: list[Kind] = []
    # Aligned units can exchange length without changing the function, so eigenvalues of 0 are usual at minima, and
    # rounding puts them on either side: only one below -tolerance times the largest is a direction downwards.
    for g, low, high in zip(size.tolist(), least.tolist(), largest.tolist(), strict=True):
        kinds.append("not stationary" if g > tolerance else "saddle" if low < -tolerance * abs(high) else "minimum")
    return EndPoint(loss(teacher, students), size, least, largest, tuple(kinds))
