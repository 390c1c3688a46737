"""Searching for what would break the theory: flat places of a given loss, and losses at which descent is stuck.

What a search returns is the worst it found, with its students; it proves nothing about what it did not find.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.local.bounds import lojasiewicz
from tutelage.local.descent import descend, usual_rate
from tutelage.local.exact import gradient, loss, loss_and_gradient
from tutelage.local.grouping import groups
from tutelage.local.setting import LocalSetting
from tutelage.printing import printed

_DIFFERENCE = 1e-5  # of the size of the students: the step of a finite difference
_GROW, _SHRINK = 1.5, 0.4
_DOUBLINGS, _HALVINGS = 20, 50


@printed
@dataclass(frozen=True, eq=False)
class Flattest:
    """Points with the smallest gradient found on a surface of constant loss.

    Attributes
    ----------
    ratio
        Smallest |grad L| sqrt(r w_max) / L found from each start, [S].
    start
        The ratio at the start, [S].
    where
        The students with the smallest ratio.
    """

    ratio: Tensor
    start: Tensor
    where: LocalSetting

    @property
    def worst(self) -> tuple[float, LocalSetting]:
        """The least of all members, and that member alone."""
        s = int(self.ratio.argmin())
        return float(self.ratio[s]), self.where.member(s)


def flattest(setting: LocalSetting, level: float, iterations: int = 200) -> Flattest:
    """Search for the smallest gradient on the surface L = level: the worst case of Zhou et al. 2021, Theorem 3.

    The search starts where the line from the nearest perfect students to the given ones meets the surface, and follows
    the gradient of log |grad L| without its part along grad L.

    Parameters
    ----------
    setting
        Teachers and students.
    level
        The loss.
    iterations
        Steps of the search.

    Returns
    -------
    Flattest

    Examples
    --------
    >>> from tutelage.local import local_students, separated_teachers
    >>> teachers = separated_teachers(2, 3, [0])
    >>> worst = flattest(LocalSetting(teachers, local_students(teachers, 4, [0])), level=0.01, iterations=20)
    >>> bool(worst.ratio <= worst.start)
    True
    """
    size = _scaled(setting, level).flatten(1).norm(dim=1)
    start, best, w = _walk(
        setting,
        level,
        lambda w: lojasiewicz(setting.moved(w)),
        lambda w: -_across(setting, w, _bent(setting, w, gradient(setting.moved(w)), size)),
        iterations,
    )
    return Flattest(best, start, setting.moved(w))


@printed
@dataclass(frozen=True, eq=False)
class Slowest:
    """Starts of a given loss from which descent is slowest.

    Attributes
    ----------
    end
        Largest loss after the horizon found from each start, [S].
    start
        The loss after the horizon from the first point, [S].
    where
        The students with the largest.
    """

    end: Tensor
    start: Tensor
    where: LocalSetting


def slowest(setting: LocalSetting, level: float, *, horizon: int = 200, iterations: int = 30) -> Slowest:
    """Search the surface L = level for starts from which descent ends highest after a number of steps.

    The gradient of log L(W_T) with respect to W_0 comes from going back along the path, with Hessian-vector products by
    differences of exact gradients. Descend from ``where`` for long (:func:`basin_edge`) to see which starts are stuck
    and which are only slow.

    Parameters
    ----------
    setting
        Teachers and students.
    level
        The loss at the start.
    horizon
        Steps of descent.
    iterations
        Steps of the search.

    Returns
    -------
    Slowest

    Examples
    --------
    >>> from tutelage.local import local_students, separated_teachers
    >>> teachers = separated_teachers(2, 3, [0])
    >>> setting = LocalSetting(teachers, local_students(teachers, 4, [0]))
    >>> worst = slowest(setting, 0.01, horizon=20, iterations=2)
    >>> worst.end < 0.01
    tensor([True])
    """
    record, rate = range(horizon + 1), usual_rate(setting)[:, None, None]

    def score(w: Tensor) -> Tensor:
        ended = descend(setting.moved(w), [horizon], keep=False).losses[0]
        return -torch.where(ended > 0, ended, 1e-300).log()

    def downhill(w: Tensor) -> Tensor:
        path = descend(setting.moved(w), record).students
        assert path is not None
        return _across(setting, w, _gone_back(setting, path, rate))

    start, best, w = _walk(setting, level, score, downhill, iterations)
    return Slowest((-best).exp(), (-start).exp(), setting.moved(w))


def _gone_back(setting: LocalSetting, path: Tensor, rate: Tensor) -> Tensor:
    """A unit multiple of the gradient of L(W_T) with respect to W_0, along the path [T + 1, S, m, d]: [S, m, d]."""
    a = _unit(gradient(setting.moved(path[-1])))
    # Going back along the path: dL(W_T)/dW_t = (I - rate H_t) dL(W_T)/dW_{t+1}. Only its direction is wanted, so it is
    # made a unit at every step and can neither vanish nor overflow.
    for w in path[:-1].flip(0):
        size = w.flatten(1).norm(dim=1)
        a = _unit(a - rate * _bent(setting, w, a, size))
    return a


def _walk(
    setting: LocalSetting,
    level: float,
    score: Callable[[Tensor], Tensor],
    downhill: Callable[[Tensor], Tensor],
    iterations: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Lower a score [S] along the surface L = level: the first score, the least, and its students [S, m, d].

    A step goes downhill, and Newton's steps along grad L lead back to the surface; one that does not help is shortened.
    """
    w = _scaled(setting, level)
    best = start = score(w)
    step = 0.05 * w.flatten(1).norm(dim=1)
    # Invariant: w is on the surface to one part in a thousand and has the lowest score met so far. A step that leaves
    # the surface, or does not lower the score, is not taken and shortens the next one.
    for _ in range(iterations):
        trial = _onto(setting, w + step[:, None, None] * downhill(w), level)
        on = (loss(setting.moved(trial)) / level - 1).abs() < 1e-3
        value = score(torch.where(on[:, None, None], trial, w))
        better = on & (value < best)
        w = torch.where(better[:, None, None], trial, w)
        best = torch.where(better, value, best)
        step = torch.where(better, _GROW * step, _SHRINK * step).clamp_min(1e-9)
    return start, best, w


