"""Multi-scale dense networks (Huang et al. 2018) with the exits of Phuong 2021, section 6.4.

Every layer keeps feature maps at several scales, finest first. A layer adds to each scale new channels: half from that
scale and half, by a stride of 2, from the next finer one. Exits classify the coarsest scale.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tutelage.errors import TutelageError
from tutelage.exits.multi_exit import MultiExit, initialised
from tutelage.printing import printed


@printed
@dataclass(frozen=True)
class MSDNet:
    """Shape of a multi-scale dense network.

    Channels are halved after a third and after two thirds of the layers; layer l keeps only the scales that the last
    exit can still use.

    Parameters
    ----------
    first
        Channels of layer 0 at each scale.
    growth
        Channels that a layer adds, per scale.
    layers
        Layers after layer 0.
    exits
        Layers with an exit.
    bottleneck
        Width of the 1 x 1 convolutions relative to what they lead to, per scale.
    head
        Channels of the heads' convolutions, None for as many as come in.
    large
        Whether images first pass a 7 x 7 convolution and max pooling, each of stride 2.
    reduction
        Factor on the channels where they are halved.
    """

    first: tuple[int, ...]
    growth: tuple[int, ...]
    layers: int
    exits: tuple[int, ...]
    bottleneck: tuple[int, ...]
    head: int | None
    large: bool = False
    reduction: float = 0.5

    def __post_init__(self) -> None:
        if not len(self.first) == len(self.growth) == len(self.bottleneck) or not self.first:
            raise TutelageError("first, growth and bottleneck must have one entry per scale")
        if not self.exits or list(self.exits) != sorted(set(self.exits)) or self.exits[-1] != self.layers:
            raise TutelageError(
                f"exits must be increasing layer numbers that end with {self.layers}, got {list(self.exits)}"
            )
        if self.exits[0] < 1 or any(g < 2 or g % 2 for g in self.growth):
            raise TutelageError(
                "exits must be at layer 1 or later, and growth must be even: half comes from the finer scale"
            )

    @property
    def scales(self) -> int:
        return len(self.first)

    def kept(self, layer: int) -> range:
        """Scales that a layer gives, 0 the finest."""
        return range(max(0, self.scales - (self.layers - layer + 1)), self.scales)

    def halves(self, layer: int) -> bool:
        """Whether a 1 x 1 transition follows the layer."""
        return layer in {(self.layers + 1) // 3, 2 * (self.layers + 1) // 3} and 0 < layer < self.layers

    def build(self, classes: int, channels: int = 3, seed: int | None = 0) -> MultiExit:
        """The network; images [B, channels, H, W] of 32 x 32, or 224 x 224 where ``large``.

        seed: of the start; None leaves torch's own, which is quicker where weights are loaded next.
        """
        stages: list[nn.Module] = []
        heads: list[nn.Module] = []
        pending: list[nn.Module] = [_First(self, channels)]
        widths = dict(enumerate(self.first))
        for layer in range(1, self.layers + 1):
            pending.append(_Layer(self, layer, widths))
            widths = {s: widths[s] + self.growth[s] for s in self.kept(layer)}
            if self.halves(layer):
                pending.append(_Transition(widths, self.reduction))
                widths = {s: int(w * self.reduction) for s, w in widths.items()}
            if layer in self.exits:
                stages.append(nn.Sequential(*pending))
                heads.append(_Head(widths[self.scales - 1], self.head, classes))
                pending = []
        net = MultiExit(stages, heads)
        return net if seed is None else initialised(net, seed, "msdnet")


CIFAR = MSDNet((6, 12, 24), (6, 12, 24), 24, tuple(range(4, 25, 2)), (4, 4, 4), head=128)
"""3 scales, 24 layers, 11 exits (Phuong 2021, section 6.4); widths of the thesis's own public code."""

IMAGENET = MSDNet(
    (32, 64, 128, 128), (16, 32, 64, 64), 38, (10, 17, 24, 31, 38), (1, 2, 4, 4), head=None, large=True
)  # fmt: skip
"""4 scales, 38 layers, 5 exits (Phuong 2021, section 6.4); the thesis gives no widths, these are Huang et al.'s."""


def _conv(inputs: int, outputs: int, kernel: int = 3, stride: int = 1) -> list[nn.Module]:
    return [
        nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    ]


class _First(nn.Module):
    """Layer 0: images -> maps at every scale, each scale from the finer one."""

    def __init__(self, plan: MSDNet, channels: int) -> None:
        super().__init__()
        finest = (
            [*_conv(channels, plan.first[0], 7, 2), nn.MaxPool2d(3, 2, 1)]
            if plan.large
            else _conv(channels, plan.first[0])
        )
        downs = zip(plan.first, plan.first[1:], strict=False)
        self.parts = nn.ModuleList(nn.Sequential(*p) for p in (finest, *(_conv(a, b, 3, 2) for a, b in downs)))

    def forward(self, x: Tensor) -> list[Tensor]:
        maps = []
        for part in self.parts:
            x = part(x)
            maps.append(x)
        return maps


class _Layer(nn.Module):
    """A dense layer: maps of the scales that are left -> the same scales, or fewer, with channels added."""

    def __init__(self, plan: MSDNet, layer: int, widths: dict[int, int]) -> None:
        super().__init__()
        self.begin = min(widths)
        self.kept = tuple(plan.kept(layer))
        same, down = [], []
        for s in self.kept:
            finer = s - 1 in widths
            half = plan.growth[s] // 2 if finer else plan.growth[s]
            same.append(_bottleneck(widths[s], half, plan.bottleneck[s], 1))
            down.append(_bottleneck(widths[s - 1], half, plan.bottleneck[s], 2) if finer else nn.Identity())
        self.same, self.down = nn.ModuleList(same), nn.ModuleList(down)

    def forward(self, maps: Sequence[Tensor]) -> list[Tensor]:
        given = []
        for s, same, down in zip(self.kept, self.same, self.down, strict=True):
            x = maps[s - self.begin]
            new = [same(x)] if s == self.begin else [same(x), down(maps[s - 1 - self.begin])]
            given.append(torch.cat([x, *new], 1))
        return given


def _bottleneck(inputs: int, outputs: int, factor: int, stride: int) -> nn.Sequential:
    middle = min(inputs, factor * outputs)
    return nn.Sequential(*_conv(inputs, middle, 1), *_conv(middle, outputs, 3, stride))


class _Transition(nn.Module):
    """1 x 1 convolutions to a share of the channels, at every scale."""

    def __init__(self, widths: dict[int, int], share: float) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.Sequential(*_conv(w, int(w * share), 1)) for _, w in sorted(widths.items()))

    def forward(self, maps: Sequence[Tensor]) -> list[Tensor]:
        return [part(x) for part, x in zip(self.parts, maps, strict=True)]


class _Head(nn.Module):
    """Two 3 x 3 convolutions of stride 2 on the coarsest scale, 2 x 2 average pooling, a linear layer."""

    def __init__(self, inputs: int, width: int | None, classes: int) -> None:
        super().__init__()
        width = width or inputs
        self.body = nn.Sequential(
            *_conv(inputs, width, 3, 2),
            *_conv(width, width, 3, 2),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(width, classes),
        )

    def forward(self, maps: Sequence[Tensor]) -> Tensor:
        return self.body(maps[-1])
