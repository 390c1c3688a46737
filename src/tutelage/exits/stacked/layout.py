"""Where the numbers of a multi-scale dense network are: its feature maps, its convolutions, its weights in a row."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor, nn

from tutelage.exits.msdnet import _First, _Head, _Layer, _Transition
from tutelage.exits.multi_exit import MultiExit

Kind = Literal["plain", "taps", "columns"]


@dataclass
class Maps:
    """Feature maps of one size, side x side; readers: convolutions that read them."""

    side: int
    channels: int = 0
    readers: int = 0


@dataclass(frozen=True)
class Unit:
    """A convolution with its batch norm, which adds channels to some maps.

    kind: "plain" for 1 x 1; a 3 x 3 convolution of stride 1 is a product with weights [9 outputs, inputs] whose "taps"
    are then shifted and added; one of stride 2 is a product of weights [outputs, 9 inputs] with shifted "columns".
    weight: place of the weights among all numbers; gamma and beta of the norm follow them.
    """

    conv: str
    norm: str
    kind: Kind
    source: int
    inputs: int
    into: int
    first: int
    outputs: int
    weight: int

    @property
    def rows(self) -> int:
        return self.outputs * (9 if self.kind == "taps" else 1)

    @property
    def columns(self) -> int:
        return self.inputs * (9 if self.kind == "columns" else 1)

    @property
    def gamma(self) -> int:
        return self.weight + self.rows * self.columns

    @property
    def size(self) -> int:
        """Numbers of its own."""
        return self.rows * self.columns + 2 * self.outputs

    def as_torch(self, numbers: Tensor) -> Tensor:
        """Its weights among the numbers of a network [P], as torch's [outputs, inputs, k, k]; a view."""
        own = numbers[self.weight : self.gamma]
        if self.kind == "plain":
            return own.view(self.outputs, self.inputs, 1, 1)
        if self.kind == "taps":
            return own.view(3, 3, self.outputs, self.inputs).permute(2, 3, 0, 1)
        return own.view(self.outputs, 3, 3, self.inputs).permute(0, 3, 1, 2)