def nearest_perfect(setting: LocalSetting) -> Tensor:
    """Every student turned onto its teacher's line, masses scaled to add up to the teachers': of loss 0, [S, m, d]."""
    grouping = groups(setting)
    mass = grouping.mass()
    if bool((mass == 0).any()):
        s = int((mass == 0).any(1).nonzero()[0, 0])
        raise TutelageError(f"a teacher of member {s} has no student, so no perfect student is near: start from others")
    share = (setting.lengths / mass).gather(1, grouping.teacher) * grouping.weight
    units = (setting.teachers / setting.teachers.norm(dim=2, keepdim=True)).expand(setting.members, -1, -1)
    lines = units.gather(1, grouping.teacher.unsqueeze(2).expand(-1, -1, setting.d))
    return (share.sqrt() * grouping.sign).unsqueeze(2) * lines


def _scaled(setting: LocalSetting, level: float) -> Tensor:
    """The students drawn to, or away from, the nearest perfect ones until L = level."""
    if not level > 0:
        raise TutelageError(f"level must be above 0, got {level}")
    perfect = nearest_perfect(setting)
    off = setting.students - perfect

    def above(t: Tensor) -> Tensor:
        return loss(setting.moved(perfect + t[:, None, None] * off)) >= level

    low, high = (torch.full((setting.members,), t, dtype=torch.float64) for t in (0.0, 1.0))
    # Invariant: along the line the loss is below the level at `low` and, after the doublings, not below it at `high`.
    for _ in range(_DOUBLINGS):
        high = torch.where(above(high), high, 2 * high)
    if not bool(above(high).all()):
        raise TutelageError(f"students so near to perfect ones do not reach the loss {level:.3g}: spread them more")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        over = above(middle)
        low, high = torch.where(over, low, middle), torch.where(over, middle, high)
    return perfect + high[:, None, None] * off


