"""Convolutions and pools of images as sparse maps, and max pools as comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs.values import EPS, Map, Rounded, Value, fits, larger, mapped, picked, reshaped


@dataclass(frozen=True)
class Window:
    """Where a kernel looks: two numbers each; pads: (top, left, bottom, right); ceil: whether the last window may
    reach beyond the image."""

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    ceil: bool = False

    def places(self, height: int, width: int, name: str) -> tuple[np.ndarray, tuple[int, int]]:
        """Pixels [windows, kernel] of an image, -1 outside of it, and the size of the image of windows."""
        rows = self._line(0, height, name)
        columns = self._line(1, width, name)
        fits(rows.size * columns.size, name)
        out = len(rows), len(columns)
        inside = (rows >= 0)[:, None, :, None] & (columns >= 0)[None, :, None, :]
        pixels = rows[:, None, :, None] * width + columns[None, :, None, :]
        return np.where(inside, pixels, -1).reshape(prod(out), -1), out

    def _line(self, axis: int, length: int, name: str) -> np.ndarray:
        """Places [windows, kernel] along one axis, -1 outside."""
        k, s, d = self.kernel[axis], self.stride[axis], self.dilation[axis]
        before, after = self.pads[axis], self.pads[axis + 2]
        if min(k, s, d) < 1 or min(before, after) < 0:
            raise TutelageError(f"{name} has a kernel, strides, dilations or pads that are not those of windows")
        room = length + before + after - d * (k - 1) - 1
        if room < 0:
            raise TutelageError(
                f"{name} has a kernel of {d * (k - 1) + 1} pixels on an image of {length + before + after}: it is "
                "larger than its image"
            )
        count = (-(-room // s) if self.ceil else room // s) + 1
        if self.ceil and (count - 1) * s >= length + before:  # a window must begin inside the image
            count -= 1
        fits(count * k, name)
        at = np.arange(count)[:, None] * s + np.arange(k)[None, :] * d - before
        return np.where((at >= 0) & (at < length), at, -1)


def convolved(
    value: Value, w: np.ndarray, b: np.ndarray | None, window: Window, groups: int = 1, name: str = ""
) -> Value:
    """A convolution with weights [out, in / groups, height, width] of an image [in, height, width]."""
    channels, height, width = _image(value, name)
    if w.shape[1] * groups != channels or len(w) % groups or (b is not None and b.shape != (len(w),)):
        raise TutelageError(
            f"{name} has weights {list(w.shape)} in {groups} groups: they do not fit {list(value.shape)}"
        )
    places, out = window.places(height, width, name)
    per = len(w) // groups
    fits(len(w) * prod(out) * w[0].size, name)
    in_channels = (np.arange(len(w)) // per * w.shape[1])[:, None] + np.arange(w.shape[1])[None]  # [out, in / groups]
    flat = w.reshape(len(w), 1, w.shape[1], -1)
    cols = in_channels[:, None, :, None] * (height * width) + places[None, :, None, :]
    used = np.broadcast_to(places[None, :, None, :] >= 0, cols.shape)
    data = np.broadcast_to(flat, cols.shape)[used]
    matrix = _rows(data, cols[used], used.reshape(len(w) * len(places), -1).sum(1), value.size)
    shift = None if b is None else np.repeat(b, prod(out))
    return mapped(value, matrix, (len(w), *out), shift, name)


def averaged(value: Value, window: Window, counted: bool = False, name: str = "") -> Value:
    """The mean over windows of every channel; counted: pads count as zeros."""
    channels, height, width = _image(value, name)
    if window.ceil:
        raise TutelageError(f"{name} rounds the size of its outputs up (ceil_mode): export it without")
    places, out = window.places(height, width, name)
    inside = places >= 0
    count = np.full(len(places), places.shape[1]) if counted else inside.sum(1)
    if not count.all():
        raise TutelageError(f"{name} has windows outside the image: use smaller pads")
    fits(channels * inside.sum(), name)
    share = np.broadcast_to((1 / count)[:, None], places.shape)[inside]
    cols = (np.arange(channels)[:, None] * (height * width) + places[inside][None]).ravel()
    matrix = _rows(np.tile(share, channels), cols, np.tile(inside.sum(1), channels), value.size)
    return mapped(value, matrix, (channels, *out), name=name, rounded=Rounded(EPS))


def pooled(value: Value, window: Window, name: str = "") -> Value:
    """The largest number in every window of every channel, by comparing two at a time."""
    channels, height, width = _image(value, name)
    places, out = window.places(height, width, name)
    if (places < 0).all(1).any():
        raise TutelageError(f"{name} has windows outside the image: use smaller pads")
    some = places.max(1, keepdims=True)
    places = np.where(places < 0, some, places)  # a pixel twice leaves the largest as it is
    fits(channels * places.size, name)
    shape = channels, *out
    across = np.arange(channels)[:, None] * (height * width)
    left = [picked(value, (across + column[None]).reshape(shape), name) for column in places.T]
    return largest(left, name)


def largest(values: Sequence[Value], name: str = "") -> Value:
    """The largest of values of one shape, number by number, in rounds of pairs."""
    left = list(values)
    while len(left) > 1:
        rest = left[-1:] if len(left) % 2 else []
        left = [larger(a, b, name) for a, b in zip(left[::2], left[1::2], strict=False)] + rest
    return left[0]


def as_image(value: Value) -> Value:
    """A sequence [channels, length] as an image of height 1."""
    return reshaped(value, (value.shape[0], 1, value.shape[1])) if len(value.shape) == 2 else value


def _image(value: Value, name: str) -> tuple[int, int, int]:
    if len(value.shape) != 3:
        raise TutelageError(f"{name} works on samples of shape {list(value.shape)}: images are wanted")
    return value.shape


def _rows(data: np.ndarray, columns: np.ndarray, counts: np.ndarray, width: int) -> Map:
    """A sparse matrix from its rows one after the other."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    return Map((data.astype(np.float64), columns, ends), shape=(len(counts), width))
