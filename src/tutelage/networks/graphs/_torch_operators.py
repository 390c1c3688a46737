"""Operators of torch (core ATen) as values; the first argument is what error messages call the operator."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs._onnx_operators import normalised
from tutelage.networks.graphs.axes import (
    alike,
    concatenated,
    maximal,
    padded,
    stretched,
    summed,
    times_matrix,
    widened,
)
from tutelage.networks.graphs.images import Window, as_image, averaged, convolved, pooled
from tutelage.networks.graphs.torch_graph import array
from tutelage.networks.graphs.values import (
    Rounded,
    Value,
    bent,
    clipped,
    larger,
    numbers,
    picked,
    product,
    quotient,
    reshaped,
    scaled,
    smaller,
    total,
)

MONOTONE = ("_softmax", "_log_softmax", "sigmoid", "softmax", "log_softmax")
"""Operators at the end that keep the top class."""


def axis_of(axis: int, value: Value, name: str) -> int:
    """An axis of a batch as an axis of a sample; an error for that of the samples."""
    sample_axis = axis % (len(value.shape) + 1) - 1
    if sample_axis < 0:
        raise TutelageError(f"{name} changes the axis of samples: only axes of a sample may change")
    return sample_axis


def _two(numbers_: Sequence[int] | int, default: int) -> tuple[int, int]:
    listed = [numbers_] if isinstance(numbers_, int) else list(numbers_) or [default]
    return (listed[0], listed[-1])


def _add(name: str, first: Any, second: Any, alpha: float = 1, sign: float = 1) -> Value:
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


def _sub(name: str, first: Any, second: Any, alpha: float = 1) -> Value:
    return _add(name, first, second, alpha, -1.0)


def _rsub(name: str, first: Any, second: Any, alpha: float = 1) -> Value:
    return _add(name, second, first, alpha, -1.0)


def _mul(name: str, first: Any, second: Any) -> Value:
    if isinstance(first, Value) and isinstance(second, Value):
        raise TutelageError(f"{name} multiplies two layers: only products with constants are piecewise linear")
    value, by = (first, array(second)) if isinstance(first, Value) else (second, array(first))
    return _times(name, value, by)


def _times(name: str, value: Value, by: np.ndarray, rounded: Rounded | None = None) -> Value:
    value = widened(value, by)
    return scaled(value, stretched(by, value.shape, name), None, name, rounded)


def _div(name: str, first: Any, second: Any) -> Value:
    if isinstance(second, Value) or not array(second).all():
        raise TutelageError(f"{name} divides by a layer or by 0: only division by constants is piecewise linear")
    return _times(name, first, *quotient(np.ones(()), array(second)))


def _neg(name: str, value: Value) -> Value:
    return scaled(value, np.full(value.size, -1.0), None, name)


def _addmm(name: str, bias: Any, value: Any, w: Any, beta: float = 1, alpha: float = 1) -> Value:
    made = _mm(name, value, w)
    if isinstance(bias, Value):
        return _add(name, scaled(made, np.full(made.size, float(alpha)), None), bias, beta)
    if alpha != 1:
        made = scaled(made, np.full(made.size, float(alpha)), None)
    by, rounded = product(beta, stretched(array(bias), made.shape, name))
    return scaled(made, np.ones(made.size), by, name, rounded)


def _mm(name: str, value: Any, w: Any) -> Value:
    if not isinstance(value, Value) or isinstance(w, Value):
        raise TutelageError(f"{name} is not a layer times a constant matrix: only that is understood")
    matrix = array(w)
    if matrix.ndim != 2 or value.shape[-1] != len(matrix):
        raise TutelageError(f"{name} multiplies {list(value.shape)} by {list(matrix.shape)}: only matrices that fit")
    return times_matrix(value, matrix, None, name)


def _convolution(name: str, value: Any, w: Any, b: Any, stride: Any, pads: Any, dilation: Any, turned: bool,
                 out: Any, groups: int) -> Value:  # fmt: skip
    if not isinstance(value, Value) or isinstance(w, Value) or turned:
        raise TutelageError(f"{name} is a transposed convolution or has weights that depend on the input")
    kernel, line = array(w), len(value.shape) == 2
    if kernel.ndim not in (3, 4) or kernel.ndim != len(value.shape) + 1:
        raise TutelageError(f"{name} has a kernel of {kernel.ndim - 2} axes: convolutions of one or two are understood")
    window = _window(kernel.shape[2:], stride, pads, dilation, line)
    flat = kernel[:, :, None] if line else kernel
    made = convolved(as_image(value), flat, None if b is None else array(b), window, groups, name)
    return _back(made, line)


def _window(kernel: Sequence[int], stride: Any, pads: Any, dilation: Any, line: bool, ceil: bool = False) -> Window:
    k, s, p, d = (_two(a, e) for a, e in ((tuple(kernel), 1), (stride, 1), (pads, 0), (dilation, 1)))
    if line:
        return Window((1, k[1]), (1, s[1]), (0, p[1], 0, p[1]), (1, d[1]), ceil)
    return Window(k, s, (*p, *p), d, ceil)


def _back(made: Value, line: bool) -> Value:
    return reshaped(made, (made.shape[0], made.shape[2])) if line else made


def _batch_norm(name: str, value: Value, w: Any, b: Any, mean: Any, var: Any, momentum: float, eps: float) -> list:
    n = value.shape[0]
    parts = [
        np.full(n, default) if a is None else array(a) for a, default in ((w, 1.0), (b, 0.0), (mean, 0.0), (var, 1.0))
    ]
    return [normalised(value, parts, eps, name)]


def _max_pool(name: str, value: Value, kernel: Any, stride: Any = (), pads: Any = 0, dilation: Any = 1,
              ceil: bool = False) -> list:  # fmt: skip
    line = len(value.shape) == 2
    window = _window(_two(kernel, 1), stride or kernel, pads, dilation, line, ceil)
    return [_back(pooled(as_image(value), window, name), line)]


def _avg_pool(name: str, value: Value, kernel: Any, stride: Any = (), pads: Any = 0, ceil: bool = False,
              counted: bool = True, divisor: int | None = None) -> Value:  # fmt: skip
    if divisor is not None:
        raise TutelageError(f"{name} divides by another number than that of its pixels: leave divisor_override out")
    line = len(value.shape) == 2
    window = _window(_two(kernel, 1), stride or kernel, pads, 1, line, ceil)
    return _back(averaged(as_image(value), window, counted, name), line)


def _adaptive(name: str, value: Value, size: Sequence[int]) -> Value:
    line = len(value.shape) == 2
    sizes = value.shape[1:]
    if any(n % k for n, k in zip(sizes, size, strict=True)):
        raise TutelageError(f"{name} averages {list(sizes)} pixels to {list(size)}: only whole windows are understood")
    kernel = [n // k for n, k in zip(sizes, size, strict=True)]
    return _back(averaged(as_image(value), _window(kernel, kernel, 0, 1, line), False, name), line)


def _clamp(name: str, value: Value, low: Any = None, high: Any = None) -> Value:
    low, high = (None if e is None else stretched(array(e), value.shape, name) for e in (low, high))
    return clipped(value, low, high, name)


def _hardtanh(name: str, value: Value, low: float = -1, high: float = 1) -> Value:
    return _clamp(name, value, low, high)


def _relu(name: str, value: Value) -> Value:
    return bent(value, 0.0, name)


def _leaky(name: str, value: Value, slope: float = 0.01) -> Value:
    return bent(value, float(slope), name)


def _prelu(name: str, value: Value, slope: Any) -> Value:
    by = array(slope)
    if by.ndim == 1 and by.size == value.shape[0]:
        by = by.reshape(-1, *[1] * (len(value.shape) - 1))
    return bent(value, stretched(by, value.shape, name), name)


def _abs(name: str, value: Value) -> Value:
    return bent(value, -1.0, name)


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


def _view(name: str, value: Value, shape: Sequence[int]) -> Value:
    rest = list(shape[1:])
    known = int(np.prod([n for n in rest if n != -1]))
    if shape[0] == -1:
        return reshaped(value, rest)
    return reshaped(value, [value.size // known if n == -1 else n for n in rest])


def _permute(name: str, value: Value, order: Sequence[int]) -> Value:
    full = len(value.shape) + 1
    if order[0] % full:
        raise TutelageError(f"{name} moves the axis of samples: only axes of a sample may change places")
    return picked(value, numbers(value).transpose([k % full - 1 for k in order[1:]]), name)


def _cat(name: str, values: Sequence[Any], axis: int = 0) -> Value:
    if not all(isinstance(v, Value) for v in values):
        raise TutelageError(f"{name} joins a layer and a constant: only layers are understood")
    return concatenated(values, axis_of(axis, values[0], name), name)


def _slice(name: str, value: Value, axis: int = 0, first: int | None = None, last: int | None = None,
           step: int = 1) -> Value:  # fmt: skip
    if axis % (len(value.shape) + 1) == 0 and not first and (last is None or last > 1 << 40) and step == 1:
        return value
    sample_axis = axis_of(axis, value, name)
    cut = [slice(None)] * len(value.shape)
    cut[sample_axis] = slice(first, last, step)
    return picked(value, numbers(value)[tuple(cut)], name)


def _select(name: str, value: Value, axis: int, place: int) -> Value:
    return picked(value, numbers(value).take(place, axis_of(axis, value, name)), name)


def _split(name: str, value: Value, sizes: Sequence[int], axis: int = 0) -> list[Value]:
    cuts = np.split(numbers(value), np.cumsum(sizes)[:-1], axis_of(axis, value, name))
    return [picked(value, places, name) for places in cuts]


def _pad(name: str, value: Value, widths: Sequence[int], fill: float = 0.0) -> Value:
    before, after = [0] * len(value.shape), [0] * len(value.shape)
    if len(widths) > 2 * len(value.shape):
        raise TutelageError(f"{name} changes the axis of samples: only axes of a sample may change")
    for k in range(len(widths) // 2):
        before[-1 - k], after[-1 - k] = widths[2 * k], widths[2 * k + 1]
    return padded(value, before, after, float(fill), name)


def _mean(name: str, value: Value, axes: Sequence[int] | None = None, keep: bool = False, **_: Any) -> Value:
    return summed(value, [axis_of(a, value, name) for a in axes or (0,)], True, keep, name)


def _sum(name: str, value: Value, axes: Sequence[int] | None = None, keep: bool = False, **_: Any) -> Value:
    return summed(value, [axis_of(a, value, name) for a in axes or (0,)], False, keep, name)


def _amax(name: str, value: Value, axes: Sequence[int] = (), keep: bool = False) -> Value:
    return maximal(value, [axis_of(a, value, name) for a in axes or (0,)], keep, name)


def _squeeze(name: str, value: Value, axes: Any) -> Value:
    listed = [axes] if isinstance(axes, int) else axes
    sample_axes = [axis_of(a, value, name) for a in listed]
    return reshaped(value, [n for k, n in enumerate(value.shape) if k not in sample_axes or n != 1])


def _unsqueeze(name: str, value: Value, axis: int) -> Value:
    place = axis % (len(value.shape) + 2) - 1
    if place < 0:
        raise TutelageError(f"{name} changes the axis of samples: only axes of a sample may change")
    return reshaped(value, [*value.shape[:place], 1, *value.shape[place:]])


def _expand(name: str, value: Value, shape: Sequence[int], **_: Any) -> Value:
    sizes = [n if m == -1 else m for n, m in zip(value.shape, shape[1:], strict=True)]
    return picked(value, np.broadcast_to(numbers(value), sizes), name)


def _same(name: str, value: Value, *_: Any, **__: Any) -> Value:
    return value


OPERATORS: dict[str, Callable[..., Any]] = {
    "add": _add, "sub": _sub, "rsub": _rsub, "mul": _mul, "div": _div, "neg": _neg, "addmm": _addmm, "mm": _mm,
    "linear": lambda name, x, w, b=None: _mm(name, x, w.T) if b is None else _addmm(name, b, x, w.T),
    "matmul": _mm, "convolution": _convolution, "_native_batch_norm_legit_no_training": _batch_norm,
    "max_pool2d_with_indices": _max_pool, "avg_pool2d": _avg_pool, "avg_pool1d": _avg_pool,
    "_adaptive_avg_pool2d": _adaptive, "adaptive_avg_pool1d": _adaptive, "relu": _relu, "leaky_relu": _leaky,
    "_prelu_kernel": _prelu, "prelu": _prelu, "abs": _abs, "hardtanh": _hardtanh, "clamp": _clamp,
    "clamp_min": _clamp, "clamp_max": lambda name, v, high: _clamp(name, v, None, high),
    "maximum": _chosen(larger), "minimum": _chosen(smaller), "view": _view, "reshape": _view, "_unsafe_view": _view,
    "permute": _permute, "cat": _cat, "slice": _slice, "select": _select, "split_with_sizes": _split,
    "constant_pad_nd": _pad, "mean": _mean, "sum": _sum, "amax": _amax, "squeeze": _squeeze, "unsqueeze": _unsqueeze,
    "expand": _expand, "clone": _same, "alias": _same, "detach": _same, "contiguous": _same, "_to_copy": _same,
}  # fmt: skip
