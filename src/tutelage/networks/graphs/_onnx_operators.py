"""Operators of ONNX as values: each takes the state of the reading, the node and its arguments."""

from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs._onnx_images import average_pool, convolution, global_average, global_max, max_pool
from tutelage.networks.graphs._onnx_shapes import (
    concat,
    flatten,
    gather,
    pad,
    reduced,
    reshape,
    slice_,
    split,
    squeeze,
    transpose,
    unsqueeze,
)
from tutelage.networks.graphs.axes import alike, stretched, times_matrix, widened
from tutelage.networks.graphs.onnx_graph import UNQUANTISED, Given, Operator, Reading, constant, moving
from tutelage.networks.graphs.values import (
    EPS,
    Rounded,
    Value,
    bent,
    clipped,
    larger,
    numbers,
    picked,
    product,
    quantised,
    quotient,
    reshaped,
    scaled,
    shifted,
    smaller,
    total,
)
from tutelage.networks.onnx_model import attributes, called


def _gemm(state: Reading, node: Any, given: Given) -> Value:
    how = attributes(node)
    if not isinstance(given[0], Value) or isinstance(given[1], Value) or how.get("transA", 0):
        raise TutelageError(f"{called(node)} is not a sample times a constant matrix: only that is understood")
    value, w, b = given[0], constant(state, node, given, 1), constant(state, node, given, 2)
    assert w is not None
    if w.ndim != 2:
        raise TutelageError(f"{called(node)} is not a sample times a constant matrix: only that is understood")
    if len(value.shape) > 1:
        raise TutelageError(f"{called(node)} multiplies an unflattened sample: put a Flatten before it")
    made = _times(value, w.T if how.get("transB", 0) else w, None, node)
    if (alpha := how.get("alpha", 1.0)) != 1:
        made = scaled(made, np.full(made.size, alpha), None, called(node))
    if b is None:
        return made
    shift, rounded = product(how.get("beta", 1.0), stretched(b, made.shape, called(node)))
    return scaled(made, np.ones(made.size), shift, called(node), rounded)


def _times(value: Value, w: np.ndarray, b: np.ndarray | None, node: Any) -> Value:
    if value.shape[-1] != len(w):
        raise TutelageError(f"{called(node)} takes {len(w)} numbers and is given {value.shape[-1]}")
    return times_matrix(value, w, b, called(node))


def _matmul(state: Reading, node: Any, given: Given) -> Value:
    if isinstance(given[0], Value):
        if isinstance(given[1], Value):
            raise TutelageError(f"{called(node)} multiplies two layers: only products with constants are understood")
        w = constant(state, node, given, 1)
        if w is None or w.ndim != 2:
            raise TutelageError(f"{called(node)} is not a sample times a constant matrix: only that is understood")
        return _times(given[0], w, None, node)
    w, value = constant(state, node, given, 0), moving(node, given, 1)
    shape = value.shape
    column = len(shape) == 2 or (state.plain and len(shape) == 1)
    if w is None or w.ndim != 2 or not column or shape[0] != w.shape[1]:
        met = [] if w is None else list(w.shape)
        raise TutelageError(
            f"{called(node)} multiplies a matrix of shape {met} by samples of shape {list(shape)}: only columns of as "
            "many numbers are understood"
        )
    if len(shape) == 1:
        return times_matrix(value, w.T, None, called(node))
    turned = transposed(value)
    return transposed(times_matrix(turned, w.T, None, called(node)))


def transposed(value: Value) -> Value:
    """A matrix with rows and columns exchanged."""
    return picked(value, numbers(value).T)


def _sum(state: Reading, node: Any, given: Given) -> Value:
    """Add, Sub and Sum, of values and constants."""
    signs = [1.0, -1.0] if node.op_type == "Sub" else [1.0] * len(given)
    shifts: list[np.ndarray] = []
    moved = [(s, v) for s, v in zip(signs, given, strict=True) if isinstance(v, Value)]
    values = [v for _, v in moved]
    for number, array in enumerate(given):
        if not isinstance(array, Value):
            values = [widened(v, state.weights(array, node)) for v in values]  # type: ignore[arg-type]
            shifts.append(signs[number] * state.weights(array, node))  # type: ignore[arg-type]
    values = alike(values, called(node))
    flat = [stretched(shift, values[0].shape, called(node)) for shift in shifts]
    first = flat[0] if flat else None
    if len(values) == 1 and moved[0][0] == -1:
        return scaled(values[0], np.full(values[0].size, -1.0), first, called(node))
    result = total([(s, v) for (s, _), v in zip(moved, values, strict=True)], first, called(node))
    for more in flat[1:]:  # one at a time: their sum would be rounded
        result = shifted(result, more)
    return result


