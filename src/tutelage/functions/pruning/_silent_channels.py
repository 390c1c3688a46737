"""Which channels of a traced module always hand on 0, or are taken with weight 0 alone."""

import copy
import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from tutelage.functions.matching._channel_groups import ChannelGroup, channel_groups, kept

_KEPT_AT_ZERO = (torch.relu, functional.relu, functional.relu6, functional.leaky_relu, functional.gelu, functional.silu,
                 torch.tanh, "relu", "relu_", "tanh", torch.mean, "mean", functional.max_pool2d, functional.avg_pool2d,
                 functional.adaptive_avg_pool2d, torch.max_pool2d, functional.adaptive_max_pool2d)  # fmt: skip
_BELOW_ZERO = (torch.relu, functional.relu, functional.relu6, "relu", "relu_")
_ROUNDINGS = 100  # of a constant that a batch norm computes, at most
_SAME = (functional.dropout, torch.flatten, "flatten", "view", "reshape", "contiguous")


def superfluous(module: nn.Module) -> list[tuple[ChannelGroup, Tensor]]:
    """The groups with channels that can go, and which of them can: bool [channels], never all."""
    traced = copy.deepcopy(module).eval()
    if not isinstance(traced, fx.GraphModule):
        traced = fx.symbolic_trace(traced)
    silent = _Constants(traced).silent()
    result = []
    for group in channel_groups(module):
        gone = _gone(group, module, silent)
        # A layer without channels cannot be written.
        if gone.all():
            gone[0] = False
        if gone.any():
            result.append((group, gone))
    return result


def _gone(group: ChannelGroup, module: nn.Module, silent: Mapping[str, Tensor]) -> Tensor:
    """Which channels of a group go: those that every layer that takes them takes as 0, or with weight 0 alone."""
    state, gone = module.state_dict(), []
    for name, axis in group.axes:
        if axis == 1:
            unheard = (state[name].movedim(1, 0).reshape(group.size, -1) == 0).all(1).cpu()
            zero = silent.get(name.removesuffix(".weight"))
            gone.append(unheard if zero is None else unheard | zero.reshape(group.size, -1).all(1))
    # Nothing listens as far as the graph shows (a group whose channels leave the module): nothing goes.
    return torch.stack(gone).all(0) if gone else torch.zeros(group.size, dtype=torch.bool)


class _Constants:
    """What is known of the channels of every value: their constant, NaN where they vary, [channels] in float64.

    -inf stands for a constant that is only known to be below 0, as rounding changes it. A constant other than 0 is lost
    at padding, and so at convolutions and pools. A flattening leaves a whole number of entries per channel.
    """

    def __init__(self, traced: fx.GraphModule) -> None:
        self.traced, self.modules = traced, dict(traced.named_modules())
        self.known: dict[fx.Node, Any] = {}

    def silent(self) -> dict[str, Tensor]:
        """For every convolution and linear layer: which of the channels that it takes are always 0, bool."""
        silent = {}
        for node in self.traced.graph.nodes:
            below = [self.known.get(a) for a in node.args if isinstance(a, fx.Node)]
            if node.op == "call_module" and below and below[0] is not None:
                silent[str(node.target)] = below[0] == 0
            self.known[node] = self._value(node, below)
        return silent

    def _value(self, node: fx.Node, below: list[Tensor | None]) -> Tensor | None:
        if node.target is kept:
            return None
        if node.op == "call_module":
            return self._layer(self.modules[str(node.target)], below[0])
        if node.target in (operator.add, operator.iadd, torch.add) and len(below) == 2:
            first, second = below
            if first is None or second is None or first.shape != second.shape:
                return None
            return torch.full_like(first, torch.nan) if node.kwargs else _sum(first, second)
        if not below or below[0] is None:
            return None
        if node.target in _SAME:
            return below[0]
        return _after(below[0], node.target in _KEPT_AT_ZERO, node.target in _BELOW_ZERO)

    def _layer(self, layer: nn.Module, below: Tensor | None) -> Tensor | None:
        if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Linear):
            return _constants(layer, below)
        if below is None:
            return None
        if isinstance(layer, _BatchNorm):
            return _normed(layer, below)
        if isinstance(layer, nn.Flatten | nn.Identity | nn.Dropout | nn.Dropout2d):
            return below
        relus = isinstance(layer, nn.ReLU | nn.ReLU6)
        zero = relus or isinstance(layer, nn.LeakyReLU | nn.GELU | nn.SiLU | nn.Tanh | nn.ELU)
        return _after(below, zero or "Pool" in type(layer).__name__, relus)


def _sum(first: Tensor, second: Tensor) -> Tensor:
    """Constants of a sum, where rounding changes neither them nor their sign."""
    sure = (first == 0) | (second == 0)
    return torch.where(sure, first + second, _below((first <= 0) & (second <= 0)))


def _below(where: Tensor) -> Tensor:
    """Constants that are known to be below 0 in some places, and not known in others."""
    return torch.full(where.shape, torch.nan, dtype=torch.float64).masked_fill(where, -torch.inf)


def _after(known: Tensor, keeps_zero: bool, cuts: bool) -> Tensor:
    """Constants after a function: 0 stays 0 where it is kept, and what is below 0 becomes 0 where it is cut."""
    zero = (known == 0) & keeps_zero
    return torch.full_like(known, torch.nan).masked_fill(zero | ((known <= 0) & cuts), 0)


def _constants(layer: nn.Conv1d | nn.Conv2d | nn.Linear, below: Tensor | None) -> Tensor:
    """Channels of a layer whose weights are 0 wherever their inputs are not."""
    w = layer.weight.detach().double().cpu()
    off = (w == 0).flatten(2) if w.ndim > 2 else (w == 0).unsqueeze(2)
    if getattr(layer, "groups", 1) > 1:
        quiet = off.all(2).squeeze(1) if below is None else off.all(2).squeeze(1) | (below == 0)
    elif below is None:
        quiet = off.all(2).all(1)
    else:
        places = off.shape[1] // len(below)
        quiet = (off.all(2) | (below == 0).repeat_interleave(places)).all(1)
    bias = torch.zeros(len(w), dtype=torch.float64) if layer.bias is None else layer.bias.detach().double().cpu()
    return bias.masked_fill(~quiet, torch.nan)


def _normed(norm: _BatchNorm, known: Tensor) -> Tensor:
    """Constants after a batch norm in evaluation: its bias where it only adds that, else those clearly below 0."""
    if norm.running_mean is None or norm.running_var is None:
        return torch.full_like(known, torch.nan)
    mean, scale = norm.running_mean.double().cpu(), (norm.running_var.double().cpu() + norm.eps).sqrt()
    ones = torch.ones_like(mean)
    given = (ones, 0 * ones) if norm.weight is None else (norm.weight.detach(), norm.bias.detach())
    weight, bias = (array.double().cpu() for array in given)
    known = known.repeat_interleave(len(mean) // len(known))
    # Rounded in its own precision when it runs: only values clearly below 0 are sure to be cut by a relu.
    rounding = _ROUNDINGS * torch.finfo(norm.running_mean.dtype).eps
    value = (known - mean) / scale * weight + bias
    size = (known.abs() + mean.abs()) / scale * weight.abs() + bias.abs()
    return torch.where((weight == 0) | ((known == 0) & (mean == 0)), bias, _below(value < -rounding * size))
