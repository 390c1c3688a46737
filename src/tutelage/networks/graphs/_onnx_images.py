"""Convolutions and pools of ONNX."""

from typing import Any

from tutelage.errors import TutelageError
from tutelage.networks.graphs.axes import maximal, summed
from tutelage.networks.graphs.images import Window, as_image, averaged, convolved, pooled
from tutelage.networks.graphs.onnx_graph import Given, Reading, constant, moving
from tutelage.networks.graphs.values import Value, reshaped
from tutelage.networks.onnx_model import attributes, called


def window(node: Any, value: Value, kernel: tuple[int, ...]) -> Window:
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


def _shaped_back(result: Value, value: Value) -> Value:
    return reshaped(result, (result.shape[0], result.shape[2])) if len(value.shape) == 2 else result


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
    where = window(node, value, w.shape[2:])
    flat = w[:, :, None] if w.ndim == 3 else w
    return _shaped_back(convolved(as_image(value), flat, b, where, group, called(node)), value)


def average_pool(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    where = window(node, value, tuple(how.get("kernel_shape", ())))
    counted = bool(how.get("count_include_pad", 0))
    return _shaped_back(averaged(as_image(value), where, counted, called(node)), value)


def max_pool(state: Reading, node: Any, given: Given) -> Value:
    value, how = moving(node, given), attributes(node)
    if any(node.output[1:]) or how.get("storage_order", 0):
        raise TutelageError(f"{called(node)} gives the places of the largest numbers too: export it without them")
    where = window(node, value, tuple(how.get("kernel_shape", ())))
    return _shaped_back(pooled(as_image(value), where, called(node)), value)


def _over_pixels(value: Value, node: Any) -> list[int]:
    if len(value.shape) < 2:
        raise TutelageError(f"{called(node)} works on samples of shape {list(value.shape)}: images are wanted")
    return list(range(1, len(value.shape)))


def global_average(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    return summed(value, _over_pixels(value, node), True, True, called(node))


def global_max(state: Reading, node: Any, given: Given) -> Value:
    value = moving(node, given)
    return maximal(value, _over_pixels(value, node), True, called(node))
