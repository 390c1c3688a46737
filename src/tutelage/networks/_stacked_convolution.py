"""One convolution for all members."""

import torch
from torch import Tensor
from torch.nn import functional

_WIDE = 96


def convolve(x: Tensor, weight: Tensor, bias: Tensor, stride: int, padding: int) -> Tensor:
    """x [S, B, in, H, W], weight [S, out, in, k, k], bias [S, out] -> [S, B, out, H', W'].

    The faster of the two ways below, as measured on an H200 in float32: groups for up to 64 channels, and for many
    channels, each enough to fill the device, one member after another. vmap and products of unfolded patches were
    slower.
    """
    wide = x.is_cuda and min(weight.shape[1:3]) >= _WIDE
    return (by_turns if wide else by_groups)(x, weight, bias, stride, padding)


def by_groups(x: Tensor, weight: Tensor, bias: Tensor, stride: int, padding: int) -> Tensor:
    """Members as the groups of one convolution."""
    members, batch = x.shape[:2]
    stacked = x.transpose(0, 1).reshape(batch, -1, *x.shape[3:])
    out = functional.conv2d(stacked, weight.flatten(0, 1), bias.flatten(), stride, padding, groups=members)
    return out.unflatten(1, (members, -1)).transpose(0, 1)


def by_turns(x: Tensor, weight: Tensor, bias: Tensor, stride: int, padding: int) -> Tensor:
    """Member after member."""
    triples = zip(x, weight, bias, strict=True)
    return torch.stack([functional.conv2d(a, w, b, stride, padding) for a, w, b in triples])
