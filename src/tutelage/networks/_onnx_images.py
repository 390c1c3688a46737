"""Operators on images in ONNX files: convolutions, pools and batch norm, written out as matrices, and axes moved."""

from collections.abc import Callable
from math import prod
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, conv2d, pad

from tutelage.errors import TutelageError
from tutelage.networks.onnx_model import called


class Chain(Protocol):
    """What was read so far, as far as these operators look at it: the shape of a sample, and affine maps to add.

    plain: whether there is no axis for samples; most: the most weights of a map that is written out.
    """

    shape: tuple[int, ...] | None
    plain: bool

    @property
    def most(self) -> int: ...

    def known(self, node: Any) -> tuple[int, ...]: ...

    def fits(self, size: int, node: Any) -> None: ...

    def then(self, w: Tensor, b: Tensor, shape: tuple[int, ...]) -> None: ...

    def diagonal(self, scale: Tensor, shift: Tensor, node: Any) -> None: ...


def convolution(chain: Chain, node: Any, arrays: list[Tensor | None], how: dict[str, Any]) -> None:
    shape, w = chain.known(node), arrays[1]
    auto = how.get("auto_pad", b"NOTSET")
    if w is None or w.ndim != 4 or len(shape) != 3 or auto not in (b"NOTSET", b"VALID"):
        raise TutelageError(f"{called(node)} is not a 2-D convolution with stated pads: only these are understood")
    pads, group = list(how.get("pads", [0, 0, 0, 0])), how.get("group", 1)
    stride, dilation = list(how.get("strides", [1, 1])), list(how.get("dilations", [1, 1]))
    b = arrays[2] if len(arrays) > 2 and arrays[2] is not None else torch.zeros(len(w), dtype=torch.float64)
    sound = (
        len(pads) == 4 and len(stride) == len(dilation) == 2 and min(pads) >= 0 and min(*stride, *dilation, group) > 0
    )
    if not sound or (auto == b"VALID" and any(pads)) or list(how.get("kernel_shape", w.shape[2:])) != list(w.shape[2:]):
        raise TutelageError(
            f"{called(node)} has pads, strides, dilations or a kernel shape that are not a convolution's"
        )
    if w.shape[1] * group != shape[0] or len(w) % group or tuple(b.shape) != (len(w),):
        raise TutelageError(
            f"{called(node)} has weights {list(w.shape)} in {group} groups: they do not fit {list(shape)}"
        )
    top, left, bottom, right = pads
    room = [shape[1] + top + bottom, shape[2] + left + right]
    out = [(r - d * (k - 1) - 1) // s + 1 for r, d, k, s in zip(room, dilation, w.shape[2:], stride, strict=True)]
    if min(out) < 1:
        raise TutelageError(f"{called(node)} has a kernel larger than its image of {room[0]} x {room[1]} pixels")
    chain.fits(max(prod(shape) * len(w) * prod(out), shape[0] * prod(room)), node)
    most = max(1, chain.most // (shape[0] * prod(room)))  # pixels written out at a time
    parts = []
    for start in range(0, prod(shape), most):
        pixels = torch.zeros(min(most, prod(shape) - start), prod(shape), dtype=torch.float64)
        pixels.diagonal(start).fill_(1.0)
        padded = pad(pixels.view(-1, *shape), (left, right, top, bottom))
        parts.append(conv2d(padded, w, None, stride, 0, dilation, group).flatten(1))
    after = (len(w), out[0], out[1])
    chain.then(torch.cat(parts), b.view(-1, 1, 1).expand(after).reshape(-1), after)


def normalisation(chain: Chain, node: Any, arrays: list[Tensor | None], how: dict[str, Any]) -> None:
    shape = chain.known(node)
    if how.get("training_mode", 0) or not how.get("spatial", 1) or any(node.output[1:]):
        raise TutelageError(f"{called(node)} is in training mode or not per channel: export the model for inference")
    parts = [a for a in arrays[1:] if a is not None]
    if len(parts) != 4 or any(tuple(a.shape) != shape[:1] for a in parts):
        met = ", ".join(str(list(a.shape)) for a in parts)
        raise TutelageError(f"{called(node)} has arrays of shape {met}: four of shape [{shape[0]}] are wanted")
    gamma, beta, mean, var = parts
    var = var + how.get("epsilon", 1e-5)
    if not bool((var > 0).all()):
        raise TutelageError(f"{called(node)} has a variance below 0: the file is damaged")
    scale = gamma * torch.rsqrt(var)
    across = [1] * (len(shape) - 1)
    wide = [a.view(-1, *across).expand(shape).reshape(-1) for a in (scale, beta - mean * scale)]
    chain.diagonal(wide[0], wide[1], node)


def average(chain: Chain, node: Any, how: dict[str, Any]) -> None:
    shape = chain.known(node)
    if len(shape) != 3:
        raise TutelageError(f"{called(node)} averages samples of shape {list(shape)}: images are wanted")
    if node.op_type == "GlobalAveragePool":
        _written_out(chain, node, lambda x: x.mean((2, 3), keepdim=True))
        return
    kernel, stride = list(how.get("kernel_shape", [])), list(how.get("strides", [1, 1]))
    pads, auto = list(how.get("pads", [0, 0, 0, 0])), how.get("auto_pad", b"NOTSET")
    symmetric = len(pads) == 4 and pads[:2] == pads[2:] and auto in (b"NOTSET", b"VALID")
    plain = set(how.get("dilations", [1])) == {1} and not how.get("ceil_mode", 0)
    if len(kernel) != 2 or not symmetric or not plain or any(2 * p > k for p, k in zip(pads, kernel, strict=False)):
        raise TutelageError(f"{called(node)} must have a 2-D kernel with the same pads on both sides and no dilation")
    counted = bool(how.get("count_include_pad", 0))
    _written_out(chain, node, lambda x: avg_pool2d(x, kernel, stride, pads[:2], False, counted))


def _written_out(chain: Chain, node: Any, function: Callable[[Tensor], Tensor]) -> None:
    """A linear map of images, [N, C, H, W] to the same, as a matrix."""
    shape = chain.known(node)
    chain.fits(prod(shape) ** 2, node)
    out = function(torch.eye(prod(shape), dtype=torch.float64).view(-1, *shape))
    after = tuple(out.shape[1:])
    chain.then(out.flatten(1), torch.zeros(prod(after), dtype=torch.float64), after)


def rearranged(chain: Chain, node: Any, given: list[np.ndarray | None], how: dict[str, Any]) -> None:
    """Axes of a sample in another order, or axes of length 1 added or removed."""
    shape, ahead = chain.known(node), 0 if chain.plain else 1
    full = (*((1,) * ahead), *shape)
    if node.op_type == "Transpose":
        order = list(how.get("perm", range(len(full))[::-1]))
        if sorted(order) != list(range(len(full))) or order[:ahead] != list(range(ahead)):
            raise TutelageError(f"{called(node)} moves the axis of samples: only axes of a sample may change places")
        places = torch.arange(prod(shape)).view(full).permute(order).flatten()
        if not torch.equal(places, torch.arange(prod(shape))):
            chain.fits(prod(shape) ** 2, node)
            eye = torch.eye(prod(shape), dtype=torch.float64)
            chain.then(eye[:, places], torch.zeros(prod(shape), dtype=torch.float64), ())
        chain.shape = tuple(full[k] for k in order[ahead:])
        return
    listed = given[1] if len(given) > 1 and given[1] is not None else how.get("axes")
    count = len(full) if node.op_type == "Squeeze" else len(full) + (0 if listed is None else len(listed))
    axes = (
        [int(a) % count for a in listed]
        if listed is not None
        else [k for k, n in enumerate(full) if n == 1 and k >= ahead]
    )
    if any(a < ahead for a in axes):
        raise TutelageError(
            f"{called(node)} changes the axis of samples: only axes of a sample may be added or removed"
        )
    if node.op_type == "Squeeze":
        if any(full[a] != 1 for a in axes):
            raise TutelageError(f"{called(node)} removes an axis that is longer than 1")
        chain.shape = tuple(n for k, n in enumerate(full) if k not in axes)[ahead:]
    else:
        rest = iter(full)
        chain.shape = tuple(1 if k in axes else next(rest) for k in range(count))[ahead:]
