"""What theory expects of distilling a network's last linear layer on inputs of one's own (Phuong 2021, chapter 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tutelage.distillation.bounds import best_bound
from tutelage.distillation.learners import Learner, learned, unsigned_angle
from tutelage.distillation.risk import disagreement
from tutelage.distillation.tasks import DistillationTask, reverse_distribution
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError
from tutelage.printing import printed


@dataclass(frozen=True)
class Line:
    """One linear teacher: the log-odds of the second of two classes, or of a class against the rest.

    angle: in degrees, between the teacher and what a student learns; disagreement: share of inputs that the two class
    differently; bound, tighter: of Theorem 5.3 on its expectation, 0 where the teacher itself is found.
    """

    name: str
    angle: float
    disagreement: float
    bound: float
    tighter: float


@printed
@dataclass(frozen=True)
class Outlook:
    """What theory says about distilling a network's last linear layer on given inputs.

    Attributes
    ----------
    count, dimension, rank
        n inputs, d features of the last layer, and the rank of the features.
    biased
        Whether one of the features is the constant that carries the bias.
    held_out
        Whether disagreement was measured on inputs that the student does not see.
    lines
        One line per class.
    """

    count: int
    dimension: int
    rank: int
    biased: bool
    held_out: bool
    lines: tuple[Line, ...]

    @property
    def vacuous(self) -> bool:
        """Whether no bound is below 1, as any share is."""
        return all(min(line.bound, line.tighter) >= 1 for line in self.lines)


def outlook(teacher: nn.Sequential, x: Tensor, held_out: Tensor | None = None) -> Outlook:
    """Theory for a student that learns the teacher's last linear layer on frozen features.

    Each class by itself: for two classes (or one output) the log-odds, as in the theory; for more, one class against
    the rest, for which the theory is only a guide, since softmax is not linear in it. The bounds use the angles of
    these inputs as if they were the distribution's.

    Parameters
    ----------
    teacher
        A ``torch.nn.Sequential`` that ends with a linear layer.
    x
        Inputs [N, ...].
    held_out
        Inputs on which disagreement is measured; default: x.

    Returns
    -------
    Outlook

    Examples
    --------
    >>> few = outlook(nn.Sequential(nn.Linear(3, 1, bias=False)), torch.eye(3)[:2])
    >>> few.count, few.dimension, few.rank
    (2, 3, 2)
    """
    features, last = _split(teacher)
    points = _features(features, last, x)
    fresh = points if held_out is None else _features(features, last, held_out)
    names, weights = _teachers(last)
    kept = weights.norm(dim=1) > 0
    if not bool(kept.any()):
        raise TutelageError("the teacher's last layer tells no class from another: its log-odds are 0 everywhere")
    names, weights = [n for n, k in zip(names, kept.tolist(), strict=True) if k], weights[kept]
    sets = TransferSet(points.expand(len(weights), -1, -1), weights)
    w = learned(sets)
    shares, _ = disagreement(w, weights, fresh)
    moving = w.norm(dim=1) > 0
    angles = torch.full((len(w),), torch.pi / 2, dtype=torch.float64)
    angles[moving] = unsigned_angle(w[moving], weights[moving])
    count, dimension, rank = sets.count, sets.dimension, int(sets.rank[0])
    lines = []
    for i, name in enumerate(names):
        bounds = [0.0, 0.0] if rank == dimension else [_bound(points, weights[i], tighter) for tighter in (False, True)]
        lines.append(Line(name, float(torch.rad2deg(angles[i])), float(shares[i]), bounds[0], bounds[1]))
    return Outlook(count, dimension, rank, last.bias is not None, held_out is not None, tuple(lines))


def _bound(points: Tensor, w: Tensor, tighter: bool) -> float:
    """At most 1; features of length 0 make no angle, and every line gives them the same class."""
    some = points[(points != 0).any(1)]
    return min(best_bound(reverse_distribution(some, w), len(some), tighter=tighter).value, 1.0)


def _split(teacher: nn.Sequential) -> tuple[nn.Sequential, nn.Linear]:
    if not isinstance(teacher, nn.Sequential):
        raise TutelageError(f"teacher must be a torch.nn.Sequential, got {type(teacher).__name__}: wrap it in one")
    layers = list(teacher)
    if not layers or not isinstance(layers[-1], nn.Linear):
        raise TutelageError("the theory is about a linear last layer: give a Sequential that ends in one")
    return nn.Sequential(*layers[:-1]), layers[-1]


def _features(features: nn.Sequential, last: nn.Linear, x: Tensor) -> Tensor:
    """What the last layer sees of inputs [N, ...]: float64 [N, d], with a constant 1 last where it has a bias."""
    if not isinstance(x, Tensor):
        raise TutelageError(f"inputs must be a tensor [N, ...], got {type(x).__name__}")
    was = features.training
    features.eval()
    with torch.no_grad():
        points = features(x).double().cpu()
    features.train(was)
    return points if last.bias is None else torch.cat([points, torch.ones(len(points), 1, dtype=torch.float64)], 1)


def _teachers(last: nn.Linear) -> tuple[list[str], Tensor]:
    """Names and log-odds vectors [C, d] of the linear teachers that a last layer holds."""
    weight = last.weight.detach().double().cpu()
    if last.bias is not None:
        weight = torch.cat([weight, last.bias.detach().double().cpu().unsqueeze(1)], 1)
    if len(weight) == 1:
        return ["1"], weight
    if len(weight) == 2:
        return ["1"], weight[1:] - weight[:1]
    classes = len(weight)
    # Class against the mean of the others: w_c - mean of the rest = (w_c - mean of all) C / (C - 1).
    return [str(c) for c in range(classes)], (weight - weight.mean(0)) * classes / (classes - 1)


Reading = Literal["redrawn", "reused"]
_SAME = 1e-10


@printed
@dataclass(frozen=True, eq=False)
class TransferOutcome:
    """Trained linear students.

    Attributes
    ----------
    w
        [S, d].
    angle
        Unsigned angle with the teacher, [S].
    risk
        Transfer risk, [S].
    """

    w: Tensor
    angle: Tensor
    risk: Tensor

    @property
    def mean_risk(self) -> tuple[float, float]:
        """Mean over sets, and its standard error."""
        return _mean(self.risk)


@printed
@dataclass(frozen=True, eq=False)
class Monotonicity:
    """Unsigned angles with the teacher before and after one more input; changes within 1e-10 count as none.

    Attributes
    ----------
    before, after
        [S] each.
    """

    before: Tensor
    after: Tensor

    @property
    def better(self) -> Tensor:
        """Whether the student came nearer: bool [S]."""
        return self.after < self.before - _SAME

    @property
    def worse(self) -> Tensor:
        """Whether it went away: bool [S]."""
        return self.after > self.before + _SAME

    @property
    def index(self) -> tuple[float, float]:
        """The share of sets that became better, m of (Phuong 2021, eq. 5.34), and its standard error."""
        return _mean(self.better.double())


def outcome(learner: Learner, task: DistillationTask, seeds: Sequence[int], count: int) -> TransferOutcome:
    """Train a learner on transfer sets and measure the students.

    Parameters
    ----------
    learner, task
        What is trained on what.
    seeds
        One per transfer set.
    count
        n.

    Returns
    -------
    TransferOutcome

    Examples
    --------
    >>> from tutelage.distillation import Distillation, Polynomial
    >>> found = outcome(Distillation(), Polynomial(10, kappa=1.0), range(4), 10)
    >>> found.risk.tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    transfer = task.transfer(seeds, count)
    w = learner(transfer, seeds)
    return TransferOutcome(w, unsigned_angle(w, transfer.teacher), task.risk(w))


