"""Layered networks: convolutions, dense layers and batch norm, members side by side, as an ordinary torch module.

:class:`Network` is what theory and geometry speak of: dense layers and gates. What learns from images is more than that
and lives here. A parameter of S networks has the member as its first axis, so any of torch's optimisers trains all of
them at once and none touches another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks._stacked_convolution import convolve

Norm = Literal["off", "before", "after"]


@dataclass(frozen=True)
class Conv:
    """A convolution with so many channels; square kernels."""

    channels: int
    kernel: int = 3
    stride: int = 1
    padding: int = 1


@dataclass(frozen=True)
class Dense:
    """A dense layer with so many units."""

    units: int


@dataclass(frozen=True)
class Architecture:
    """Hidden layers from below, and a dense layer of ``outputs`` above them.

    inputs: (channels, height, width) of images or (features,); convolutions come first. norm: batch norm before or
    after the activation of every hidden layer. pool: the mean over all pixels goes to the first dense layer, instead of
    all pixels.

    >>> Architecture((3, 32, 32), (Conv(8, stride=2), Conv(16)), outputs=10).shapes()
    [(8, 16, 16), (16, 16, 16)]
    """

    inputs: tuple[int, ...]
    hidden: tuple[Conv | Dense, ...]
    outputs: int
    activation: Literal["relu", "leaky"] = "relu"
    slope: float = 0.01
    norm: Norm = "off"
    pool: bool = True

    def __post_init__(self) -> None:
        kinds = [isinstance(layer, Conv) for layer in self.hidden]
        if kinds != sorted(kinds, reverse=True):
            raise TutelageError("a convolution above a dense layer has no pixels to work on: put convolutions first")
        if len(self.inputs) not in (1, 3) or (any(kinds) and len(self.inputs) != 3):
            raise TutelageError(
                "inputs must be (channels, height, width), or (features,) without convolutions, got "
                f"{tuple(self.inputs)}"
            )
        if min((*self.inputs, self.outputs, *(_width(layer) for layer in self.hidden))) < 1:
            raise TutelageError("every layer needs at least one unit")
        if any(min(shape) < 1 for shape in self.shapes()):
            raise TutelageError("strides and kernels leave no pixels of the image: use fewer strides or more padding")

    def shapes(self) -> list[tuple[int, ...]]:
        """What every hidden layer gives: (channels, height, width) or (units,)."""
        shapes, now = [], self.inputs
        for layer in self.hidden:
            if isinstance(layer, Conv):
                size = [(n + 2 * layer.padding - layer.kernel) // layer.stride + 1 for n in now[1:]]
                now = (layer.channels, *size)
            else:
                now = (layer.units,)
            shapes.append(now)
        return shapes

    def widths(self) -> tuple[int, ...]:
        """Units or channels of every hidden layer."""
        return tuple(_width(layer) for layer in self.hidden)

    def with_widths(self, widths: Sequence[int]) -> "Architecture":
        """The same layers with other widths."""
        if len(widths) != len(self.hidden):
            raise TutelageError(
                f"widths must have one entry for each of {len(self.hidden)} hidden layers, got {len(widths)}"
            )
        hidden = tuple(
            Conv(w, layer.kernel, layer.stride, layer.padding) if isinstance(layer, Conv) else Dense(w)
            for layer, w in zip(self.hidden, widths, strict=True)
        )
        return Architecture(self.inputs, hidden, self.outputs, self.activation, self.slope, self.norm, self.pool)

    def fan_ins(self) -> list[tuple[int, ...]]:
        """Shape of the weights of one unit in every layer, the top one last: (in, k, k) or (in,)."""
        below, fans = self.inputs, []
        for layer, shape in zip(self.hidden, self.shapes(), strict=True):
            fans.append((below[0], layer.kernel, layer.kernel) if isinstance(layer, Conv) else (self._flat(below),))
            below = shape
        return [*fans, (self._flat(below),)]

    def _flat(self, shape: tuple[int, ...]) -> int:
        return shape[0] if self.pool else prod(shape)


def _width(layer: Conv | Dense) -> int:
    return layer.channels if isinstance(layer, Conv) else layer.units


class Layered(nn.Module):
    """S networks of one architecture, one per seed.

    Weights start uniform with the variance that keeps activations alive (He et al. 2015), biases at 0; they are drawn
    from the member's own stream. weights[l]: [S, out, in, k, k] or [S, in, out]; biases[l]: [S, out].

    >>> net = Layered(Architecture((1, 6, 6), (Conv(4), Conv(5, stride=2)), outputs=3), seeds=range(2))
    >>> net(torch.zeros(7, 1, 6, 6)).shape
    torch.Size([2, 7, 3])
    """

    def __init__(self, architecture: Architecture, seeds: Sequence[int], stream: str = "layered") -> None:
        super().__init__()
        self.architecture, self.seeds = architecture, tuple(seeds)
        widths = (*architecture.widths(), architecture.outputs)
        weights, biases, norms = [], [], []
        for layer, (fan, out) in enumerate(zip(architecture.fan_ins(), widths, strict=True)):
            gain = 6.0 if layer < len(architecture.hidden) else 3.0
            key = draws.keys(seeds, f"{stream}-{layer}")
            entries = (2 * draws.uniforms(key, out * prod(fan)) - 1) * (gain / prod(fan)) ** 0.5
            shaped = entries.view(len(seeds), out, *fan).to(torch.get_default_dtype())
            weights.append(nn.Parameter(shaped if len(fan) == 3 else shaped.mT.contiguous()))
            biases.append(nn.Parameter(torch.zeros(len(seeds), out)))
            if layer < len(architecture.hidden) and architecture.norm != "off":
                norms.append(StackedNorm(len(seeds), out))
        self.weights, self.biases = nn.ParameterList(weights), nn.ParameterList(biases)
        self.norms = nn.ModuleList(norms)

    @property
    def members(self) -> int:
        return len(self.seeds)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs [S, B, C] on inputs that all members share, [B, ...], or have of their own, [S, B, ...]."""
        return self._top(self._hidden(x)[-1])

    def features(self, x: Tensor) -> tuple[list[Tensor], Tensor]:
        """Activations of every hidden layer, [S, B, channels, height, width] or [S, B, units], and the outputs."""
        layers = self._hidden(x)
        return layers[1:], self._top(layers[-1])

    def preactivations(self, x: Tensor) -> list[Tensor]:
        """What goes into the activation of every hidden layer, shaped like its features."""
        f, layers = self._stacked(x), []
        for layer in range(len(self.architecture.hidden)):
            layers.append(self._before(layer, f))
            f = self._after(layer, layers[-1])
        return layers

    def _hidden(self, x: Tensor) -> list[Tensor]:
        layers = [self._stacked(x)]
        for layer in range(len(self.architecture.hidden)):
            layers.append(self._after(layer, self._before(layer, layers[-1])))
        return layers

    def _before(self, layer: int, f: Tensor) -> Tensor:
        kind = self.architecture.hidden[layer]
        if isinstance(kind, Conv):
            u = convolve(f, self.weights[layer], self.biases[layer], kind.stride, kind.padding)
        else:
            u = self._dense(layer, f)
        return self.norms[layer](u) if self.architecture.norm == "before" else u

    def _after(self, layer: int, u: Tensor) -> Tensor:
        u = functional.relu(u) if self.architecture.activation == "relu" else self._leaky(u)
        return self.norms[layer](u) if self.architecture.norm == "after" else u

    def _leaky(self, u: Tensor) -> Tensor:
        return functional.leaky_relu(u, self.architecture.slope)

    def _top(self, f: Tensor) -> Tensor:
        return self._dense(len(self.architecture.hidden), f)

    def _dense(self, layer: int, f: Tensor) -> Tensor:
        if f.ndim > 3:
            f = f.mean((3, 4)) if self.architecture.pool else f.flatten(2)
        return torch.baddbmm(self.biases[layer].unsqueeze(1), f, self.weights[layer])

    def _stacked(self, x: Tensor) -> Tensor:
        wanted = self.architecture.inputs
        if tuple(x.shape[-len(wanted) :]) != wanted or x.ndim not in (len(wanted) + 1, len(wanted) + 2):
            raise TutelageError(f"inputs must have shape [batch, {', '.join(map(str, wanted))}], got {list(x.shape)}")
        if x.ndim == len(wanted) + 1:
            return x.unsqueeze(0).expand(self.members, *x.shape)
        if x.shape[0] != self.members:
            raise TutelageError(f"inputs must have {self.members} members, as the network has, got {x.shape[0]}")
        return x