def _unit(a: Tensor) -> Tensor:
    """a over its norm, of each member; zero stays zero."""
    size = a.flatten(1).norm(dim=1)[:, None, None]
    return a / torch.where(size == 0, 1, size)


def _bent(setting: LocalSetting, w: Tensor, a: Tensor, size: Tensor) -> Tensor:
    """The Hessian at w times the unit of a, by differences over a small share of the size: [S, m, d]."""
    h = (_DIFFERENCE * size)[:, None, None]
    unit = _unit(a)
    # Central differences of exact gradients: the Hessian itself would have (m d)^2 numbers per member.
    return (gradient(setting.moved(w + h * unit)) - gradient(setting.moved(w - h * unit))) / (2 * h)


def _across(setting: LocalSetting, w: Tensor, a: Tensor) -> Tensor:
    """The unit of a less its part along grad L: [S, m, d]."""
    along = _unit(gradient(setting.moved(w)))
    return _unit(a - (a * along).sum((1, 2), keepdim=True) * along)


def _onto(setting: LocalSetting, w: Tensor, level: float) -> Tensor:
    """Newton's steps along the gradient towards L = level, none longer than a fifth of the students."""
    for _ in range(12):
        value, slope = loss_and_gradient(setting.moved(w))
        squared = slope.square().sum((1, 2))
        move = ((level - value) / torch.where(squared == 0, 1, squared))[:, None, None] * slope
        length = move.flatten(1).norm(dim=1)
        most = 0.2 * w.flatten(1).norm(dim=1)
        w = w + move * (most / torch.maximum(length, most))[:, None, None]
    return w


@printed
@dataclass(frozen=True, eq=False)
class Edge:
    """Search for the edge of the basin of attraction.

    Attributes
    ----------
    start, end
        Losses before and after descent, [S].
    failed
        Whether the loss stayed above the tolerance, bool [S].
    stuck
        Lowest loss at which descent stopped, inf where all members arrived.
    where
        The students at that loss, or None.
    """

    start: Tensor
    end: Tensor
    failed: Tensor
    stuck: float
    where: LocalSetting | None

    @property
    def safe(self) -> float:
        """The least loss of a start that failed, inf where none did: all starts below it arrived."""
        return float(self.start[self.failed].min()) if bool(self.failed.any()) else float("inf")


def basin_edge(setting: LocalSetting, *, steps: int = 6000, tolerance: float = 1e-4) -> Edge:
    """Descend from every member and find the lowest loss at which descent fails.

    A member that is not below the tolerance after the steps is outside the basin; the point where it stands has a lower
    loss and is not left either, so the lowest of these is an upper bound on the basin's edge.

    Parameters
    ----------
    setting
        Teachers and starting students.
    steps
        Length of the descent.
    tolerance
        Loss below which a member has arrived.

    Returns
    -------
    Edge

    Examples
    --------
    >>> from tutelage.local import local_students, separated_teachers
    >>> teachers = separated_teachers(2, 3, [0])
    >>> edge = basin_edge(LocalSetting(teachers, local_students(teachers, 4, [0])), steps=2000)
    >>> edge.failed
    tensor([False])
    """
    run = descend(setting, [0, steps], keep=False)
    failed = run.losses[1] > tolerance
    if not bool(failed.any()):
        return Edge(run.losses[0], run.losses[1], failed, float("inf"), None)
    worst = int(torch.where(failed, run.losses[1], torch.inf).argmin())
    return Edge(run.losses[0], run.losses[1], failed, float(run.losses[1, worst]), run.end.member(worst))
