"""Affine operators of ONNX and, beside each, its twin of torch: products, sums, scales and stored normalisation."""

from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs.axes import alike, stretched, times_matrix, widened
from tutelage.networks.graphs.operators import Given, Reading, array, constant, moving, onnx_operator, torch_operator
from tutelage.networks.graphs.values import (
    EPS,
    Rounded,
    Value,
    numbers,
    picked,
    product,
    quotient,
    scaled,
    shifted,
    total,
)
from tutelage.networks.onnx_model import attributes, called


@onnx_operator("Gemm", reads="alpha beta transA transB")
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


@torch_operator("addmm")
def aten_addmm(name: str, bias: Any, value: Any, w: Any, beta: float = 1, alpha: float = 1) -> Value:
    made = aten_mm(name, value, w)
    if isinstance(bias, Value):
        return aten_add(name, scaled(made, np.full(made.size, float(alpha)), None), bias, beta)
    if alpha != 1:
        made = scaled(made, np.full(made.size, float(alpha)), None)
    by, rounded = product(beta, stretched(array(bias), made.shape, name))
    return scaled(made, np.ones(made.size), by, name, rounded)


def _times(value: Value, w: np.ndarray, b: np.ndarray | None, node: Any) -> Value:
    if value.shape[-1] != len(w):
        raise TutelageError(f"{called(node)} takes {len(w)} numbers and is given {value.shape[-1]}")
    return times_matrix(value, w, b, called(node))


@onnx_operator("MatMul")
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
    turned = _transposed(value)
    return _transposed(times_matrix(turned, w.T, None, called(node)))


def _transposed(value: Value) -> Value:
    """A matrix with rows and columns exchanged."""
    return picked(value, numbers(value).T)


@torch_operator("mm", "matmul")
def aten_mm(name: str, value: Any, w: Any) -> Value:
    if not isinstance(value, Value) or isinstance(w, Value):
        raise TutelageError(f"{name} is not a layer times a constant matrix: only that is understood")
    matrix = array(w)
    if matrix.ndim != 2 or value.shape[-1] != len(matrix):
        raise TutelageError(f"{name} multiplies {list(value.shape)} by {list(matrix.shape)}: only matrices that fit")
    return times_matrix(value, matrix, None, name)


@torch_operator("linear")
def aten_linear(name: str, value: Value, w: Any, b: Any = None) -> Value:
    return aten_mm(name, value, w.T) if b is None else aten_addmm(name, b, value, w.T)


@onnx_operator("Add", "Sub", "Sum")
def _sum(state: Reading, node: Any, given: Given) -> Value:
    """Add, Sub and Sum, of values and constants."""
    signs = [1.0, -1.0] if node.op_type == "Sub" else [1.0] * len(given)
    shifts: list[np.ndarray] = []
    moved = [(s, v) for s, v in zip(signs, given, strict=True) if isinstance(v, Value)]
    values = [v for _, v in moved]
    for sign, added in zip(signs, given, strict=True):
        if not isinstance(added, Value):
            values = [widened(v, state.weights(added, node)) for v in values]  # type: ignore[arg-type]
            shifts.append(sign * state.weights(added, node))  # type: ignore[arg-type]
    values = alike(values, called(node))
    flat = [stretched(shift, values[0].shape, called(node)) for shift in shifts]
    first = flat[0] if flat else None
    if len(values) == 1 and moved[0][0] == -1:
        return scaled(values[0], np.full(values[0].size, -1.0), first, called(node))
    result = total([(s, v) for (s, _), v in zip(moved, values, strict=True)], first, called(node))
    for more in flat[1:]:  # one at a time: their sum would be rounded
        result = shifted(result, more)
    return result


@torch_operator("add")
def aten_add(name: str, first: Any, second: Any, alpha: float = 1, sign: float = 1) -> Value:
    factor = sign * alpha
    if isinstance(first, Value) and isinstance(second, Value):
        a, b = alike([first, second], name)
        return total([(1.0, a), (factor, b)], name=name)
    if isinstance(first, Value):
        by, rounded = product(factor, array(second))
        first = widened(first, by)
        return scaled(first, np.ones(first.size), stretched(by, first.shape, name), name, rounded)
    by = array(first)
    second = widened(second, by)
    return scaled(second, np.full(second.size, factor), stretched(by, second.shape, name), name)


@torch_operator("sub")
def aten_sub(name: str, first: Any, second: Any, alpha: float = 1) -> Value:
    return aten_add(name, first, second, alpha, -1.0)


@torch_operator("rsub")
def aten_rsub(name: str, first: Any, second: Any, alpha: float = 1) -> Value:
    return aten_add(name, second, first, alpha, -1.0)


@onnx_operator("Mul", "Div")
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


@torch_operator("mul")
def aten_mul(name: str, first: Any, second: Any) -> Value:
    if isinstance(first, Value) and isinstance(second, Value):
        raise TutelageError(f"{name} multiplies two layers: only products with constants are piecewise linear")
    value, by = (first, array(second)) if isinstance(first, Value) else (second, array(first))
    return _aten_times(name, value, by)


@torch_operator("div")
def aten_div(name: str, first: Any, second: Any) -> Value:
    if isinstance(second, Value) or not array(second).all():
        raise TutelageError(f"{name} divides by a layer or by 0: only division by constants is piecewise linear")
    return _aten_times(name, first, *quotient(np.ones(()), array(second)))


def _aten_times(name: str, value: Value, by: np.ndarray, rounded: Rounded | None = None) -> Value:
    value = widened(value, by)
    return scaled(value, stretched(by, value.shape, name), None, name, rounded)


@onnx_operator("Neg")
def _neg(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    return scaled(value, np.full(value.size, -1.0), None, called(node))


@torch_operator("neg")
def aten_neg(name: str, value: Value) -> Value:
    return scaled(value, np.full(value.size, -1.0), None, name)


@onnx_operator("BatchNormalization", reads="epsilon momentum spatial training_mode")
def _batch_norm(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    if how.get("training_mode", 0) or not how.get("spatial", 1) or any(node.output[1:]):
        raise TutelageError(f"{called(node)} is in training mode or not per channel: export the model for inference")
    parts = [constant(state, node, given, place) for place in range(1, 5)]
    if any(a is None or a.shape != value.shape[:1] for a in parts):
        met = ", ".join(str([] if a is None else list(a.shape)) for a in parts)
        raise TutelageError(f"{called(node)} has arrays of shape {met}: four of shape [{value.shape[0]}] are wanted")
    return _normalised(value, parts, how.get("epsilon", 1e-5), called(node))  # type: ignore[arg-type]


@torch_operator("_native_batch_norm_legit_no_training")
def aten_batch_norm(name: str, value: Value, w: Any, b: Any, mean: Any, var: Any, momentum: float, eps: float) -> list:
    n = value.shape[0]
    parts = [
        np.full(n, default) if a is None else array(a) for a, default in ((w, 1.0), (b, 0.0), (mean, 0.0), (var, 1.0))
    ]
    return [_normalised(value, parts, eps, name)]


def _normalised(value: Value, parts: list[np.ndarray], epsilon: float, name: str) -> Value:
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
