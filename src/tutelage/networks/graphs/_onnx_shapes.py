"""Operators of ONNX that move, cut, join and sum axes of a sample."""

from math import prod
from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs.axes import concatenated, maximal, padded, summed
from tutelage.networks.graphs.onnx_graph import Given, Reading, moving
from tutelage.networks.graphs.values import Value, fits, numbers, picked, reshaped
from tutelage.networks.onnx_model import attributes, called


def whole(node: Any, given: Given, place: int, name: str) -> list[int] | None:
    """Whole numbers from an argument, or from an attribute as in older opsets."""
    array = given[place] if len(given) > place else None
    if isinstance(array, Value):
        raise TutelageError(f"{called(node)} has {name} that depend on the input: only constant ones are understood")
    if array is None:
        listed = attributes(node).get(name)
        return None if listed is None else [int(v) for v in listed]
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise TutelageError(f"{called(node)} has {name} that are not whole numbers: the file is damaged")
    return [int(v) for v in np.atleast_1d(array)]


def _axes(state: Reading, node: Any, listed: list[int], rank: int) -> list[int]:
    return [state.axis(a, rank, node) for a in listed]


def flatten(state: Reading, node: Any, given: Given) -> Value:
    value, axis = moving(node, given), attributes(node).get("axis", 1)
    if axis not in (1, -len(value.shape)) and not (state.plain and axis == 0):
        raise TutelageError(f"{called(node)} flattens from axis {axis}: only axis 1, one row per sample, is understood")
    return reshaped(value, (value.size,))


def reshape(state: Reading, node: Any, given: Given) -> Value:
    value, wanted = moving(node, given), whole(node, given, 1, "shape")
    shape = None if wanted is None else _new_shape(state, value, wanted, bool(attributes(node).get("allowzero", 0)))
    if shape is None:
        raise TutelageError(
            f"{called(node)} makes {wanted} of samples of shape {list(value.shape)}: the first axis must stay the "
            "axis of samples"
        )
    return reshaped(value, shape)


