"""Operators of ONNX and torch with kinks: relu-like units, clips, maxima, and values rounded to steps."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs.axes import alike, stretched, widened
from tutelage.networks.graphs.operators import (
    UNQUANTISED,
    Given,
    Reading,
    array,
    constant,
    moving,
    onnx_operator,
    torch_operator,
)
from tutelage.networks.graphs.values import Value, bent, clipped, larger, quantised, reshaped, scaled, smaller
from tutelage.networks.onnx_model import attributes, called


@onnx_operator("Relu")
def _relu(state: Reading, node: Any, given: Given) -> Value:
    return bent(moving(node, given), 0.0, called(node))


@torch_operator("relu")
def aten_relu(name: str, value: Value) -> Value:
    return bent(value, 0.0, name)


@onnx_operator("Abs")
def _abs(state: Reading, node: Any, given: Given) -> Value:
    return bent(moving(node, given), -1.0, called(node))


@torch_operator("abs")
def aten_abs(name: str, value: Value) -> Value:
    return bent(value, -1.0, name)


@onnx_operator("LeakyRelu", reads="alpha")
def _leaky(state: Reading, node: Any, given: Given) -> Value:
    return bent(moving(node, given), float(attributes(node).get("alpha", 0.01)), called(node))


@torch_operator("leaky_relu")
def aten_leaky(name: str, value: Value, slope: float = 0.01) -> Value:
    return bent(value, float(slope), name)


@onnx_operator("PRelu")
def _prelu(state: Reading, node: Any, given: Given) -> Value:
    value, slope = moving(node, given), constant(state, node, given, 1)
    assert slope is not None
    return bent(value, stretched(slope, value.shape, called(node)), called(node))


@torch_operator("_prelu_kernel", "prelu")
def aten_prelu(name: str, value: Value, slope: Any) -> Value:
    by = array(slope)
    if by.ndim == 1 and by.size == value.shape[0]:
        by = by.reshape(-1, *[1] * (len(value.shape) - 1))
    return bent(value, stretched(by, value.shape, name), name)


@onnx_operator("Clip", reads="min max")
def _clip(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    ends = []
    for place, name in ((1, "min"), (2, "max")):
        array = given[place] if len(given) > place else None
        if isinstance(array, Value):
            raise TutelageError(f"{called(node)} has ends that depend on the input: only constant ones are understood")
        number = how.get(name) if array is None else array
        ends.append(None if number is None else np.asarray(number, np.float64))
    return _between(value, ends[0], ends[1], called(node))


def _between(value: Value, low: np.ndarray | None, high: np.ndarray | None, name: str) -> Value:
    """A value between two ends; ends beyond 1e30 are none."""
    low, high = (None if e is None or np.abs(e).min() > 1e30 else stretched(e, value.shape, name) for e in (low, high))
    return clipped(value, low, high, name)


@torch_operator("clamp", "clamp_min")
def aten_clamp(name: str, value: Value, low: Any = None, high: Any = None) -> Value:
    low, high = (None if e is None else stretched(array(e), value.shape, name) for e in (low, high))
    return clipped(value, low, high, name)


@torch_operator("clamp_max")
def aten_clamp_max(name: str, value: Value, high: Any) -> Value:
    return aten_clamp(name, value, None, high)


@torch_operator("hardtanh")
def aten_hardtanh(name: str, value: Value, low: float = -1, high: float = 1) -> Value:
    return aten_clamp(name, value, low, high)


@onnx_operator("HardSigmoid", reads="alpha beta")
def _hard_sigmoid(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    slope, shift = float(how.get("alpha", 0.2)), float(how.get("beta", 0.5))
    line = scaled(value, np.full(value.size, slope), np.full(value.size, shift))
    return clipped(line, np.zeros(value.size), np.ones(value.size), called(node))


@onnx_operator("Max", "Min")
def _extremes(state: Reading, node: Any, given: Given) -> Value:
    """Max and Min of values and constants."""
    choose, name = (larger if node.op_type == "Max" else smaller), called(node)
    values = [v for v in given if isinstance(v, Value)]
    constants = [state.weights(a, node) for a in given if isinstance(a, np.ndarray)]
    for ends in constants:
        values = [widened(v, ends) for v in values]
    values = alike(values, name)
    result = values[0]
    for value in values[1:]:
        result = choose(result, value, name)
    for ends in constants:
        end = stretched(ends, result.shape, name)
        result = clipped(result, end, None, name) if node.op_type == "Max" else clipped(result, None, end, name)
    return result


def _chosen(choose: Callable[..., Value]) -> Callable[..., Value]:
    def extreme(name: str, first: Any, second: Any) -> Value:
        if isinstance(first, Value) and isinstance(second, Value):
            a, b = alike([first, second], name)
            return choose(a, b, name)
        value, end = (first, array(second)) if isinstance(first, Value) else (second, array(first))
        value = widened(value, end)
        ends = stretched(end, value.shape, name)
        return clipped(value, ends, None, name) if choose is larger else clipped(value, None, ends, name)

    return extreme


torch_operator("maximum")(_chosen(larger))
torch_operator("minimum")(_chosen(smaller))


@onnx_operator("QuantizeLinear", reads="axis block_size output_dtype precision saturate")
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


@onnx_operator("DequantizeLinear", reads="axis block_size output_dtype")
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
