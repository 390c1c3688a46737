"""Channels of convolutional networks that do nothing, taken out: the same function with smaller layers.

A channel is constant where everything it takes is 0, as training with penalties on filters or on the factors of batch
norms leaves it. One that hands on 0, or that nothing above listens to, can go without any change of the function. The
traced graph (:mod:`tutelage.functions.matching._channel_groups`) says which axes of which parameters go with it,
through skip connections too.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tutelage.functions.pruning._silent_channels import superfluous
from tutelage.functions.pruning.channel_files import pruned_file
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class ChannelPruning:
    """A network without the channels that do nothing.

    Attributes
    ----------
    module
        The smaller module, or for a file the smaller ONNX model: the same function, since only zeros are left out of
        sums.
    removed
        For every group of channels that go together, by the layer it starts at: which went.
    weights
        Numbers of parameters before and after.
    """

    module: Any
    removed: Mapping[str, tuple[int, ...]]
    weights: tuple[int, int]


def prune_channels(module: nn.Module | str | Path) -> ChannelPruning:
    """Take out the channels of a network that always hand on 0, or that nothing listens to.

    Parameters
    ----------
    module
        A module of convolutions, linear layers, batch norms (as in evaluation), pools, elementwise functions and skip
        connections, traced with torch.fx; or the path of an ONNX file, where channels that pass through any other
        operator stay. It is left as it is.

    Returns
    -------
    ChannelPruning
        At least one channel of every group stays.

    Examples
    --------
    >>> import torch
    >>> net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3))
    >>> with torch.no_grad():
    ...     _ = net[0].weight[1].zero_(), net[0].bias[1].fill_(-0.5)  # never active
    >>> found = prune_channels(net)
    >>> found.removed, found.module[0].out_channels
    ({'0': (1,)}, 3)
    """
    if isinstance(module, str | Path):
        return ChannelPruning(*pruned_file(Path(module)))
    removed = {}
    small = copy.deepcopy(module)
    for group, gone in superfluous(module):
        removed[group.name] = tuple(gone.nonzero().flatten().tolist())
        for name, axis in group.axes:
            _cut(small, name, axis, ~gone)
    counts = [sum(p.numel() for p in m.parameters()) for m in (module, small)]
    return ChannelPruning(small, removed, (counts[0], counts[1]))


def _cut(module: nn.Module, name: str, axis: int, kept: Tensor) -> None:
    """Keep some channels along an axis of a parameter or buffer, and tell its layer."""
    path, _, last = name.rpartition(".")
    layer = module.get_submodule(path)
    array = getattr(layer, last)
    blocks = array.detach().movedim(axis, 0)
    left = blocks.reshape(len(kept), -1, *blocks.shape[1:])[kept.to(array.device)].flatten(0, 1)
    left = left.movedim(0, axis).contiguous()
    if isinstance(array, nn.Parameter):
        setattr(layer, last, nn.Parameter(left, requires_grad=array.requires_grad))
    else:
        setattr(layer, last, left)
    count = int(left.shape[axis])
    if isinstance(layer, _BatchNorm):
        layer.num_features = count
    elif isinstance(layer, nn.Linear) and last == "weight":
        layer.out_features, layer.in_features = left.shape
    elif isinstance(layer, nn.Conv1d | nn.Conv2d) and last == "weight":
        layer.out_channels = left.shape[0]
        if layer.groups > 1:
            layer.groups = layer.in_channels = count
        else:
            layer.in_channels = left.shape[1]
