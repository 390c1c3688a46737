"""Where a network is looked at: a box, or any bounded polytope with an interior."""

from dataclasses import dataclass

import numpy as np
import scipy
import torch
from torch import Tensor

from tutelage import draws
from tutelage.arrays import doubles
from tutelage.errors import TutelageError
from tutelage.functions.rounding import ROUNDING
from tutelage.networks import Network
from tutelage.printing import printed
from tutelage.whole import positive

_SHOWN = 4  # ends of a box that are told one by one
Ends = tuple[float | Tensor, float | Tensor]
"""A box as its low and high ends, each a number or [d]."""


@printed
@dataclass(frozen=True, eq=False)
class Domain:
    """Inputs low <= x <= high, or those of them with A x <= b: made by :func:`box`, :func:`polytope` or in a stack.

    Attributes
    ----------
    low, high
        Ends [d] of the smallest box around it, or one box per member of a stack of networks, [S, d]; infinite where
        there is none.
    constraints
        A [m, d] and b [m] of a polytope; None for a box.
    inner
        A point well inside a polytope, [d].
    """

    low: Tensor
    high: Tensor
    constraints: tuple[Tensor, Tensor] | None = None
    inner: Tensor | None = None

    @classmethod
    def everywhere(cls, dimension: int) -> "Domain":
        """All inputs."""
        high = torch.full((dimension,), torch.inf, dtype=torch.float64)
        return cls(-high, high)

    def stacked(self, members: int = 1) -> "Domain":
        """The box around it once per member, [S, d]."""
        if self.low.ndim == 2:
            return self
        return Domain(self.low.expand(members, -1), self.high.expand(members, -1))

    @property
    def is_box(self) -> bool:
        return self.constraints is None

    @property
    def bounded(self) -> bool:
        return bool(self.low.isfinite().all() and self.high.isfinite().all())

    @property
    def normals(self) -> Tensor:
        """A of the constraints A x <= b, those of the sides of a box included: [m, d]."""
        if self.constraints is not None:
            return self.constraints[0]
        eye = torch.eye(self.dimension, dtype=torch.float64)
        return torch.cat([-eye, eye])

    @property
    def offsets(self) -> Tensor:
        """b of the constraints: [m]."""
        return torch.cat([-self.low, self.high]) if self.constraints is None else self.constraints[1]

    @property
    def centre(self) -> Tensor:
        """A point well inside, [d]."""
        return (self.low + self.high) / 2 if self.inner is None else self.inner

    @property
    def dimension(self) -> int:
        return self.low.shape[-1]

    @property
    def facets(self) -> int:
        return 2 * self.dimension if self.constraints is None else len(self.constraints[1])

    @property
    def is_flat(self) -> bool:
        """Whether some side of the box around it has no length, or none that rounding leaves."""
        return not bool(_long(self.low, self.high).all())

    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Points drawn uniformly from the bounded boxes of a stack: [S, count, d]."""
        unit = draws.uniforms(draws.keys([seed], "box"), count * self.dimension).view(1, count, -1)
        return self.low.unsqueeze(1) + unit * (self.high - self.low).unsqueeze(1)

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
    return Domain(lower, upper)


def as_domain(domain: Domain | Ends, dimension: int, flat: bool = False) -> Domain:
    """A domain as it is, or the box of a pair of bounds."""
    return domain if isinstance(domain, Domain) else box(*pair_of_ends(domain), dimension=dimension, flat=flat)


def domain_of(domain: Domain | Ends, inputs: int) -> Domain:
    """A domain, or the box of a pair of bounds, for networks of so many inputs; sides of length 0 are allowed."""
    made = as_domain(domain, inputs, flat=True)
    if made.dimension != inputs:
        raise TutelageError(
            f"the domain must have {inputs} dimensions, as many as the networks have inputs, got {made.dimension}"
        )
    return made


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
    # Bounded by 1, since how deep a point can lie in an unbounded set is infinite; whether it is bounded is asked next.
    inside = _deepest(a, b, at_most=1.0)[1]
    if inside <= ROUNDING * (1 + b.abs().max()):
        raise TutelageError(
            "the polytope has no inside: no point meets all constraints, or all that do lie in one plane"
        )
    eye = torch.eye(a.shape[1], dtype=torch.float64)
    low = torch.stack([-_support(a, b, -axis) for axis in eye])
    high = torch.stack([_support(a, b, axis) for axis in eye])
    return Domain(low, high, (a, b), _deepest(a, b, at_most=None)[0])


def _deepest(normals: Tensor, offsets: Tensor, at_most: float | None) -> tuple[Tensor, float]:
    """A point that meets all constraints with the most to spare, and how much that is, negative when none does."""
    rows = torch.cat([normals, torch.ones_like(offsets)[:, None]], 1).numpy()
    goal = np.append(np.zeros(normals.shape[1]), -1.0)
    solution = scipy.optimize.linprog(
        goal, rows, offsets.numpy(), bounds=[(None, None)] * normals.shape[1] + [(None, at_most)]
    )
    if solution.x is None:
        raise TutelageError(f"no point well inside the polytope was found: {solution.message}")
    return torch.from_numpy(solution.x[:-1]), solution.x[-1]


def _support(normals: Tensor, offsets: Tensor, direction: Tensor) -> Tensor:
    """The largest value of direction . x over a polytope that is not empty."""
    solution = scipy.optimize.linprog(-direction.numpy(), normals.numpy(), offsets.numpy(), bounds=(None, None))
    if solution.x is None:
        raise TutelageError("the polytope is unbounded: add constraints until it is bounded")
    return torch.from_numpy(solution.x) @ direction


def pair_of_ends(box: object) -> tuple[Tensor, Tensor]:
    """Lower and upper bounds as float64 tensors; an error for what is no pair of numbers or arrays."""
    try:
        low, high = (torch.as_tensor(end, dtype=torch.float64).detach().cpu() for end in box)  # type: ignore[attr-defined]
    except (TypeError, ValueError, RuntimeError):
        raise TutelageError(f"a box must be (low, high), two numbers or arrays of numbers, got {box!r}") from None
    return low, high


def box_for(network: Network, given: "tuple | Domain | None") -> Domain:
    """A box per member of a stack: None for all inputs, a domain, or (low, high), each a number, [d] or [S, d].

    >>> box_for(Network((torch.ones(1, 2, 1),)), (0, 1)).high.tolist()
    [[1.0, 1.0]]
    """
    if given is None:
        return Domain.everywhere(network.inputs).stacked(network.members)
    if isinstance(given, Domain):
        return given.stacked(network.members)
    ends = []
    for end in pair_of_ends(given):
        if end.ndim > 2 or (end.ndim and end.shape[-1] != network.inputs):
            raise TutelageError(
                f"low and high of the box must be numbers or have shape [{network.inputs}], got {list(end.shape)}"
            )
        if end.isnan().any():
            raise TutelageError("low and high of the box must be numbers, got NaN")
        ends.append(end.expand(network.members, network.inputs))
    if (ends[0] > ends[1]).any():
        raise TutelageError("the box must be (low, high) with low <= high, got a low above its high: swap them")
    domain = Domain(ends[0], ends[1])
    if not domain.bounded:
        raise TutelageError("low and high of the box must be finite: give numbers, or no box for all inputs")
    return domain


def in_words(domain: Domain | None) -> str:
    """What a domain is; None stands for all inputs.

    >>> in_words(box(-1, 1, dimension=3))
    'the box from -1 to 1 in 3 dimensions'
    >>> in_words(box(torch.tensor([0.6, -0.5]), torch.tensor([0.7, 0.5])))
    'the box low = (0.6, -0.5), high = (0.7, 0.5) in 2 dimensions'
    """
    if domain is None:
        return "all inputs"
    if not domain.is_box:
        return f"a polytope of {domain.facets} constraints in {domain.dimension} dimensions"
    low, high = (_several(end) for end in (domain.low, domain.high))
    if "(" not in low + high:
        return f"the box from {low} to {high} in {domain.dimension} dimensions"
    return f"the box low = {low}, high = {high} in {domain.dimension} dimensions"


def _several(end: Tensor) -> str:
    """One number where all are the same, else the first few."""
    if len(end.unique()) == 1:
        return f"{end[0].item():g}"
    shown = [f"{v:g}" for v in end[:_SHOWN].tolist()]
    return f"({', '.join(shown)}{', ...' if len(end) > _SHOWN else ''})"
