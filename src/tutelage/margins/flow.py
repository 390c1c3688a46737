r"""Gradient flow of two-layer relu networks on labelled points, to times like 1e300 (Phuong 2021, eqs. 3.2-3.5,
B.15-16).

.. math:: h(x) = \sum_j a_j \rho(w_j \cdot x), \quad \ell = \sum_i \phi(y_i h(x_i)), \quad \dot\theta \in -\partial \ell

Time is carried as log t and slopes of the loss as logarithms, so nothing under- or overflows. The differential
inclusion is followed from one change of a sector to the next: :mod:`._flow_loops` says how.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.margins.datasets import LabelledPoints
from tutelage.margins.losses import log_slope, loss_of
from tutelage.margins.sectors import extremal_sectors, signs, without_ties
from tutelage.networks import Network
from tutelage.printing import printed
from tutelage.threads import spread
from tutelage.whole import positive

TOO_MANY = 1  # how the compiled loop says that a member took all the steps it may
NONE = 2
"""The group of a unit that is neither inactive nor in the extremal sector of its sign."""


@printed
@dataclass(frozen=True, eq=False)
class MarginFlow:
    """Networks at the recorded times of the gradient flow of a classification loss.

    Attributes
    ----------
    data, loss
        What was fitted.
    log_times
        log t of the T records.
    w, a
        First layer [T, S, p, d] and second layer [T, S, p].
    groups
        int8 [S, p]: group of every unit at the end: 0, +1 or -1 for J_0, J_+ and J_-.
    entered
        log t since which it is in that group, [S, p].
    left
        How often a unit left an extremal sector of its sign, int64 [S, p].
    steps, events
        Steps taken, and changes of a sector, int64 [S].
    """

    data: LabelledPoints
    loss: str
    log_times: tuple[float, ...]
    w: Tensor
    a: Tensor
    groups: Tensor
    entered: Tensor
    left: Tensor
    steps: Tensor
    events: Tensor

    def network(self, place: int = -1) -> Network:
        """The networks at one of the records."""
        return Network((self.w[place].mT.contiguous(), self.a[place].unsqueeze(2).contiguous()))

    def groups_at(self, place: int) -> Tensor:
        """Groups of all units at one of the records, from the weights alone: int8 [S, p]."""
        return groups(self.w[place], self.a[place], self.data)

    def heights(self) -> Tensor:
        """w_j.x_i at all records: [T, S, p, n]."""
        return self.w @ self.data.x.mT

    def outputs(self) -> Tensor:
        """h(x_i) at all records: [T, S, n]."""
        return (self.heights().relu() * self.a.unsqueeze(3)).sum(2)

    def settled(self) -> Tensor:
        """log of the time T of Lemma 3.1, since which every unit is in its last group; inf where one has none: [S]."""
        return torch.where(self.groups == NONE, torch.inf, self.entered).amax(1)


def balanced_start(
    seeds: Sequence[int], units: int, dimension: int, scale: float = 1e-4, spread: float = 0.0
) -> Network:
    """Small balanced two-layer networks: |w_j| = |a_j| (Phuong 2021, section 3.1).

    Parameters
    ----------
    seeds
        One per member; directions are uniform and the signs of a_j fair.
    units, dimension
        Hidden units and inputs.
    scale, spread
        |w_j| lies evenly in [(1 - spread) scale, scale].

    Returns
    -------
    Network

    Examples
    --------
    >>> start = balanced_start([0, 1], units=4, dimension=3, scale=0.1)
    >>> start.widths, bool((start.weights[0].norm(dim=1) - start.weights[1].squeeze(2).abs()).abs().max() < 1e-15)
    ((3, 4, 1), True)
    """
    if not 1e-150 <= scale <= 1e150:
        raise TutelageError(f"scale must lie between 1e-150 and 1e150, so that float64 has its square, got {scale}")
    if not 0 <= spread < 1:
        raise TutelageError(f"spread must be at least 0 and below 1, got {spread}")
    units, dimension = positive(units, "units"), positive(dimension, "dimension")
    v = draws.normals(draws.keys(seeds, "balanced directions"), units * dimension).view(-1, units, dimension)
    size = scale * (1 - spread * draws.uniforms(draws.keys(seeds, "balanced lengths"), units))
    sign = torch.where(draws.uniforms(draws.keys(seeds, "balanced signs"), units) < 0.5, 1.0, -1.0)
    w = torch.nn.functional.normalize(v, dim=2) * size.unsqueeze(2)
    return Network((w.mT.contiguous(), (sign * size).unsqueeze(2)))


def groups(w: Tensor, a: Tensor, data: LabelledPoints) -> Tensor:
    """J_0, J_+ and J_- of Lemma 3.1 as 0, +1 and -1, and NONE for other units: w [S, p, d], a [S, p] -> int8 [S, p]."""
    sector = signs(w, data)
    plus, minus = extremal_sectors(data)
    out = torch.full(a.shape, NONE, dtype=torch.int8)
    out[(a > 0) & (sector == plus.unsqueeze(1)).all(2)] = 1
    out[(a < 0) & (sector == minus.unsqueeze(1)).all(2)] = -1
    out[(sector <= 0).all(2)] = 0
    return out


def velocity(w: Tensor, a: Tensor, data: LabelledPoints, loss: str = "logistic") -> tuple[Tensor, Tensor]:
    """dw/dt [S, p, d] and da/dt [S, p] of the flow (Phuong 2021, eqs. B.15 and B.16)."""
    height = w @ data.x.mT
    margin = data.y * (height.relu() * a.unsqueeze(2)).sum(1)
    pull = (data.y * log_slope(loss, margin).exp()).unsqueeze(1)
    sector = signs(w, data)
    dw = a.unsqueeze(2) * without_ties(((sector > 0) * pull) @ data.x, sector, data)
    return dw, (pull * height.relu()).sum(2)


def flow(
    data: LabelledPoints,
    start: Network,
    log_times: Sequence[float],
    *,
    loss: str = "logistic",
    relative: float = 1e-8,
    most: int = 1_000_000,
) -> MarginFlow:
    """Gradient flow of a two-layer relu network on a classification loss, to very large times.

    Parameters
    ----------
    data
        One set of points per member, or one for all.
    start
        Networks without biases, such as :func:`balanced_start`.
    log_times
        log t of the records, growing; -inf is the start itself.
    loss
        "logistic", "exponential" or "polynomial".
    relative
        Tolerated error of a step relative to every unit's length.
    most
        Largest number of steps per member. Points that no such network can fit make the equations stiff as t grows.

    Returns
    -------
    MarginFlow

    Examples
    --------
    >>> from tutelage.margins import balanced_start, cones
    >>> data, start = cones([0], count=10, dimension=2), balanced_start([0], units=6, dimension=2, scale=1e-3)
    >>> course = flow(data, start, [-math.inf, 0.0, 20.0])
    >>> course.w.shape  # [time, member, unit, dimension]
    torch.Size([3, 1, 6, 2])
    """
    w, a, data = _checked(data, start)
    sector = signs(w, data)
    pattern = torch.where(sector > 0, 1, 0).to(torch.int8)
    return _followed(data, w, a, pattern, False, log_times, loss, relative, most, -math.inf)


def linear_twin(course: MarginFlow, place: int, *, relative: float = 1e-8, most: int = 1_000_000) -> MarginFlow:
    """From one record on, the two linear networks of the proof of Theorem 3.1 in place of the relu network (Phuong
    2021, 3.16).

    Units of J_+ learn from the positive samples alone and linearly, those of J_- from the negative ones, others rest.
    """
    w, a = course.w[place], course.a[place]
    where = course.groups_at(place)
    if (where == NONE).any():
        member = int((where == NONE).any(1).nonzero()[0, 0])
        raise TutelageError(
            f"member {member} has units outside J_0, J_+ and J_- at log t = {course.log_times[place]:.3g}: "
            "split it into linear networks at a later record"
        )
    # A frozen pattern is a linear network per unit: the loop then neither looks for boundaries nor settles ties.
    pattern = ((where.unsqueeze(2) == course.data.y.unsqueeze(1)) & (where != 0).unsqueeze(2)).to(torch.int8)
    times = course.log_times[place:]
    return _followed(course.data, w, a, pattern, True, times, course.loss, relative, most, times[0])


def _checked(data: LabelledPoints, start: Network) -> tuple[Tensor, Tensor, LabelledPoints]:
    if start.depth != 2 or start.outputs != 1 or start.biases is not None or start.activation != "relu":
        raise TutelageError("the flow is that of two-layer relu networks with one output and no biases")
    if start.inputs != data.dimension or data.members not in (1, start.members):
        raise TutelageError(
            f"{start.members} networks of {start.inputs} inputs do not fit {data.members} sets of points in "
            f"{data.dimension} dimensions: give one set per network, or one for all"
        )
    if data.members != start.members:
        data = LabelledPoints(data.x.expand(start.members, -1, -1), data.y.expand(start.members, -1))
    w, a = (v.detach().to("cpu", torch.float64) for v in start.weights)
    return w.mT.contiguous(), a.squeeze(2).contiguous(), data


def _followed(
    data: LabelledPoints, w: Tensor, a: Tensor, pattern: Tensor, frozen: bool, log_times: Sequence[float], loss: str,
    relative: float, most: int, since: float,
) -> MarginFlow:  # fmt: skip
    from tutelage.margins._flow_loops import follow  # loading the compiler takes a while

    try:
        times = [float(t) for t in log_times]
    except (TypeError, ValueError):
        raise TutelageError(f"log times to record at must be a list of numbers, got {log_times!r}") from None
    grows = all(a < b for a, b in pairwise([*times, math.inf]))  # not so for NaN
    if not times or not grows or not times[0] >= since:
        raise TutelageError("log times to record at must be finite and grow; the first may be -inf, the start")
    if not 0 < relative < 1:
        raise TutelageError(f"a tolerance lies between 0 and 1, not at {relative}")
    # tau = log(1 + t): near t = 0 it is t itself, later log t, so both ends of the course have steps of moderate size.
    taus = np.logaddexp(0.0, np.array([since, *times]))
    members, p, d = w.shape
    plus, minus = (v.numpy() for v in extremal_sectors(data))
    kept_w, kept_a = np.empty((len(taus), members, p, d)), np.empty((len(taus), members, p))
    groups, entered = np.empty((members, p), np.int8), np.empty((members, p))
    left, counts = np.zeros((members, p), np.int64), np.zeros((members, 3), np.int64)
    ends = np.zeros((members, 2))
    arguments: tuple[Any, ...] = (
        data.x.numpy(), data.y.numpy(), plus, minus, w.clone().numpy(), a.clone().numpy(), pattern.numpy(), frozen,
        taus, loss_of(loss).code, relative, most, kept_w, kept_a, groups, entered, left, counts, ends,
    )  # fmt: skip
    spread(follow, members, *arguments)
    _refuse_unfinished(ends, taus[-1], most)
    log_t = torch.from_numpy(entered).expm1().log()
    kept = [torch.from_numpy(v[1:].copy()) for v in (kept_w, kept_a)]
    rest = torch.from_numpy(groups), log_t, torch.from_numpy(left)
    steps = torch.from_numpy(counts)
    return MarginFlow(data, loss, tuple(times), kept[0], kept[1], *rest, steps[:, 0], steps[:, 2])


def _refuse_unfinished(ends: np.ndarray, target: float, most: int) -> None:
    bad = np.flatnonzero(ends[:, 0])
    if not len(bad):
        return
    s = int(bad[0])
    came, last = (math.log(math.expm1(tau)) for tau in (ends[s, 1], target))
    came_to = f"member {s} came to log t = {came:.4g} of {last:.4g}"
    if ends[s, 0] == TOO_MANY:
        raise TutelageError(
            f"{came_to} in {most} steps: points that cannot be fitted make the flow stiff, and so do boundaries met at "
            "very late times, where rounding hides the sides; ask for earlier times"
        )
    raise TutelageError(
        f"{came_to}, where no step is short enough to be followed in double precision: ask for times before that"
    )
