"""Convolutions and pools of ONNX and torch."""

from collections.abc import Sequence
from typing import Any

from tutelage.errors import TutelageError
from tutelage.networks.graphs.axes import maximal, summed
from tutelage.networks.graphs.images import Window, as_image, averaged, convolved, pooled
from tutelage.networks.graphs.operators import Given, Reading, array, constant, moving, onnx_operator, torch_operator
from tutelage.networks.graphs.values import Value, reshaped
from tutelage.networks.onnx_model import attributes, called


def _window_of(node: Any, value: Value, kernel: tuple[int, ...]) -> Window:
    """The windows of an operator on samples [channels, height, width] or [channels, length]."""
    how, axes = attributes(node), len(value.shape) - 1
    stride, dilation = list(how.get("strides", [1] * axes)), list(how.get("dilations", [1] * axes))
    pads, auto = list(how.get("pads", [0] * (2 * axes))), how.get("auto_pad", b"NOTSET")
    if axes not in (1, 2) or not len(kernel) == len(stride) == len(dilation) == axes or len(pads) != 2 * axes:
        raise TutelageError(
            f"{called(node)} has pads, strides, dilations or a kernel that do not fit samples of shape "
            f"{list(value.shape)}: images and sequences are understood"
        )
    if auto not in (b"NOTSET", b"VALID", b"SAME_UPPER", b"SAME_LOWER") or (auto == b"VALID" and any(pads)):
        raise TutelageError(f"{called(node)} has the padding {auto.decode(errors='replace')}: state its pads")
    if auto in (b"SAME_UPPER", b"SAME_LOWER"):
        pads = _same(value.shape[1:], kernel, stride, dilation, auto == b"SAME_UPPER")
    if axes == 1:  # an image of height 1
        kernel, stride, dilation = (1, *kernel), [1, *stride], [1, *dilation]
        pads = [0, pads[0], 0, pads[1]]
    return Window(tuple(kernel), tuple(stride), tuple(pads), tuple(dilation), bool(how.get("ceil_mode", 0)))  # type: ignore[arg-type]


def _same(sizes: tuple[int, ...], kernel, stride, dilation, upper: bool) -> list[int]:
    """Pads for which the output has size / stride pixels, rounded up."""
    if min(stride) < 1:
        return [0] * (2 * len(sizes))
    needed = [
        max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
        for n, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)
    ]
    less, more = [p // 2 for p in needed], [p - p // 2 for p in needed]
    return [*less, *more] if upper else [*more, *less]


@onnx_operator("Conv", reads="auto_pad dilations group kernel_shape pads strides")
def convolution(state: Reading, node: Any, given: Given) -> Value:
    value, w, b = moving(node, given), constant(state, node, given, 1), constant(state, node, given, 2)
    assert w is not None
    how = attributes(node)
    group = how.get("group", 1)
    if w.ndim != len(value.shape) + 1 or w.ndim not in (3, 4):
        raise TutelageError(
            f"{called(node)} has weights {list(w.shape)} for samples of shape {list(value.shape)}: convolutions of "
            "images and sequences are understood"
        )
    if list(how.get("kernel_shape", w.shape[2:])) != list(w.shape[2:]) or group < 1:
        raise TutelageError(f"{called(node)} has a kernel shape or groups that do not fit its weights")
    where = _window_of(node, value, w.shape[2:])
    flat = w[:, :, None] if w.ndim == 3 else w
    return _back(convolved(as_image(value), flat, b, where, group, called(node)), len(value.shape) == 2)


@torch_operator("convolution")
def aten_convolution(name: str, value: Any, w: Any, b: Any, stride: Any, pads: Any, dilation: Any, turned: bool,
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
    """A sequence that was worked on as an image of height 1, as a sequence."""
    return reshaped(made, (made.shape[0], made.shape[2])) if line else made


def _two(numbers_: Sequence[int] | int, default: int) -> tuple[int, int]:
    listed = [numbers_] if isinstance(numbers_, int) else list(numbers_) or [default]
    return (listed[0], listed[-1])


@onnx_operator("AveragePool", reads="auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides")
def average_pool(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    where = _window_of(node, value, tuple(how.get("kernel_shape", ())))
    counted = bool(how.get("count_include_pad", 0))
    return _back(averaged(as_image(value), where, counted, called(node)), len(value.shape) == 2)


@torch_operator("avg_pool2d", "avg_pool1d")
def aten_avg_pool(name: str, value: Value, kernel: Any, stride: Any = (), pads: Any = 0, ceil: bool = False,
              counted: bool = True, divisor: int | None = None) -> Value:  # fmt: skip
    if divisor is not None:
        raise TutelageError(f"{name} divides by another number than that of its pixels: leave divisor_override out")
    line = len(value.shape) == 2
    window = _window(_two(kernel, 1), stride or kernel, pads, 1, line, ceil)
    return _back(averaged(as_image(value), window, counted, name), line)


@torch_operator("_adaptive_avg_pool2d", "adaptive_avg_pool1d")
def aten_adaptive(name: str, value: Value, size: Sequence[int]) -> Value:
    line = len(value.shape) == 2
    sizes = value.shape[1:]
    if any(n % k for n, k in zip(sizes, size, strict=True)):
        raise TutelageError(f"{name} averages {list(sizes)} pixels to {list(size)}: only whole windows are understood")
    kernel = [n // k for n, k in zip(sizes, size, strict=True)]
    return _back(averaged(as_image(value), _window(kernel, kernel, 0, 1, line), False, name), line)


@onnx_operator("MaxPool", reads="auto_pad ceil_mode dilations kernel_shape pads storage_order strides")
def max_pool(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    if any(node.output[1:]) or how.get("storage_order", 0):
        raise TutelageError(f"{called(node)} gives the places of the largest numbers too: export it without them")
    where = _window_of(node, value, tuple(how.get("kernel_shape", ())))
    return _back(pooled(as_image(value), where, called(node)), len(value.shape) == 2)


@torch_operator("max_pool2d_with_indices")
def aten_max_pool(name: str, value: Value, kernel: Any, stride: Any = (), pads: Any = 0, dilation: Any = 1,
              ceil: bool = False) -> list:  # fmt: skip
    line = len(value.shape) == 2
    window = _window(_two(kernel, 1), stride or kernel, pads, dilation, line, ceil)
    return [_back(pooled(as_image(value), window, name), line)]


def _over_pixels(value: Value, node: Any) -> list[int]:
    if len(value.shape) < 2:
        raise TutelageError(f"{called(node)} works on samples of shape {list(value.shape)}: images are wanted")
    return list(range(1, len(value.shape)))


@onnx_operator("GlobalAveragePool")
def global_average(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    return summed(value, _over_pixels(value, node), True, True, called(node))


@onnx_operator("GlobalMaxPool")
def global_max(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    return maximal(value, _over_pixels(value, node), True, called(node))
