"""Operators of ONNX and torch that move, cut, join and sum axes of a sample, or leave it as it is."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs.axes import concatenated, maximal, padded, summed
from tutelage.networks.graphs.operators import (
    Given,
    Reading,
    axis_of,
    moving,
    onnx_operator,
    torch_operator,
)
from tutelage.networks.graphs.values import Value, fits, numbers, picked, reshaped
from tutelage.networks.onnx_model import attributes, called


@onnx_operator("Identity")
def _same(state: Reading, node: Any, given: Given) -> Value:
    return moving(node, given)


@torch_operator("clone", "alias", "detach", "contiguous", "_to_copy")
def aten_same(name: str, value: Value, *_: Any, **__: Any) -> Value:
    return value


@onnx_operator("Dropout", reads="ratio seed")
def _dropout(state: Reading, node: Any, given: Given) -> Value:
    if len(given) > 2 and given[2] is not None and (isinstance(given[2], Value) or np.any(given[2])):
        raise TutelageError(f"{called(node)} is in training mode: export the model for inference")
    return moving(node, given)


@onnx_operator("Cast", reads="to saturate round_mode")
def _cast(state: Reading, node: Any, given: Given) -> Value:
    from onnx import TensorProto

    if attributes(node).get("to") not in (
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16,
    ):  # fmt: skip
        raise TutelageError(
            f"{called(node)} turns a layer into whole numbers: only floating-point types are understood"
        )
    return moving(node, given)


def _whole(node: Any, given: Given, place: int, name: str) -> list[int] | None:
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


@onnx_operator("Flatten", reads="axis")
def flatten(state: Reading, node: Any, given: Given) -> Value:
    value, axis = moving(node, given), attributes(node).get("axis", 1)
    if axis not in (1, -len(value.shape)) and not (state.plain and axis == 0):
        raise TutelageError(f"{called(node)} flattens from axis {axis}: only axis 1, one row per sample, is understood")
    return reshaped(value, (value.size,))


@onnx_operator("Reshape", reads="allowzero")
def reshape(state: Reading, node: Any, given: Given) -> Value:
    value, wanted = moving(node, given), _whole(node, given, 1, "shape")
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


@torch_operator("view", "reshape", "_unsafe_view")
def aten_view(name: str, value: Value, shape: Sequence[int]) -> Value:
    rest = list(shape[1:])
    known = int(np.prod([n for n in rest if n != -1]))
    if shape[0] == -1:
        return reshaped(value, rest)
    return reshaped(value, [value.size // known if n == -1 else n for n in rest])


@onnx_operator("Transpose", reads="perm")
def transpose(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    full = len(value.shape) + state.ahead
    order = list(attributes(node).get("perm", range(full)[::-1]))
    if sorted(order) != list(range(full)) or order[: state.ahead] != list(range(state.ahead)):
        raise TutelageError(f"{called(node)} moves the axis of samples: only axes of a sample may change places")
    return picked(value, numbers(value).transpose([k - state.ahead for k in order[state.ahead :]]), called(node))


@torch_operator("permute")
def aten_permute(name: str, value: Value, order: Sequence[int]) -> Value:
    full = len(value.shape) + 1
    if order[0] % full:
        raise TutelageError(f"{name} moves the axis of samples: only axes of a sample may change places")
    return picked(value, numbers(value).transpose([k % full - 1 for k in order[1:]]), name)


@onnx_operator("Squeeze", reads="axes")
def squeeze(state: Reading, node: Any, given: Given) -> Value:
    value, listed = moving(node, given), _whole(node, given, 1, "axes")
    if listed is None:
        axes = [k for k, n in enumerate(value.shape) if n == 1]
    else:
        axes = _axes(state, node, listed, len(value.shape))
    if any(value.shape[a] != 1 for a in axes):
        raise TutelageError(f"{called(node)} removes an axis that is longer than 1")
    return reshaped(value, [n for k, n in enumerate(value.shape) if k not in axes])


@torch_operator("squeeze")
def aten_squeeze(name: str, value: Value, axes: Any) -> Value:
    listed = [axes] if isinstance(axes, int) else axes
    sample_axes = [axis_of(a, value, name) for a in listed]
    return reshaped(value, [n for k, n in enumerate(value.shape) if k not in sample_axes or n != 1])


@onnx_operator("Unsqueeze", reads="axes")
def unsqueeze(state: Reading, node: Any, given: Given) -> Value:
    value, listed = moving(node, given), _whole(node, given, 1, "axes") or []
    rank = len(value.shape) + len(listed)
    axes, rest = _axes(state, node, listed, rank), iter(value.shape)
    if len(set(axes)) < len(axes):
        raise TutelageError(f"{called(node)} adds an axis twice: the file is damaged")
    return reshaped(value, [1 if k in axes else next(rest) for k in range(rank)])


@torch_operator("unsqueeze")
def aten_unsqueeze(name: str, value: Value, axis: int) -> Value:
    place = axis % (len(value.shape) + 2) - 1
    if place < 0:
        raise TutelageError(f"{name} changes the axis of samples: only axes of a sample may change")
    return reshaped(value, [*value.shape[:place], 1, *value.shape[place:]])


@torch_operator("expand")
def aten_expand(name: str, value: Value, shape: Sequence[int], **_: Any) -> Value:
    sizes = [n if m == -1 else m for n, m in zip(value.shape, shape[1:], strict=True)]
    return picked(value, np.broadcast_to(numbers(value), sizes), name)


@onnx_operator("Concat", reads="axis")
def concat(state: Reading, node: Any, given: Given) -> Value:
    values = [v for v in given if isinstance(v, Value)]
    if len(values) < len(given):
        raise TutelageError(f"{called(node)} joins a layer and a constant: only layers are understood")
    if len({len(v.shape) for v in values}) > 1:
        raise TutelageError(f"{called(node)} joins samples with different numbers of axes: they do not fit")
    axis = state.axis(attributes(node).get("axis", 0), len(values[0].shape), node)
    return concatenated(values, axis, called(node))


@torch_operator("cat")
def aten_cat(name: str, values: Sequence[Any], axis: int = 0) -> Value:
    if not all(isinstance(v, Value) for v in values):
        raise TutelageError(f"{name} joins a layer and a constant: only layers are understood")
    return concatenated(values, axis_of(axis, values[0], name), name)


@onnx_operator("Slice", reads="axes ends starts")
def slice_(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    starts, ends = _whole(node, given, 1, "starts"), _whole(node, given, 2, "ends")
    if starts is None or ends is None or len(starts) != len(ends):
        raise TutelageError(f"{called(node)} must have as many starts as ends")
    listed = _whole(node, given, 3, "axes") or list(range(len(starts)))
    steps = _whole(node, given, 4, "steps") or [1] * len(starts)
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


@torch_operator("slice")
def aten_slice(name: str, value: Value, axis: int = 0, first: int | None = None, last: int | None = None,
           step: int = 1) -> Value:  # fmt: skip
    if axis % (len(value.shape) + 1) == 0 and not first and (last is None or last > 1 << 40) and step == 1:
        return value
    sample_axis = axis_of(axis, value, name)
    cut = [slice(None)] * len(value.shape)
    cut[sample_axis] = slice(first, last, step)
    return picked(value, numbers(value)[tuple(cut)], name)


@torch_operator("select")
def aten_select(name: str, value: Value, axis: int, place: int) -> Value:
    return picked(value, numbers(value).take(place, axis_of(axis, value, name)), name)


@onnx_operator("Split", reads="axis num_outputs split")
def split(state: Reading, node: Any, given: Given) -> list[Value]:
    value = moving(node, given)
    axis = state.axis(attributes(node).get("axis", 0), len(value.shape), node)
    sizes, length, parts = _whole(node, given, 1, "split"), value.shape[axis], len(node.output)
    if sizes is None:
        each = -(-length // parts)
        sizes = [max(0, min(each, length - k * each)) for k in range(parts)]
    if sum(sizes) != length or len(sizes) != parts or min(sizes) < 1:
        raise TutelageError(f"{called(node)} cuts {length} numbers into parts of {sizes}: they do not fit")
    cuts = np.split(numbers(value), np.cumsum(sizes)[:-1], axis)
    return [picked(value, places, called(node)) for places in cuts]


@torch_operator("split_with_sizes")
def aten_split(name: str, value: Value, sizes: Sequence[int], axis: int = 0) -> list[Value]:
    cuts = np.split(numbers(value), np.cumsum(sizes)[:-1], axis_of(axis, value, name))
    return [picked(value, places, name) for places in cuts]


@onnx_operator("Pad", reads="mode pads value")
def pad(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    widths, listed = _whole(node, given, 1, "pads"), _whole(node, given, 3, "axes")
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


@torch_operator("constant_pad_nd")
def aten_pad(name: str, value: Value, widths: Sequence[int], fill: float = 0.0) -> Value:
    before, after = [0] * len(value.shape), [0] * len(value.shape)
    if len(widths) > 2 * len(value.shape):
        raise TutelageError(f"{name} changes the axis of samples: only axes of a sample may change")
    for k in range(len(widths) // 2):
        before[-1 - k], after[-1 - k] = widths[2 * k], widths[2 * k + 1]
    return padded(value, before, after, float(fill), name)


@onnx_operator("Gather", reads="axis")
def gather(state: Reading, node: Any, given: Given) -> Value:
    value, listed = moving(node, given), given[1]
    if isinstance(listed, Value) or listed is None or listed.dtype.kind not in "iu":
        raise TutelageError(f"{called(node)} must take numbers at constant places: only that is understood")
    axis = state.axis(attributes(node).get("axis", 0), len(value.shape), node)
    if listed.size and not -value.shape[axis] <= listed.min() <= listed.max() < value.shape[axis]:
        raise TutelageError(f"{called(node)} takes numbers outside of an axis of {value.shape[axis]}")
    fits(value.size // value.shape[axis] * listed.size, called(node))
    return picked(value, numbers(value).take(listed % value.shape[axis], axis), called(node))


@onnx_operator("ReduceMean", "ReduceSum", "ReduceMax", reads="axes keepdims noop_with_empty_axes")
def reduced(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    listed, rank = _whole(node, given, 1, "axes"), len(value.shape)
    if not listed and how.get("noop_with_empty_axes", 0):
        return value
    axes = list(range(rank)) if not listed and state.plain else _axes(state, node, listed or [0], rank)
    keep = bool(how.get("keepdims", 1))
    if node.op_type == "ReduceMax":
        return maximal(value, axes, keep, called(node))
    return summed(value, axes, node.op_type == "ReduceMean", keep, called(node))


@torch_operator("mean")
def aten_mean(name: str, value: Value, axes: Sequence[int] | None = None, keep: bool = False, **_: Any) -> Value:
    return summed(value, [axis_of(a, value, name) for a in axes or (0,)], True, keep, name)


@torch_operator("sum")
def aten_sum(name: str, value: Value, axes: Sequence[int] | None = None, keep: bool = False, **_: Any) -> Value:
    return summed(value, [axis_of(a, value, name) for a in axes or (0,)], False, keep, name)


@torch_operator("amax")
def aten_amax(name: str, value: Value, axes: Sequence[int] = (), keep: bool = False) -> Value:
    return maximal(value, [axis_of(a, value, name) for a in axes or (0,)], keep, name)
