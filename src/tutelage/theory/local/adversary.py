"""Searching for what would break the theory: flat places of a given loss, and losses at which descent is stuck.

What a search returns is the worst it found, with its students; it proves nothing about what it did not find.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import Refusal
from tutelage.theory.local.bounds import lojasiewicz
from tutelage.theory.local.descent import descend
from tutelage.theory.local.exact import gradient, loss, loss_and_gradient
from tutelage.theory.local.grouping import groups
from tutelage.theory.local.setting import Setting

_DIFFERENCE = 1e-5  # of the size of the students: the step of a finite difference
_GROW, _SHRINK = 1.5, 0.4
_DOUBLINGS, _HALVINGS = 20, 50


@dataclass(frozen=True, eq=False)
class Flattest:
    """ratio [S]: |grad L| sqrt(r w_max) / L, the least found from each start; where: its students; start: the first."""

    ratio: Tensor
    start: Tensor
    where: Setting

    @property
    def worst(self) -> tuple[float, Setting]:
        """The least of all members, and that member alone."""
        s = int(self.ratio.argmin())
        return float(self.ratio[s]), self.where.member(s)


def flattest(setting: Setting, level: float, iterations: int = 200) -> Flattest:
    """Walk along the surface L = level towards a smaller gradient, from every member: the worst of Theorem 3 there.

    The start is where the way from the nearest perfect students to the given ones meets the surface.
    A step follows the gradient of log |grad L| less its part along grad L (a Hessian times a vector, by differences of
    exact gradients), and Newton's steps along grad L lead back to the surface; a step that does not help is shortened.
    """
    if not level > 0:
        raise Refusal(f"the loss to search at is above 0, not {level}")
    w = _scaled(setting, level)
    best = start = lojasiewicz(setting.moved(w))
    size = w.flatten(1).norm(dim=1)
    step = 0.05 * size
    for _ in range(iterations):
        downhill = -_tangent(setting, w, size)
        trial = _onto(setting, w + step[:, None, None] * downhill, level)
        value = loss(setting.moved(trial))
        on = (value / level - 1).abs() < 1e-3
        ratio = lojasiewicz(setting.moved(trial))
        better = on & (ratio < best)
        w = torch.where(better[:, None, None], trial, w)
        best = torch.where(better, ratio, best)
        step = torch.where(better, _GROW * step, _SHRINK * step).clamp_min(1e-9)
    return Flattest(best, start, setting.moved(w))


def nearest_perfect(setting: Setting) -> Tensor:
    """Every student turned onto its teacher's line, masses scaled to add up to the teachers': of loss 0, [S, m, d]."""
    found = groups(setting)
    mass = found.mass()
    if bool((mass == 0).any()):
        s = int((mass == 0).any(1).nonzero()[0, 0])
        raise Refusal(f"a teacher of member {s} has no student, so no perfect student is near: start from others")
    share = (setting.lengths / mass).gather(1, found.teacher) * found.weight
    units = (setting.teachers / setting.teachers.norm(dim=2, keepdim=True)).expand(setting.members, -1, -1)
    lines = units.gather(1, found.teacher.unsqueeze(2).expand(-1, -1, setting.d))
    return (share.sqrt() * found.sign).unsqueeze(2) * lines


def _scaled(setting: Setting, level: float) -> Tensor:
    """The students drawn to, or away from, the nearest perfect ones until L = level."""
    perfect = nearest_perfect(setting)
    off = setting.students - perfect

    def above(t: Tensor) -> Tensor:
        return loss(setting.moved(perfect + t[:, None, None] * off)) >= level

    low, high = (torch.full((setting.members,), t, dtype=torch.float64) for t in (0.0, 1.0))
    for _ in range(_DOUBLINGS):
        high = torch.where(above(high), high, 2 * high)
    if not bool(above(high).all()):
        raise Refusal(f"students so near to perfect ones do not reach the loss {level:.3g}: spread them more")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        over = above(middle)
        low, high = torch.where(over, low, middle), torch.where(over, middle, high)
    return perfect + high[:, None, None] * off


def _tangent(setting: Setting, w: Tensor, size: Tensor) -> Tensor:
    """The unit of H grad L less its part along grad L: [S, m, d]."""
    slope = gradient(setting.moved(w))
    norm = slope.flatten(1).norm(dim=1)[:, None, None]
    unit = slope / torch.where(norm == 0, 1, norm)
    h = _DIFFERENCE * size[:, None, None] * unit
    bent = gradient(setting.moved(w + h)) - gradient(setting.moved(w - h))
    bent = bent - (bent * unit).sum((1, 2), keepdim=True) * unit
    long = bent.flatten(1).norm(dim=1)[:, None, None]
    return bent / torch.where(long == 0, 1, long)


def _onto(setting: Setting, w: Tensor, level: float) -> Tensor:
    """Newton's steps along the gradient towards L = level, none longer than a fifth of the students."""
    for _ in range(12):
        value, slope = loss_and_gradient(setting.moved(w))
        squared = slope.square().sum((1, 2))
        move = ((level - value) / torch.where(squared == 0, 1, squared))[:, None, None] * slope
        length = move.flatten(1).norm(dim=1)
        most = 0.2 * w.flatten(1).norm(dim=1)
        w = w + move * (most / torch.maximum(length, most))[:, None, None]
    return w


@dataclass(frozen=True, eq=False)
class Edge:
    """start [S]: losses at the start; end [S]: after descent; failed [S]: not down to the tolerance;
    stuck: the least loss at which descent stood still, inf where all arrived; where: its students, or None."""

    start: Tensor
    end: Tensor
    failed: Tensor
    stuck: float
    where: Setting | None

    @property
    def safe(self) -> float:
        """The least loss of a start that failed, inf where none did: all starts below it arrived."""
        return float(self.start[self.failed].min()) if bool(self.failed.any()) else float("inf")


def basin_edge(setting: Setting, *, steps: int = 6000, tolerance: float = 1e-4) -> Edge:
    """Descend from every member; a member that is not below the tolerance after the steps is outside the basin.

    Where such a member stands at the end is a start of lower loss that descent does not leave either, so the least of
    these is an upper bound of the basin's edge.
    """
    run = descend(setting, [0, steps], keep=False)
    failed = run.losses[1] > tolerance
    if not bool(failed.any()):
        return Edge(run.losses[0], run.losses[1], failed, float("inf"), None)
    worst = int(torch.where(failed, run.losses[1], torch.inf).argmin())
    return Edge(run.losses[0], run.losses[1], failed, float(run.losses[1, worst]), run.end.member(worst))
