r"""Values of a piecewise linear network: affine maps of earlier values, and units with a kink at 0.

Every operator that can be read is built from these two. :math:`\max(a, b) = a + \max(0, b - a)`; a value clipped to
[l, h] is :math:`l + \max(0, v - l) - \max(0, v - h)`. Maps are sparse matrices on the flattened numbers of one sample.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import prod

import numpy as np
from scipy import sparse

from tutelage.errors import TutelageError

EPS = 2.0**-52
MOST = 1 << 26
"""The most entries of one sparse map."""

Shape = tuple[int, ...]
Map = sparse.csr_array


@dataclass(frozen=True, eq=False)
class Rounded:
    """Numbers of a value that were computed and not stored: the exact ones are within a relative error of them.

    Parameters
    ----------
    by
        The relative error of every entry of the maps and of the shift.
    of
        The stored numbers they were computed from, which tell apart two values that round to the same numbers.
    """

    by: float
    of: tuple[np.ndarray, ...] = ()


def quotient(above: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, Rounded | None]:
    """A quotient of stored numbers, and what it was rounded from: None where the divisors are powers of two."""
    made = above / below
    exact = bool((np.frexp(below)[0] % 0.5 == 0).all()) and bool((made * below == above).all())
    return made, None if exact else Rounded(EPS, (np.asarray(above), np.asarray(below)))


def product(factor: float, array: np.ndarray) -> tuple[np.ndarray, Rounded | None]:
    """A stored factor times stored numbers, and what it was rounded from: None where float64 holds it."""
    made = factor * array
    exact = abs(factor) == 1 or (np.float32(factor) == factor and short(array))
    return made, None if exact else Rounded(EPS, (np.asarray(factor), array))


def short(array: np.ndarray) -> bool:
    """Whether float32 holds all numbers, so that float64 holds their products."""
    with np.errstate(over="ignore"):
        return bool((array.astype(np.float32) == array).all())


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of one sample that the network computes.

    Parameters
    ----------
    shape
        Of a sample, without the axis of samples.
    terms
        Pairs of an earlier value and its map [size, size of that value]; None stands for the identity.
    shift
        [size], added to the sum of the terms.
    left
        For a unit with a kink: the slope below 0, one number or [size]; it has one term and no shift.
    step
        [size] for a value that is rounded to multiples of this, to the nearest; 0 elsewhere.
    name
        What error messages call it.
    positive
        Whether it is known to be at least 0.
    rounded
        For maps and a shift that were computed from stored numbers and rounded; None where they are stored numbers.
    """

    shape: Shape
    terms: tuple[tuple["Value", Map | None], ...] = ()
    shift: np.ndarray | None = None
    left: np.ndarray | None = None
    step: np.ndarray | None = None
    name: str = ""
    positive: bool = field(default=False)
    rounded: Rounded | None = None

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def bends(self) -> bool:
        return self.left is not None


@dataclass
class Budget:
    """How many more numbers the maps of a graph may have."""

    left: int


_BUDGET: ContextVar[Budget | None] = ContextVar("budget", default=None)
_LEAST, _PER_NUMBER = 1 << 24, 1 << 13


@contextmanager
def budgeted() -> Iterator[None]:
    """Limit the numbers of all maps together while a file is read, which may be far smaller than what it describes."""
    token = _BUDGET.set(Budget(_LEAST))
    try:
        yield
    finally:
        _BUDGET.reset(token)


def allow(stored: int) -> None:
    """Let a graph have more numbers for those that its file stores: a weight of a convolution stands in many maps."""
    if budget := _BUDGET.get():
        budget.left += min(8 * MOST, _PER_NUMBER * stored)


def fits(size: int, name: str) -> None:
    """Raise before numbers are taken that would not fit into memory."""
    if budget := _BUDGET.get():
        budget.left -= size
        if budget.left < 0:
            raise TutelageError(
                f"{name or 'the model'} makes far more numbers than what the file holds: take a smaller model"
            )
    if size > MOST:
        raise TutelageError(
            f"{name} has {size:,} products of weights and pixels, and at most {MOST:,} are allowed: take a model of "
            "fewer channels or smaller images"
        )


def start(shape: Sequence[int]) -> Value:
    """The input of a network."""
    return Value(tuple(shape), name="the input")


def mapped(
    value: Value, matrix: Map, shape: Sequence[int], shift: np.ndarray | None = None, name: str = "",
    rounded: Rounded | None = None,
) -> Value:  # fmt: skip
    """A matrix times a value, plus a shift."""
    positive = value.positive and shift is None and (matrix.nnz == 0 or bool(matrix.data.min() >= 0))
    return Value(tuple(shape), ((value, matrix),), shift, name=name, positive=positive, rounded=rounded)


def reshaped(value: Value, shape: Sequence[int]) -> Value:
    """The same numbers in another shape."""
    shape = tuple(shape)
    return value if shape == value.shape else Value(shape, ((value, None),), positive=value.positive)