@dataclass
class Layout:
    """A network: its maps, image first; its units in order; what ends it.

    heads: names of the linear layers, which read ``features`` channels each of the maps ``top``; size: numbers in all.
    """

    maps: list[Maps]
    names: dict[nn.Module, str]
    units: list[Unit] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    top: int = 0
    features: int = 0
    classes: int = 0
    size: int = 0
    eps: float = 0.0
    momentum: float = 0.0

    def fresh(self, side: int) -> int:
        """New maps; their number."""
        self.maps.append(Maps(side))
        return len(self.maps) - 1

    def add(self, part: Sequence[nn.Module] | nn.Sequential, source: int, into: int) -> None:
        """A convolution and its batch norm, from all channels of some maps that there are so far."""
        self.append(part, source, self.maps[source].channels, into)

    def append(self, part: Sequence[nn.Module] | nn.Sequential, source: int, inputs: int, into: int) -> None:
        """The same from the first ``inputs`` channels."""
        conv, norm = part[0], part[1]
        assert isinstance(conv, nn.Conv2d)
        assert isinstance(norm, nn.BatchNorm2d)
        kind: Kind = "plain" if conv.kernel_size == (1, 1) else "taps" if conv.stride == (1, 1) else "columns"
        target = self.maps[into]
        unit = Unit(
            self.names[conv], self.names[norm], kind, source, inputs, into, target.channels, conv.out_channels,
            self.size,
        )  # fmt: skip
        self.units.append(unit)
        target.channels += unit.outputs
        self.maps[source].readers += 1
        self.size += -(-unit.size // 16) * 16  # rows of weights begin at multiples of 16, so that reads are wide
        assert norm.momentum is not None  # or it would not be known
        self.eps, self.momentum = norm.eps, norm.momentum

    def linear(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """Weights [S, M, C, F] and biases [S, M, C] of the last layers among all numbers [S, P]; views."""
        heads, begin = len(self.heads), sum(-(-unit.size // 16) * 16 for unit in self.units)
        end = begin + heads * self.classes * self.features
        weights = numbers[:, begin:end].view(-1, heads, self.classes, self.features)
        return weights, numbers[:, end : end + heads * self.classes].view(-1, heads, self.classes)

    def parameters(self, numbers: Tensor, member: int) -> dict[str, Tensor]:
        """Parameters of one network by torch's names, as views of all numbers [S, P]."""
        own, out = numbers[member], {}
        for unit in self.units:
            out[f"{unit.conv}.weight"] = unit.as_torch(own)
            out[f"{unit.norm}.weight"] = own[unit.gamma : unit.gamma + unit.outputs]
            out[f"{unit.norm}.bias"] = own[unit.gamma + unit.outputs : unit.gamma + 2 * unit.outputs]
        weights, biases = self.linear(numbers)
        for m, name in enumerate(self.heads):
            out[f"{name}.weight"], out[f"{name}.bias"] = weights[member, m], biases[member, m]
        return out


def layout(model: MultiExit, shape: Sequence[int]) -> Layout | None:
    """The layout of a network for images [channels, side, side]; None where it is no MSDNet that can be stacked."""
    if not _known(model, shape):
        return None
    out = Layout([Maps(shape[1], shape[0])], {part: name for name, part in model.named_modules()})
    now: dict[int, int] = {}
    for stage, head in zip(model.stages, model.heads, strict=True):
        for part in stage:  # type: ignore[attr-defined]
            now = _FOLLOW[type(part)](out, part, now)
        _follow_head(out, head, now[max(now)])
    out.size += -(-len(out.heads) * (out.features + 1) * out.classes // 16) * 16
    return out


def _known(model: MultiExit, shape: Sequence[int]) -> bool:
    """Square images, the parts of an MSDNet, convolutions of 1 x 1 and 3 x 3, equal settings of all batch norms, and
    heads that end with 2 x 2 pixels.
    """
    parts = [part for stage in model.stages for part in (stage if isinstance(stage, nn.Sequential) else [stage])]
    if not all(type(part) in _FOLLOW for part in parts) or not all(isinstance(head, _Head) for head in model.heads):
        return False
    convolutions = [part for part in model.modules() if isinstance(part, nn.Conv2d)]
    pools = [part for part in model.modules() if isinstance(part, nn.MaxPool2d)]
    plain = all((c.kernel_size, c.stride) in _SHAPES and c.bias is None for c in convolutions)
    norms = {(n.eps, n.momentum, n.affine) for n in model.modules() if isinstance(n, nn.BatchNorm2d)}
    if len(norms) != 1 or None in next(iter(norms)):  # without a momentum torch averages over all batches instead
        return False
    first = parts[0]
    if not plain or pools or not isinstance(first, _First) or len(shape) != 3 or shape[1] != shape[2]:
        return False
    return shape[1] == 8 * 2 ** (len(first.parts) - 1)


_SHAPES = {((1, 1), (1, 1)), ((3, 3), (1, 1)), ((3, 3), (2, 2))}


def _follow_first(out: Layout, part: Any, now: dict[int, int]) -> dict[int, int]:
    below, side = 0, out.maps[0].side
    for scale, own in enumerate(part.parts):
        side //= own[0].stride[0]
        now = now | {scale: out.fresh(side)}
        out.add(own, below, now[scale])
        below = now[scale]
    return now


def _follow_layer(out: Layout, part: Any, now: dict[int, int]) -> dict[int, int]:
    widths = {scale: out.maps[number].channels for scale, number in now.items()}
    for scale, same, down in zip(part.kept, part.same, part.down, strict=True):
        for bottleneck, source in ((same, scale), (down, scale - 1)):
            if isinstance(bottleneck, nn.Identity):
                continue
            middle = out.fresh(out.maps[now[source]].side)
            out.append(bottleneck[:2], now[source], widths[source], middle)
            out.add(bottleneck[3:5], middle, now[scale])
    return {scale: now[scale] for scale in part.kept}


def _follow_transition(out: Layout, part: Any, now: dict[int, int]) -> dict[int, int]:
    new = {}
    for scale, own in zip(sorted(now), part.parts, strict=True):
        new[scale] = out.fresh(out.maps[now[scale]].side)
        out.add(own, now[scale], new[scale])
    return new


def _follow_head(out: Layout, head: Any, coarsest: int) -> None:
    body, side = head.body, out.maps[coarsest].side
    out.top = out.top or out.fresh(side // 4)
    middle = out.fresh(side // 2)
    out.add(body[:2], coarsest, middle)
    out.add(body[3:5], middle, out.top)
    out.heads.append(out.names[body[-1]])
    out.features, out.classes = body[-1].in_features, body[-1].out_features


_FOLLOW = {_First: _follow_first, _Layer: _follow_layer, _Transition: _follow_transition}