def _new_shape(state: Reading, value: Value, wanted: list[int], zeros: bool) -> tuple[int, ...] | None:
    """The shape of a sample after a Reshape, or None where that mixes samples."""
    if not zeros:
        full = (*((0,) * state.ahead), *value.shape)
        wanted = [full[k] if n == 0 and state.ahead <= k < len(full) else n for k, n in enumerate(wanted)]
    rest = wanted
    if not state.plain:
        if not wanted:
            return None
        first, rest = wanted[0], wanted[1:]
        kept = first == state.batch or (first == 0 and not zeros)
        if not kept and not (first == -1 and -1 not in rest):
            return None
    if rest.count(-1) > 1 or any(n < -1 or n == 0 for n in rest):
        return None
    known = prod(n for n in rest if n != -1)
    shape = tuple(value.size // known if n == -1 else n for n in rest)
    return shape if prod(shape) == value.size else None


def transpose(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    full = len(value.shape) + state.ahead
    order = list(attributes(node).get("perm", range(full)[::-1]))
    if sorted(order) != list(range(full)) or order[: state.ahead] != list(range(state.ahead)):
        raise TutelageError(f"{called(node)} moves the axis of samples: only axes of a sample may change places")
    return picked(value, numbers(value).transpose([k - state.ahead for k in order[state.ahead :]]), called(node))


def squeeze(state: Reading, node: Any, given: Given) -> Value:
    value, listed = moving(node, given), whole(node, given, 1, "axes")
    if listed is None:
        axes = [k for k, n in enumerate(value.shape) if n == 1]
    else:
        axes = _axes(state, node, listed, len(value.shape))
    if any(value.shape[a] != 1 for a in axes):
        raise TutelageError(f"{called(node)} removes an axis that is longer than 1")
    return reshaped(value, [n for k, n in enumerate(value.shape) if k not in axes])


def unsqueeze(state: Reading, node: Any, given: Given) -> Value:
    value, listed = moving(node, given), whole(node, given, 1, "axes") or []
    rank = len(value.shape) + len(listed)
    axes, rest = _axes(state, node, listed, rank), iter(value.shape)
    if len(set(axes)) < len(axes):
        raise TutelageError(f"{called(node)} adds an axis twice: the file is damaged")
    return reshaped(value, [1 if k in axes else next(rest) for k in range(rank)])


def concat(state: Reading, node: Any, given: Given) -> Value:
    values = [v for v in given if isinstance(v, Value)]
    if len(values) < len(given):
        raise TutelageError(f"{called(node)} joins a layer and a constant: only layers are understood")
    if len({len(v.shape) for v in values}) > 1:
        raise TutelageError(f"{called(node)} joins samples with different numbers of axes: they do not fit")
    axis = state.axis(attributes(node).get("axis", 0), len(values[0].shape), node)
    return concatenated(values, axis, called(node))


def slice_(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    starts, ends = whole(node, given, 1, "starts"), whole(node, given, 2, "ends")
    if starts is None or ends is None or len(starts) != len(ends):
        raise TutelageError(f"{called(node)} must have as many starts as ends")
    listed = whole(node, given, 3, "axes") or list(range(len(starts)))
    steps = whole(node, given, 4, "steps") or [1] * len(starts)
    if not len(listed) == len(steps) == len(starts) or 0 in steps:
        raise TutelageError(f"{called(node)} must have one start, end, axis and step each")
    places = numbers(value)
    for first, last, axis, step in zip(starts, ends, listed, steps, strict=True):
        sample_axis = state.axis(axis, places.ndim, node)
        length = places.shape[sample_axis]
        begin = first + length if first < 0 else first
        end = last + length if last < 0 else last
        if step < 0:
            begin, end = min(max(begin, 0), length - 1), min(max(end, -1), length - 1)
        kept = (
            list(range(min(max(begin, 0), length), min(max(end, -1), length), step))
            if step > 0
            else list(range(begin, end, step))
        )
        places = places.take(kept, sample_axis)
    if not places.size:
        raise TutelageError(f"{called(node)} leaves nothing of samples of shape {list(value.shape)}")
    return picked(value, places, called(node))


def split(state: Reading, node: Any, given: Given) -> list[Value]:
    value = moving(node, given)
    axis = state.axis(attributes(node).get("axis", 0), len(value.shape), node)
    sizes, length, parts = whole(node, given, 1, "split"), value.shape[axis], len(node.output)
    if sizes is None:
        each = -(-length // parts)
        sizes = [max(0, min(each, length - k * each)) for k in range(parts)]
    if sum(sizes) != length or len(sizes) != parts or min(sizes) < 1:
        raise TutelageError(f"{called(node)} cuts {length} numbers into parts of {sizes}: they do not fit")
    cuts = np.split(numbers(value), np.cumsum(sizes)[:-1], axis)
    return [picked(value, places, called(node)) for places in cuts]


def pad(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    widths, listed = whole(node, given, 1, "pads"), whole(node, given, 3, "axes")
    fill = given[2] if len(given) > 2 and given[2] is not None else how.get("value", 0.0)
    rank = len(value.shape) + state.ahead
    if how.get("mode", b"constant") != b"constant" or isinstance(fill, Value) or np.size(fill) != 1 or widths is None:
        raise TutelageError(f"{called(node)} must add a constant around a layer: only that is understood")
    axes = list(range(rank)) if listed is None else [a % rank for a in listed]
    if len(widths) != 2 * len(axes):
        raise TutelageError(f"{called(node)} has {len(widths)} widths for {len(axes)} axes: the file is damaged")
    before, after = [0] * rank, [0] * rank
    for k, axis in enumerate(axes):
        before[axis], after[axis] = widths[k], widths[k + len(axes)]
    if any(before[: state.ahead] + after[: state.ahead]):
        raise TutelageError(f"{called(node)} changes the axis of samples: only axes of a sample may change")
    shape = [n + a + b for n, a, b in zip(value.shape, before[state.ahead :], after[state.ahead :], strict=True)]
    if min(shape) < 1:
        raise TutelageError(f"{called(node)} makes samples of shape {shape}, which cannot be computed")
    fits(prod(shape), called(node))
    number = float(np.asarray(fill, np.float64).ravel()[0])
    if not np.isfinite(number):
        raise TutelageError(f"{called(node)} adds numbers that are not finite: only finite ones are understood")
    return padded(value, before[state.ahead :], after[state.ahead :], number, called(node))


def gather(state: Reading, node: Any, given: Given) -> Value:
    value, listed = moving(node, given), given[1]
    if isinstance(listed, Value) or listed is None or listed.dtype.kind not in "iu":
        raise TutelageError(f"{called(node)} must take numbers at constant places: only that is understood")
    axis = state.axis(attributes(node).get("axis", 0), len(value.shape), node)
    if listed.size and not -value.shape[axis] <= listed.min() <= listed.max() < value.shape[axis]:
        raise TutelageError(f"{called(node)} takes numbers outside of an axis of {value.shape[axis]}")
    fits(value.size // value.shape[axis] * listed.size, called(node))
    return picked(value, numbers(value).take(listed % value.shape[axis], axis), called(node))


def reduced(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    listed, rank = whole(node, given, 1, "axes"), len(value.shape)
    if not listed and how.get("noop_with_empty_axes", 0):
        return value
    axes = list(range(rank)) if not listed and state.plain else _axes(state, node, listed or [0], rank)
    keep = bool(how.get("keepdims", 1))
    if node.op_type == "ReduceMax":
        return maximal(value, axes, keep, called(node))
    return summed(value, axes, node.op_type == "ReduceMean", keep, called(node))