def _scale(state: Reading, node: Any, given: Given) -> Value:
    left, right = given
    if isinstance(left, Value) and isinstance(right, Value):
        raise TutelageError(f"{called(node)} combines two layers: only products with constants are piecewise linear")
    if node.op_type == "Div" and isinstance(right, Value):
        raise TutelageError(f"{called(node)} divides by a layer, which is not piecewise linear: export the part before")
    value, by = (left, right) if isinstance(left, Value) else (right, left)
    assert isinstance(value, Value)
    factors = state.weights(by, node)  # type: ignore[arg-type]
    value = widened(value, factors)
    flat = stretched(factors, value.shape, called(node))
    if node.op_type == "Mul":
        return scaled(value, flat, None, called(node))
    if not flat.all():
        raise TutelageError(f"{called(node)} divides by 0")
    flat, rounded = quotient(np.ones(value.size), flat)
    return scaled(value, flat, None, called(node), rounded)


def _neg(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    return scaled(value, np.full(value.size, -1.0), None, called(node))


def _batch_norm(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    if how.get("training_mode", 0) or not how.get("spatial", 1) or any(node.output[1:]):
        raise TutelageError(f"{called(node)} is in training mode or not per channel: export the model for inference")
    parts = [constant(state, node, given, place) for place in range(1, 5)]
    if any(a is None or a.shape != value.shape[:1] for a in parts):
        met = ", ".join(str([] if a is None else list(a.shape)) for a in parts)
        raise TutelageError(f"{called(node)} has arrays of shape {met}: four of shape [{value.shape[0]}] are wanted")
    return normalised(value, parts, how.get("epsilon", 1e-5), called(node))  # type: ignore[arg-type]


def normalised(value: Value, parts: list[np.ndarray], epsilon: float, name: str) -> Value:
    """Batch norm by stored statistics: parts are scale, shift, mean and variance per channel.

    The mean is taken off first, so that only the scale is rounded: by the sum with epsilon, its root and the quotient.
    """
    gamma, beta, mean, var = parts
    if not (var + epsilon > 0).all():
        raise TutelageError(f"{name} has a variance below 0: the file is damaged")
    deviation = np.sqrt(var + epsilon)
    count = value.size // len(gamma)
    scale, shift = np.repeat(gamma / deviation, count), np.repeat(beta, count)
    centred = shifted(value, np.repeat(-mean, count))
    return scaled(centred, scale, shift, name, Rounded(2 * EPS, (gamma, var, np.asarray(epsilon))))


def _relu(state: Reading, node: Any, given: Given) -> Value:
    return bent(moving(node, given), 0.0, called(node))


def _abs(state: Reading, node: Any, given: Given) -> Value:
    return bent(moving(node, given), -1.0, called(node))


def _leaky(state: Reading, node: Any, given: Given) -> Value:
    return bent(moving(node, given), float(attributes(node).get("alpha", 0.01)), called(node))


def _prelu(state: Reading, node: Any, given: Given) -> Value:
    value, slope = moving(node, given), constant(state, node, given, 1)
    assert slope is not None
    return bent(value, stretched(slope, value.shape, called(node)), called(node))


def _clip(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    ends = []
    for place, name in ((1, "min"), (2, "max")):
        array = given[place] if len(given) > place else None
        if isinstance(array, Value):
            raise TutelageError(f"{called(node)} has ends that depend on the input: only constant ones are understood")
        number = how.get(name) if array is None else array
        ends.append(None if number is None else np.asarray(number, np.float64))
    return clip(value, ends[0], ends[1], called(node))


def clip(value: Value, low: np.ndarray | None, high: np.ndarray | None, name: str) -> Value:
    """A value between two ends; ends beyond 1e30 are none."""
    low, high = (None if e is None or np.abs(e).min() > 1e30 else stretched(e, value.shape, name) for e in (low, high))
    return clipped(value, low, high, name)


def _hard_sigmoid(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    slope, shift = float(how.get("alpha", 0.2)), float(how.get("beta", 0.5))
    line = scaled(value, np.full(value.size, slope), np.full(value.size, shift))
    return clipped(line, np.zeros(value.size), np.ones(value.size), called(node))


def _extremes(state: Reading, node: Any, given: Given) -> Value:
    """Max and Min of values and constants."""
    choose, name = (larger if node.op_type == "Max" else smaller), called(node)
    values = [v for v in given if isinstance(v, Value)]
    arrays = [state.weights(a, node) for a in given if isinstance(a, np.ndarray)]
    for array in arrays:
        values = [widened(v, array) for v in values]
    values = alike(values, name)
    result = values[0]
    for value in values[1:]:
        result = choose(result, value, name)
    for array in arrays:
        end = stretched(array, result.shape, name)
        result = clipped(result, end, None, name) if node.op_type == "Max" else clipped(result, None, end, name)
    return result


def _same(state: Reading, node: Any, given: Given) -> Value:
    return moving(node, given)


def _dropout(state: Reading, node: Any, given: Given) -> Value:
    if len(given) > 2 and given[2] is not None and (isinstance(given[2], Value) or np.any(given[2])):
        raise TutelageError(f"{called(node)} is in training mode: export the model for inference")
    return moving(node, given)


def _cast(state: Reading, node: Any, given: Given) -> Value:
    from onnx import TensorProto

    if attributes(node).get("to") not in (
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16,
    ):  # fmt: skip
        raise TutelageError(
            f"{called(node)} turns a layer into whole numbers: only floating-point types are understood"
        )
    return moving(node, given)


def _quantise(state: Reading, node: Any, given: Given) -> Value:
    """A value rounded to steps and kept within the range of its integer type."""
    if not state.noise:
        raise TutelageError(f"{called(node)} {UNQUANTISED}")
    value, axis = moving(node, given), attributes(node).get("axis", 1)
    step = constant(state, node, given, 1)
    zero = given[2] if len(given) > 2 and given[2] is not None else np.zeros((), np.uint8)
    assert step is not None
    if isinstance(zero, Value) or zero.dtype.name not in ("int8", "uint8", "int16", "uint16"):
        raise TutelageError(f"{called(node)} has a zero point that is not a constant of 8 or 16 bits")
    if not (step > 0).all():
        raise TutelageError(f"{called(node)} has a scale that is not positive: the file is damaged")
    ends = np.iinfo(zero.dtype)
    full = [_along(a, value, axis - state.ahead, node) for a in (step, zero.astype(np.float64))]
    return quantised(value, full[0], (ends.min - full[1]) * full[0], (ends.max - full[1]) * full[0], called(node))


def _along(array: np.ndarray, value: Value, axis: int, node: Any) -> np.ndarray:
    """One number for all, or one per place of an axis, as a flat row."""
    if array.size == 1:
        return np.full(value.size, float(array.ravel()[0]))
    if not 0 <= axis < len(value.shape) or array.shape != (value.shape[axis],):
        raise TutelageError(f"{called(node)} has scales of shape {list(array.shape)} for {list(value.shape)}")
    wide = array.reshape([-1 if k == axis else 1 for k in range(len(value.shape))])
    return np.broadcast_to(wide, value.shape).ravel().astype(np.float64)


def _dequantise(state: Reading, node: Any, given: Given) -> Value:
    """The step of a quantised value is part of it already."""
    value = moving(node, given)
    if not state.noise:
        raise TutelageError(f"{called(node)} {UNQUANTISED}")
    step = constant(state, node, given, 1)
    if step is None or value.step is None or _along(step, value, attributes(node).get("axis", 1) - state.ahead,
                                                    node).tolist() != value.step.tolist():  # fmt: skip
        raise TutelageError(
            f"{called(node)} does not undo a QuantizeLinear of the same scale: integer arithmetic between the two is "
            "not understood"
        )
    return reshaped(value, value.shape)


OPERATORS: dict[str, Operator] = {
    "Gemm": _gemm, "MatMul": _matmul, "Add": _sum, "Sub": _sum, "Sum": _sum, "Mul": _scale, "Div": _scale, "Neg": _neg,
    "BatchNormalization": _batch_norm, "Relu": _relu, "Abs": _abs, "LeakyRelu": _leaky, "PRelu": _prelu, "Clip": _clip,
    "HardSigmoid": _hard_sigmoid, "Max": _extremes, "Min": _extremes, "Identity": _same, "Dropout": _dropout,
    "Cast": _cast, "QuantizeLinear": _quantise, "DequantizeLinear": _dequantise, "Conv": convolution,
    "AveragePool": average_pool, "GlobalAveragePool": global_average, "MaxPool": max_pool, "GlobalMaxPool": global_max,
    "Flatten": flatten, "Reshape": reshape, "Transpose": transpose, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Concat": concat, "Slice": slice_, "Split": split, "Pad": pad, "Gather": gather, "ReduceMean": reduced,
    "ReduceSum": reduced, "ReduceMax": reduced,
}  # fmt: skip
