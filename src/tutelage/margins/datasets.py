"""Labelled points, one set per member, and distributions to draw them from: separable in the ways Phuong 2021, chapter
3 tells apart.

A member's points depend on its seed alone, and a larger set begins with the smaller one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.arrays import doubles
from tutelage.errors import TutelageError
from tutelage.printing import printed
from tutelage.whole import positive, whole

_LONGEST = 1e150
"""Entries of points: squares of longer ones overflow, and those of points shorter than its inverse underflow."""


@printed
@dataclass(frozen=True, eq=False)
class LabelledPoints:
    """S sets of n labelled points, with both labels in every set.

    Parameters
    ----------
    x
        Points [S, n, d] or [n, d], a tensor or an array, stored in float64.
    y
        Labels +1 and -1, [S, n].

    Examples
    --------
    >>> data = LabelledPoints(torch.tensor([[[1.0, 0.0], [-1.0, 0.5]]]), torch.tensor([[1, -1]]))
    >>> data.members, data.count, data.dimension
    (1, 2, 2)
    """

    x: Tensor
    y: Tensor

    def __post_init__(self) -> None:
        x, y = (doubles(v, name).detach().cpu() for v, name in ((self.x, "points x"), (self.y, "labels y")))
        if x.ndim == 2:
            x = x.unsqueeze(0)
        if y.ndim == 1:
            y = y.unsqueeze(0).expand(len(x), -1)
        _check(x, y)
        object.__setattr__(self, "x", x.contiguous())
        object.__setattr__(self, "y", y.contiguous())

    @property
    def members(self) -> int:
        return self.x.shape[0]

    @property
    def count(self) -> int:
        return self.x.shape[1]

    @property
    def dimension(self) -> int:
        return self.x.shape[2]

    def __getitem__(self, members: slice | Sequence[int]) -> "LabelledPoints":
        """The sets of some of the members."""
        return LabelledPoints(self.x[members], self.y[members])


def _check(x: Tensor, y: Tensor) -> None:
    if x.ndim != 3 or y.shape != x.shape[:2]:
        raise TutelageError(
            f"wanted points [n, d] or [S, n, d] with a label each, not {list(x.shape)} and {list(y.shape)}"
        )
    if not x.isfinite().all():
        raise TutelageError("some points are not finite: leave them out")
    if not (y.abs() == 1).all():
        met = ", ".join(f"{v:g}" for v in y.unique()[:5].tolist())
        raise TutelageError(f"labels are +1 and -1, two classes, and these hold {met}: recode them")
    for name, sign in (("+1", 1), ("-1", -1)):
        without = (~(y == sign).any(1)).nonzero().flatten()
        if len(without):
            raise TutelageError(f"set {int(without[0])} has no sample with the label {name}: both classes are needed")
    zero = (x == 0).all(2).nonzero()
    if len(zero):
        s, i = zero[0].tolist()
        raise TutelageError(
            f"sample {i} of set {s} is the zero vector, which no network without biases can label: drop it"
        )
    check_lengths(x, "divide all points by one number")


def check_lengths(x: Tensor, advice: str) -> None:
    """Reject points whose inner products overflow or underflow; those that are 0 pass: x [S, n, d]."""
    largest = x.abs().amax(2)
    extreme = ((largest > _LONGEST) | ((largest > 0) & (largest < 1 / _LONGEST))).nonzero()
    if len(extreme):
        s, i = extreme[0].tolist()
        raise TutelageError(
            f"sample {i} of set {s} has a largest entry of {float(largest[s, i]):.1e}, and inner products of such "
            f"points are beyond float64: it must lie between 1e-150 and 1e150, so {advice}"
        )


def orthants(seeds: Sequence[int], count: int = 500, dimension: int = 20) -> LabelledPoints:
    """Gaussian points in the first orthant (+1) or the opposite one (-1) (Phuong 2021, section 3.4.1).

    Points with x.z < 0 for z = (1, -1, 1, -1, ...) are left out. Drawn as a sign times absolute values of a Gaussian,
    which is the same distribution as keeping one Gaussian point in 2^(d-1). Always orthogonally separable.

    Parameters
    ----------
    seeds
        One per set.
    count, dimension
        Points per set, and d.

    Returns
    -------
    LabelledPoints

    Examples
    --------
    >>> from tutelage.margins import separability
    >>> data = orthants(range(2), count=50, dimension=6)
    >>> data.x.shape, separability(data).holds.tolist()
    (torch.Size([2, 50, 6]), [True, True])
    """
    z = 1 - 2 * (torch.arange(dimension, dtype=torch.float64) % 2)

    def candidates(number: int) -> tuple[Tensor, Tensor, Tensor]:
        x = _normals(seeds, "orthant points", number, dimension).abs()
        y = _signs(seeds, "orthant labels", number)
        x = x * y.unsqueeze(2)
        return x, y, x @ z >= 0

    return _kept(candidates, count)


def cones(seeds: Sequence[int], count: int = 24, dimension: int = 3, half_angle: float = 40.0) -> LabelledPoints:
    """Points in two opposite cones around a random axis: orthogonally separable.

    Parameters
    ----------
    seeds
        One per set.
    count, dimension
        Points per set, and d; lengths lie in [1/2, 3/2].
    half_angle
        Of the cones in degrees, below 45.

    Returns
    -------
    LabelledPoints

    Examples
    --------
    >>> from tutelage.margins import separability
    >>> data = cones(range(3), count=10, dimension=2)
    >>> data.x.shape, separability(data).holds.tolist()
    (torch.Size([3, 10, 2]), [True, True, True])
    """
    if not 0 < half_angle < 45:
        raise TutelageError(f"cones of half angle {half_angle} overlap in sign: below 45 degrees they are separable")
    axis = _normals(seeds, "cone axis", 1, dimension)
    axis = axis / axis.norm(dim=2, keepdim=True)
    spread = math.tan(math.radians(half_angle))

    def candidates(number: int) -> tuple[Tensor, Tensor, Tensor]:
        y = _signs(seeds, "cone labels", number)
        side = _normals(seeds, "cone points", number, dimension) * (spread / math.sqrt(max(dimension - 1, 1)))
        side = side - (side @ axis.mT) * axis
        x = axis + side
        length = 0.5 + draws.uniforms(draws.keys(seeds, "cone lengths"), number).unsqueeze(2)
        return length * x / x.norm(dim=2, keepdim=True) * y.unsqueeze(2), y, side.norm(dim=2) < spread

    return _kept(candidates, count)


def half_spaces(seeds: Sequence[int], count: int = 24, dimension: int = 3, margin: float = 0.2) -> LabelledPoints:
    """Gaussian points on either side of a random hyperplane through 0: linearly separable.

    Parameters
    ----------
    seeds
        One per set.
    count, dimension
        Points per set, and d.
    margin
        Smallest distance from the hyperplane, at most 3: points farther away are too rare to be drawn.

    Returns
    -------
    LabelledPoints
        Not orthogonally separable, unless the points are very few.
    """
    if not 0 <= margin <= 3:
        raise TutelageError(f"margin must lie between 0 and 3, got {margin}")
    axis = _normals(seeds, "half-space axis", 1, dimension)
    axis = axis / axis.norm(dim=2, keepdim=True)

    def candidates(number: int) -> tuple[Tensor, Tensor, Tensor]:
        x = _normals(seeds, "half-space points", number, dimension)
        height = (x @ axis.mT).squeeze(2)
        return x, height.sign(), height.abs() >= margin

    return _kept(candidates, count)


def clashing(seeds: Sequence[int], count: int = 24, dimension: int = 3) -> LabelledPoints:
    """Gaussian points with random labels such that neither class has a max margin.

    The origin lies in the convex hull of each class: samples 0 to d (label +1) and d + 1 to 2 d + 1 (label -1) see to
    that, the last of either being minus the mean of the others. The points stay in general position.

    Parameters
    ----------
    seeds
        One per set.
    count, dimension
        Points per set, and d.

    Returns
    -------
    LabelledPoints
    """
    per_class, count = positive(dimension, "dimension") + 1, positive(count, "count")
    if count < 2 * per_class:
        raise TutelageError(
            f"the first {2 * per_class} samples make both classes impossible: ask for at least as many, not {count}"
        )
    x, y = _normals(seeds, "clashing points", count, dimension), _signs(seeds, "clashing labels", count)
    for begin, sign in ((0, 1), (per_class, -1)):
        x[:, begin + dimension] = -x[:, begin : begin + dimension].mean(1)
        y[:, begin : begin + per_class] = sign
    return LabelledPoints(x, y)


LAWS: dict[str, Callable[..., LabelledPoints]] = {
    "orthants": orthants,
    "cones": cones,
    "half-spaces": half_spaces,
    "clashing": clashing,
}


def _normals(seeds: Sequence[int], stream: str, count: int, dimension: int) -> Tensor:
    dimension = positive(dimension, "dimension")
    return draws.normals(draws.keys(seeds, stream), count * dimension).view(-1, count, dimension)


def _signs(seeds: Sequence[int], stream: str, count: int) -> Tensor:
    return torch.where(draws.uniforms(draws.keys(seeds, stream), count) < 0.5, 1.0, -1.0).double()


def _kept(candidates: Callable[[int], tuple[Tensor, Tensor, Tensor]], count: int) -> LabelledPoints:
    """The first ``count`` accepted candidates of every member; more are drawn until each has as many."""
    wanted = whole(count)
    if wanted is None or wanted < 2:
        raise TutelageError(f"count must be a whole number of at least 2, for two classes, got {count!r}")
    number = 4 * wanted
    while True:
        x, y, good = candidates(number)
        if not len(x):
            raise TutelageError("seeds must hold at least one seed, got none")
        if int(good.sum(1).min()) >= wanted:
            break
        number *= 2
    rows = (~good).int().argsort(dim=1, stable=True)[:, :wanted]
    return LabelledPoints(x.gather(1, rows.unsqueeze(2).expand(-1, -1, x.shape[2])), y.gather(1, rows))