def monotonicity(
    learner: Learner, task: DistillationTask, seeds: Sequence[int], count: int, reading: Reading = "redrawn"
) -> Monotonicity:
    """Probability that one more input brings the student nearer to the teacher (Phuong 2021, eq. 5.34).

    Parameters
    ----------
    learner, task
        What is trained on what.
    seeds
        One per pair of transfer sets.
    count
        n before the additional input; once n >= d nothing can improve and the index is 0.
    reading
        Whether a learner that draws keeps its draw when the input is added ("reused") or draws anew ("redrawn"), which
        the thesis does not say; it matters for :class:`Weakened` only.

    Returns
    -------
    Monotonicity

    Examples
    --------
    >>> from tutelage.distillation import Distillation, Polynomial
    >>> index = monotonicity(Distillation(), Polynomial(dimension=10), range(50), 3)
    >>> index.before.shape
    torch.Size([50])
    """
    if reading not in ("redrawn", "reused"):
        raise TutelageError(f"a learner's draw is 'redrawn' or 'reused', not '{reading}'")
    longer = task.transfer(seeds, count + 1)  # begins with the shorter set
    shorter = longer.first(count)
    second = "bias" if reading == "reused" else "bias, drawn anew"
    before = unsigned_angle(learner(shorter, seeds), longer.teacher)
    after = unsigned_angle(learner(longer, seeds, second), longer.teacher)
    return Monotonicity(before, after)


def _mean(values: Tensor) -> tuple[float, float]:
    error = float(values.std() / len(values) ** 0.5) if len(values) > 1 else torch.inf
    return float(values.mean()), float(error)
