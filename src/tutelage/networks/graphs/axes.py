"""Axes of a sample moved, cut, joined and summed, and arrays stretched to a shape."""

from collections.abc import Sequence

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs.images import _rows, largest
from tutelage.networks.graphs.values import EPS, Map, Rounded, Value, fits, mapped, numbers, picked, total


def stretched(array: np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    """A constant, the same for every sample, as one flat row of a sample's numbers."""
    met = list(array.shape)
    if array.ndim == len(shape) + 1 and len(array) == 1:
        array = array[0]
    sizes = zip(reversed(array.shape), reversed(shape), strict=False)
    if array.ndim > len(shape) or any(size not in (1, wanted) for size, wanted in sizes):
        raise TutelageError(f"{name} adds an array of shape {met} to samples of shape {list(shape)}: it does not fit")
    return np.broadcast_to(array, shape).reshape(-1).astype(np.float64)


def widened(value: Value, constant: np.ndarray) -> Value:
    """A value stretched to the shape that it has together with a constant of more numbers."""
    array = constant[0] if constant.ndim == len(value.shape) + 1 and len(constant) == 1 else constant
    if array.ndim > len(value.shape):  # the axis of samples would be stretched
        return value
    try:
        shape = np.broadcast_shapes(value.shape, array.shape)
    except ValueError:
        return value
    return picked(value, np.broadcast_to(numbers(value), shape)) if shape != value.shape else value


def alike(values: Sequence[Value], name: str) -> list[Value]:
    """Values stretched to one shape."""
    try:
        if len({len(v.shape) for v in values}) > 1:  # axes of samples would meet other axes
            raise ValueError
        shape = np.broadcast_shapes(*(v.shape for v in values))
    except ValueError:
        met = " and ".join(str(list(v.shape)) for v in values)
        raise TutelageError(f"{name} joins samples of shapes {met}: they do not fit") from None
    return [picked(v, np.broadcast_to(numbers(v), shape), name) if v.shape != shape else v for v in values]


def concatenated(values: Sequence[Value], axis: int, name: str) -> Value:
    """Values one after the other along an axis."""
    sizes = np.cumsum([0, *(v.size for v in values)])
    fits(int(sizes[-1]) * len(values), name)
    try:
        places = np.concatenate([numbers(v) + first for v, first in zip(values, sizes, strict=False)], axis)
    except ValueError:
        met = " and ".join(str(list(v.shape)) for v in values)
        raise TutelageError(f"{name} joins samples of shapes {met} along axis {axis}: they do not fit") from None
    terms, flat = [], places.ravel()
    for value, first in zip(values, sizes, strict=False):
        in_value = (flat >= first) & (flat < first + value.size)
        matrix = _rows(np.ones(value.size), flat[in_value] - first, in_value.astype(np.int64), value.size)
        terms.append((value, matrix))
    return Value(places.shape, tuple(terms), name=name, positive=all(v.positive for v in values))


def times_matrix(value: Value, w: np.ndarray, b: np.ndarray | None, name: str) -> Value:
    """The last axis of a value times a matrix [in, out], plus a bias [out]."""
    rows = value.size // value.shape[-1]
    fits(rows * w.size, name)
    shape = (*value.shape[:-1], w.shape[1])
    matrix = np.ascontiguousarray(w.T)
    block = Map(
        (
            np.tile(matrix.ravel(), rows),
            (np.arange(rows)[:, None, None] * len(w) + np.broadcast_to(np.arange(len(w)), matrix.shape)).ravel(),
            np.arange(rows * w.shape[1] + 1) * len(w),
        ),
        shape=(rows * w.shape[1], value.size),
    )
    return mapped(value, block, shape, None if b is None else np.tile(b, rows), name)


def summed(value: Value, axes: Sequence[int], mean: bool, keep: bool, name: str) -> Value:
    """The sum or the mean over axes."""
    places = _together(value, axes)
    count = places.shape[-1]
    fits(places.size, name)
    flat = places.reshape(-1, count)
    data = np.full(flat.size, 1 / count if mean else 1.0)
    matrix = _rows(data, flat.ravel(), np.full(len(flat), count), value.size)
    return mapped(value, matrix, _reduced(value, axes, keep), name=name, rounded=Rounded(EPS) if mean else None)


def maximal(value: Value, axes: Sequence[int], keep: bool, name: str) -> Value:
    """The largest number over axes."""
    places = _together(value, axes)
    shape = _reduced(value, axes, keep)
    return largest([picked(value, p.reshape(shape), name) for p in np.moveaxis(places, -1, 0)], name)


def _together(value: Value, axes: Sequence[int]) -> np.ndarray:
    """Places with the chosen axes put together as the last one."""
    kept = [k for k in range(len(value.shape)) if k not in axes]
    moved = numbers(value).transpose([*kept, *axes])
    return moved.reshape(*(value.shape[k] for k in kept), -1)


def _reduced(value: Value, axes: Sequence[int], keep: bool) -> tuple[int, ...]:
    if keep:
        return tuple(1 if k in axes else n for k, n in enumerate(value.shape))
    return tuple(n for k, n in enumerate(value.shape) if k not in axes)


def padded(value: Value, before: Sequence[int], after: Sequence[int], fill: float, name: str) -> Value:
    """A value with numbers added around it, or cut off where a width is below 0."""
    places = numbers(value)
    for axis, (a, b) in enumerate(zip(before, after, strict=True)):
        places = places.take(range(max(0, -a), places.shape[axis] - max(0, -b)), axis)
    widths = [(max(0, a), max(0, b)) for a, b in zip(before, after, strict=True)]
    places = np.pad(places, widths, constant_values=-1)
    if not fill:
        return picked(value, places, name)
    return total([(1, picked(value, places, name))], np.where(places.ravel() < 0, fill, 0.0), name)