def scaled(
    value: Value, scale: np.ndarray, shift: np.ndarray | None, name: str = "", rounded: Rounded | None = None
) -> Value:
    """Every number times a scale [size], plus a shift [size]."""
    n = value.size
    fits(n, name)
    if rounded is None and (scale == 1).all():
        return Value(value.shape, ((value, None),), shift, name=name, positive=shift is None and value.positive)
    diagonal = Map((scale.astype(np.float64), np.arange(n), np.arange(n + 1)))
    return mapped(value, diagonal, value.shape, shift, name, rounded)


def picked(value: Value, places: np.ndarray, name: str = "") -> Value:
    """Numbers of a value at given places, an array of any shape; 0 where the place is -1."""
    fits(places.size, name)
    flat = places.ravel()
    if places.size == value.size and (flat == np.arange(value.size)).all():
        return reshaped(value, places.shape)
    inside = flat >= 0
    ends = np.concatenate([[0], np.cumsum(inside)])
    matrix = Map((np.ones(int(ends[-1])), flat[inside], ends), shape=(len(flat), value.size))
    return mapped(value, matrix, places.shape, name=name)


def numbers(value: Value) -> np.ndarray:
    """The places of a value's numbers, in its shape."""
    return np.arange(value.size).reshape(value.shape)


def total(values: Sequence[tuple[float, Value]], shift: np.ndarray | None = None, name: str = "") -> Value:
    """A sum of values of one shape with factors."""
    shape, terms = values[0][1].shape, []
    for factor, value in values:
        n = value.size
        fits(n, name)
        diagonal = None if factor == 1 else Map((np.full(n, float(factor)), np.arange(n), np.arange(n + 1)))
        terms.append((value, diagonal))
    positive = shift is None and all(factor >= 0 and value.positive for factor, value in values)
    return Value(shape, tuple(terms), shift, name=name, positive=positive)


def bent(value: Value, left: float | np.ndarray, name: str = "") -> Value:
    """A value with slope 1 above 0 and ``left`` below."""
    fits(value.size, name)
    slopes = np.broadcast_to(np.asarray(left, np.float64), (value.size,))
    if not np.isfinite(slopes).all():
        raise TutelageError(f"{name} has a slope that is not finite: the model has diverged")
    if value.positive or (slopes == 1).all():
        return value
    return Value(value.shape, ((value, None),), left=slopes, name=name, positive=bool((slopes <= 0).all()))


def larger(first: Value, second: Value, name: str = "") -> Value:
    """max(a, b) = a + max(0, b - a)."""
    if second.positive and not first.positive:
        first, second = second, first
    rest = bent(total([(1, second), (-1, first)]), 0.0, name)
    sum_ = total([(1, first), (1, rest)], name=name)
    return Value(sum_.shape, sum_.terms, name=name, positive=first.positive or second.positive)


def smaller(first: Value, second: Value, name: str = "") -> Value:
    """min(a, b) = a - max(0, a - b)."""
    rest = bent(total([(1, first), (-1, second)]), 0.0, name)
    sum_ = total([(1, first), (-1, rest)], name=name)
    return Value(sum_.shape, sum_.terms, name=name, positive=first.positive and second.positive)


def clipped(value: Value, low: np.ndarray | None, high: np.ndarray | None, name: str = "") -> Value:
    """A value kept between low and high, [size] each; None for no such end."""
    if low is not None and high is not None and (low > high).any():
        raise TutelageError(f"{name} has a lower end above its upper end: export the model again")
    if low is None and high is None:
        return value
    if low is None:
        assert high is not None
        over = bent(shifted(value, -high), 0.0, name)
        return total([(1, value), (-1, over)], name=name)
    over_low = bent(shifted(value, -low), 0.0, name)
    parts = [(1.0, over_low)]
    if high is not None:
        parts.append((-1.0, bent(shifted(value, -high), 0.0, name)))
    result = total(parts, low if low.any() else None, name)
    return Value(result.shape, result.terms, result.shift, name=name, positive=bool((low >= 0).all()))


def shifted(value: Value, by: np.ndarray) -> Value:
    """A value plus numbers [size]."""
    if not by.any():
        return value
    return Value(value.shape, ((value, None),), by, positive=value.positive and bool((by >= 0).all()))


def quantised(value: Value, step: np.ndarray, low: np.ndarray, high: np.ndarray, name: str = "") -> Value:
    """A value rounded to multiples of ``step`` and kept between low and high, which are such multiples."""
    held = clipped(value, low, high, name)
    return Value(held.shape, ((held, None),), step=step, name=name, positive=held.positive)


def in_order(output: Value, known: Iterable[int] = ()) -> list[Value]:
    """All values that an output depends on, every one after those it is made of; known: ids where to stop."""
    order: list[Value] = []
    done = set(known)
    stack = [(output, False)]
    while stack:
        value, ready = stack.pop()
        if ready:
            order.append(value)
        elif id(value) not in done:
            done.add(id(value))
            stack.append((value, True))
            stack.extend((source, False) for source, _ in value.terms if id(source) not in done)
    return order