class StackedNorm(nn.Module):
    """Batch norm of every unit or channel of every member, with running moments for evaluation (momentum 0.1)."""

    def __init__(self, members: int, units: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(members, units))
        self.shift = nn.Parameter(torch.zeros(members, units))
        self.register_buffer("mean", torch.zeros(members, units))
        self.register_buffer("variance", torch.ones(members, units))

    mean: Tensor
    variance: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """[S, B, units, ...] -> the same shape."""
        stacked = x.transpose(0, 1).flatten(1, 2)  # members and units as the channels of one batch norm
        out = functional.batch_norm(
            stacked,
            self.mean.view(-1),
            self.variance.view(-1),
            self.scale.flatten(),
            self.shift.flatten(),
            self.training,
            0.1,
            EPSILON,
        )
        return out.unflatten(1, self.mean.shape).transpose(0, 1)


EPSILON = 1e-5
"""Added to variances in batch norm."""


def folded(model: Layered) -> Layered:
    """The same function in evaluation, without batch norm: its running moments go into the weights around it.

    Before the activation it is part of the layer below; after it, of the layer above, and an image's border would be
    treated otherwise: convolutions padded with zeros raise an error there.
    """
    plan = model.architecture
    if plan.norm == "off":
        return model
    later = plan.hidden[1:]
    if plan.norm == "after" and any(isinstance(layer, Conv) and layer.padding for layer in later):
        raise TutelageError(
            "batch norm after the activation cannot be folded into a padded convolution: use norm='before'"
        )
    plain = Architecture(plan.inputs, plan.hidden, plan.outputs, plan.activation, plan.slope, "off", plan.pool)
    result = Layered(plain, model.seeds).to(model.weights[0].device, model.weights[0].dtype)
    with torch.no_grad():
        for target, source in zip((*result.weights, *result.biases), (*model.weights, *model.biases), strict=True):
            target.copy_(source)
        for layer, norm in enumerate(model.norms):
            assert isinstance(norm, StackedNorm)
            scale = norm.scale / (norm.variance + EPSILON).sqrt()
            shift = norm.shift - scale * norm.mean
            if plan.norm == "before":
                _scale_outputs(result, layer, scale)
                result.biases[layer].mul_(scale).add_(shift)
            else:
                _shift_inputs(result, layer + 1, scale, shift)
    return result.eval()


def _scale_outputs(model: Layered, layer: int, scale: Tensor) -> None:
    w = model.weights[layer]
    w.mul_(scale[:, :, None, None, None] if w.ndim == 5 else scale[:, None, :])


def _shift_inputs(model: Layered, layer: int, scale: Tensor, shift: Tensor) -> None:
    """Make a layer see scale f + shift where it is given f."""
    w, b = model.weights[layer], model.biases[layer]
    if w.ndim == 5:
        b.add_(torch.einsum("soikl,si->so", w, shift))
        w.mul_(scale[:, None, :, None, None])
        return
    places = w.shape[1] // scale.shape[1]  # pixels of a channel, where they were not averaged
    scale, shift = (a.repeat_interleave(places, dim=1) for a in (scale, shift))
    b.add_(torch.einsum("sio,si->so", w, shift))
    w.mul_(scale.unsqueeze(2))
