"""Where a network is looked at: a box, or any bounded polytope with an interior."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.errors import TutelageError
from tutelage.functions.pieces._cutting import cut_layer
from tutelage.functions.pieces._skeleton import DONE, Complex
from tutelage.functions.pruning.intervals import pair_of_ends
from tutelage.printing import printed
from tutelage.whole import positive

Ends = tuple[float | Tensor, float | Tensor]
"""A box as its low and high ends, each a number or [d]."""
ROUNDING = 64 * np.finfo(np.float64).eps
"""Relative rounding error of a vertex: each is a mean of two others, and no chain of means is longer than 64 by far."""


@printed
@dataclass(frozen=True, eq=False)
class Domain:
    """Polytope of inputs x with A x <= b, made by :func:`box` or :func:`polytope`.

    Attributes
    ----------
    normals, offsets
        A [m, d] and b [m].
    low, high
        Ends of the smallest box around it, [d].
    centre
        A point well inside, [d].
    is_box
        Whether it is a box.
    """

    normals: Tensor
    offsets: Tensor
    low: Tensor
    high: Tensor
    centre: Tensor
    is_box: bool

    @property
    def dimension(self) -> int:
        return self.normals.shape[1]

    @property
    def facets(self) -> int:
        return self.normals.shape[0]

    @property
    def is_flat(self) -> bool:
        """Whether some side of the box around it has no length, or none that rounding leaves."""
        return not bool(_long(self.low, self.high).all())

    def holds(self, point: Tensor) -> bool:
        """Whether a point [d] lies in it, on its boundary included; up to rounding unless it is a box.

        >>> box(-1, 1, dimension=2).holds(torch.tensor([0.5, 1.0]))
        True
        """
        if self.is_box:
            return bool(((self.low <= point) & (point <= self.high)).all())
        room = self.offsets - self.normals @ point.double()
        return bool((room >= -ROUNDING * (self.offsets.abs() + point.double().norm())).all())


def _long(low: Tensor, high: Tensor) -> Tensor:
    return (high - low) > ROUNDING * (low.abs() + high.abs())


def box(low: float | Tensor, high: float | Tensor, dimension: int | None = None, *, flat: bool = False) -> Domain:
    """The box low <= x <= high.

    Parameters
    ----------
    low, high
        Ends: numbers for all coordinates, or [d].
    dimension
        Number of coordinates; needed where both ends are numbers.
    flat
        Whether sides may have length 0, as comparisons allow; pieces need an interior.

    Returns
    -------
    Domain

    Examples
    --------
    >>> box(-1, 1, dimension=3).facets
    6
    """
    lower, upper = pair_of_ends((low, high))
    dimension = None if dimension is None else positive(dimension, "dimension")
    if lower.ndim > 1 or upper.ndim > 1:
        raise TutelageError(
            f"low and high of a box must be numbers or have shape [d], got {list(lower.shape)} and {list(upper.shape)}"
        )
    sizes = {end.shape[0] for end in (lower, upper) if end.ndim} | ({dimension} if dimension is not None else set())
    if len(sizes) != 1 or min(sizes) < 1:
        raise TutelageError(
            "low, high and dimension of a box must agree on one dimension of at least 1, got "
            f"{sorted(sizes) or 'none'}: give low and high of shape [d], or numbers and dimension=d"
        )
    d = sizes.pop()
    lower, upper = lower.expand(d).clone(), upper.expand(d).clone()
    if not (lower.isfinite().all() and upper.isfinite().all()):
        k = int((~(lower.isfinite() & upper.isfinite())).nonzero()[0])
        raise TutelageError(f"low and high of a box must be finite, got {lower[k]:g} to {upper[k]:g} for input {k}")
    if not (upper - lower).isfinite().all():
        k = int((~(upper - lower).isfinite()).nonzero()[0])
        raise TutelageError(
            f"the box from {lower[k]:g} to {upper[k]:g} for input {k} is too large, since its length is no number "
            "of float64: take a smaller one, for example from -1e100 to 1e100"
        )
    ordered = lower <= upper if flat else _long(lower, upper)
    if not ordered.all():
        k = int((~ordered).nonzero()[0])
        raise TutelageError(
            f"every high of a box must lie above its low, got {lower[k]:g} to {upper[k]:g} for input {k}: swap "
            "them, or take a slice for a flat box"
        )
    eye = torch.eye(d, dtype=torch.float64)
    return Domain(torch.cat([-eye, eye]), torch.cat([-lower, upper]), lower, upper, (lower + upper) / 2, is_box=True)


def as_domain(domain: Domain | Ends, dimension: int, flat: bool = False) -> Domain:
    """A domain as it is, or the box of a pair of bounds."""
    return domain if isinstance(domain, Domain) else box(*pair_of_ends(domain), dimension=dimension, flat=flat)


def polytope(normals: Tensor, offsets: Tensor) -> Domain:
    """The points x with normals x <= offsets.

    Parameters
    ----------
    normals, offsets
        [m, d] and [m].

    Returns
    -------
    Domain

    Raises
    ------
    TutelageError
        If there is no such point, or the set is unbounded.

    Examples
    --------
    >>> triangle = polytope(torch.tensor([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), torch.tensor([0.0, 0.0, 1.0]))
    >>> triangle.high.tolist()
    [1.0, 1.0]
    """
    a, b = (doubles(t, name).detach().cpu() for t, name in ((normals, "normals"), (offsets, "offsets")))
    if a.ndim != 2 or b.shape != a.shape[:1] or not a.numel():
        raise TutelageError(
            f"normals and offsets of a polytope must have shapes [m, d] and [m], got {list(a.shape)} and "
            f"{list(b.shape)}"
        )
    lengths = a.norm(dim=1)
    if not (a.isfinite().all() and b.isfinite().all() and (lengths > 0).all()):
        raise TutelageError("every constraint of a polytope needs finite numbers and a normal other than 0")
    a, b = a / lengths[:, None], b / lengths
    inside = _deepest(a, b, at_most=1.0)[1]
    if inside <= ROUNDING * (1 + b.abs().max()):
        raise TutelageError(
            "the polytope has no inside: no point meets all constraints, or all that do lie in one plane"
        )
    eye = torch.eye(a.shape[1], dtype=torch.float64)
    low = torch.stack([-_support(a, b, -axis) for axis in eye])
    high = torch.stack([_support(a, b, axis) for axis in eye])
    return Domain(a, b, low, high, _deepest(a, b, at_most=None)[0], is_box=False)


def _deepest(normals: Tensor, offsets: Tensor, at_most: float | None) -> tuple[Tensor, float]:
    """A point that meets all constraints with the most to spare, and how much that is, negative when none does."""
    rows = torch.cat([normals, torch.ones_like(offsets)[:, None]], 1).numpy()
    goal = np.append(np.zeros(normals.shape[1]), -1.0)
    solution = linprog(goal, rows, offsets.numpy(), bounds=[(None, None)] * normals.shape[1] + [(None, at_most)])
    if solution.x is None:
        raise TutelageError(f"no point well inside the polytope was found: {solution.message}")
    return torch.from_numpy(solution.x[:-1]), solution.x[-1]


def _support(normals: Tensor, offsets: Tensor, direction: Tensor) -> Tensor:
    """The largest value of direction . x over a polytope that is not empty."""
    solution = linprog(-direction.numpy(), normals.numpy(), offsets.numpy(), bounds=(None, None))
    if solution.x is None:
        raise TutelageError("the polytope is unbounded: add constraints until it is bounded")
    return torch.from_numpy(solution.x) @ direction


def skeleton(domain: Domain, units: int, budget: int) -> Complex:
    """The domain as a complex of one cell, with room for the bits and signs of all units."""
    words = (domain.facets + units + 63) // 64
    if domain.is_flat:
        raise TutelageError(
            "a box with a side of length 0 has no pieces: take a slice (slice_network) without that side"
        )
    if domain.is_box:
        return _cube(domain, words, units, budget)
    return _cut_out(domain, words, units, budget)


def _cube(domain: Domain, words: int, units: int, budget: int) -> Complex:
    """A box: vertex v is high in coordinate i where bit i of v is 1; edges change one bit."""
    d = domain.dimension
    if 2**d > budget:
        raise TutelageError(
            f"a box in {d} dimensions has 2^{d} corners, and pieces are found from corners: take a slice "
            f"(slice_network) of fewer dimensions, or a budget of more than {budget:,} vertices"
        )
    number = np.arange(1 << d)
    up = (number[:, None] >> np.arange(d)) & 1
    points = np.where(up, domain.high.numpy(), domain.low.numpy())
    tight = np.zeros((len(number), words), np.uint64)
    for i in range(d):
        for constraint, chosen in ((i, up[:, i] == 0), (d + i, up[:, i] == 1)):
            tight[chosen, constraint // 64] |= np.uint64(1) << np.uint64(constraint % 64)
    ends = [np.stack([number[up[:, i] == 0], number[up[:, i] == 0] | (1 << i)], 1) for i in range(d)]
    return _one_cell(points, tight, np.concatenate(ends), units)


def _one_cell(points: np.ndarray, tight: np.ndarray, ends: np.ndarray, units: int) -> Complex:
    def number(n: int) -> np.ndarray:
        return np.array([n], np.int64)

    return Complex(
        points=np.ascontiguousarray(points, np.float64),
        values=np.empty((len(points), 0)),
        tight=tight,
        ends=ends.astype(np.int32),
        corners=np.arange(len(points), dtype=np.int32),
        corner_from=number(0),
        corner_count=number(len(points)),
        sides=np.arange(len(ends), dtype=np.int32),
        side_from=number(0),
        side_count=number(len(ends)),
        signs=np.zeros((1, units), np.int8),
        roots=np.zeros(1, np.int32),
    )


def _cut_out(domain: Domain, words: int, units: int, budget: int) -> Complex:
    """A polytope, cut out of a simplex around it; the bits of the simplex are taken away again at the end."""
    d, m = domain.dimension, domain.facets
    low, high = domain.low.numpy(), domain.high.numpy()
    margin = (high - low).max()
    reach = (high - low).sum() + (d + 1) * margin
    points = np.concatenate([np.zeros((1, d)), reach * np.eye(d)]) + (low - margin)
    everything = sum(1 << (m + i) for i in range(d + 1))  # vertex i lies on all facets of the simplex but one
    tight = np.zeros((d + 1, (m + d + 1 + 63) // 64), np.uint64)
    for v in range(d + 1):
        mask = everything & ~(1 << (m + v))
        tight[v] = [(mask >> (64 * w)) & (2**64 - 1) for w in range(tight.shape[1])]
    start = _one_cell(points, tight, np.stack(np.triu_indices(d + 1, 1), 1), m)
    normals, offsets = domain.normals.numpy(), domain.offsets.numpy()
    scale = (np.abs(points).max(0) @ np.abs(normals).T) + np.abs(offsets)
    values = np.ascontiguousarray(offsets - points @ normals.T)
    cell, _, ended, _, _ = cut_layer(start._replace(values=values), 0, 0, ROUNDING * scale, budget, True)
    if ended != DONE or (cell.signs < 0).any():
        raise TutelageError(
            f"the corners of a polytope of {m} constraints in {d} dimensions are too many, or too close together to "
            "be told apart: drop constraints that matter little, or take a box"
        )
    return _without_the_rest(cell, m, words, units)


def _without_the_rest(cell: Complex, facets: int, words: int, units: int) -> Complex:
    """One cell alone: vertices and edges numbered anew, the bits of its own constraints in as many words as asked."""
    place = np.full(len(cell.points), -1)
    place[cell.corners] = np.arange(len(cell.corners))
    kept = np.zeros((len(cell.corners), words), np.uint64)
    common = min(words, cell.tight.shape[1])
    kept[:, :common] = cell.tight[cell.corners, :common]
    if facets % 64 and facets // 64 < words:
        kept[:, facets // 64] &= np.uint64((1 << (facets % 64)) - 1)
    kept[:, (facets + 63) // 64 :] = 0
    return _one_cell(cell.points[cell.corners], kept, place[cell.ends[cell.sides]], units)
