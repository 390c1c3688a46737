"""Where the numbers of a multi-scale dense network are: its feature maps, its convolutions, its weights in a row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor, nn

from tutelage.exits.msdnet import _First, _Head, _Layer, _Transition
from tutelage.exits.multi_exit import MultiExit

Kind = Literal["plain", "taps", "columns"]
_BEYOND = 64  # numbers that a block of weights may reach beyond its end
Part = tuple[nn.Conv2d, nn.BatchNorm2d]


@dataclass
class Maps:
    """Feature maps of one size, side x side.

    shared: whether several units read the same channels; last: the last unit that reads some, all of them where they
    are shared.
    """

    side: int
    channels: int = 0
    shared: bool = False
    last: "Unit | None" = None


@dataclass(frozen=True)
class Convolution:
    """A convolution with its batch norm, by torch's names; first: of its outputs among those of its unit."""

    conv: str
    norm: str
    first: int
    outputs: int


@dataclass(frozen=True)
class Unit:
    """Convolutions of the same maps, with their batch norms, which add channels to some maps; one, or two of 1 x 1.

    kind: "plain" for 1 x 1; a 3 x 3 convolution of stride 1 is a product with weights [9 outputs, inputs] whose "taps"
    are then shifted and added; one of stride 2 is a product of weights [outputs, 9 inputs] with shifted "columns".
    begin, inputs: channels of the source that are read; first, outputs: those that are added; weight: place of the
    weights among all numbers, which gamma and beta of the norms follow.
    """

    convolutions: tuple[Convolution, ...]
    kind: Kind
    source: int
    begin: int
    inputs: int
    into: int
    first: int
    outputs: int
    weight: int

    @property
    def end(self) -> int:
        return self.begin + self.inputs

    @property
    def rows(self) -> int:
        return self.outputs * (9 if self.kind == "taps" else 1)

    @property
    def columns(self) -> int:
        return self.inputs * (9 if self.kind == "columns" else 1)

    @property
    def stride(self) -> int:
        """How far two rows of weights lie apart: a multiple of 16, so that reads are wide."""
        return _padded(self.columns)

    @property
    def gamma(self) -> int:
        return self.weight + self.rows * self.stride

    @property
    def size(self) -> int:
        """Numbers of its own, with those that are there for the sake of wide reads."""
        return _padded(self.rows * self.stride + 2 * self.outputs)

    def as_torch(self, numbers: Tensor, convolution: Convolution) -> Tensor:
        """Weights of a convolution among the numbers of a network [P], as torch's [outputs, inputs, k, k]; a view."""
        weights = numbers[self.weight : self.gamma].view(self.rows, self.stride)[:, : self.columns]
        if self.kind == "plain":
            return weights[convolution.first : convolution.first + convolution.outputs].unflatten(1, (-1, 1, 1))
        if self.kind == "taps":
            return weights.unflatten(0, (3, 3, self.outputs)).permute(2, 3, 0, 1)
        return weights.unflatten(1, (3, 3, self.inputs)).permute(0, 3, 1, 2)


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

    def add(self, parts: Sequence[Part], source: int, into: int, channels: slice | None = None) -> None:
        """A unit of convolutions, each with its batch norm; channels: those it reads, by default all so far."""
        read, target = self.maps[source], self.maps[into]
        begin, end, _ = (channels or slice(None)).indices(read.channels)
        convs: list[Convolution] = []
        for conv, norm in parts:
            convs.append(Convolution(self.names[conv], self.names[norm], _outputs(convs), conv.out_channels))
            assert norm.momentum is not None  # or it would not be known
            self.eps, self.momentum = norm.eps, norm.momentum
        first = parts[0][0]
        kind: Kind = "plain" if first.kernel_size == (1, 1) else "taps" if first.stride == (1, 1) else "columns"
        unit = Unit(tuple(convs), kind, source, begin, end - begin, into, target.channels, _outputs(convs), self.size)
        self.units.append(unit)
        target.channels += unit.outputs
        read.shared = read.shared or (read.last is not None and begin < read.last.end)
        read.last = unit
        self.size += unit.size

    def convolutions(self) -> Iterator[tuple[Unit, Convolution]]:
        """All convolutions, each with its unit."""
        return ((unit, convolution) for unit in self.units for convolution in unit.convolutions)

    def linear(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """Weights [S, M, C, F] and biases [S, M, C] of the last layers among all numbers [S, P]; views."""
        heads, begin = len(self.heads), sum(unit.size for unit in self.units)
        end = begin + heads * self.classes * self.features
        weights = numbers[:, begin:end].view(-1, heads, self.classes, self.features)
        return weights, numbers[:, end : end + heads * self.classes].view(-1, heads, self.classes)

    def parameters(self, numbers: Tensor, member: int) -> dict[str, Tensor]:
        """Parameters of one network by torch's names, as views of all numbers [S, P]."""
        row, out = numbers[member], {}
        for unit, convolution in self.convolutions():
            out[f"{convolution.conv}.weight"] = unit.as_torch(row, convolution)
            norms = row[unit.gamma : unit.gamma + 2 * unit.outputs].view(2, unit.outputs)
            for name, part in zip(("weight", "bias"), norms, strict=True):
                out[f"{convolution.norm}.{name}"] = part[convolution.first : convolution.first + convolution.outputs]
        weights, biases = self.linear(numbers)
        for m, name in enumerate(self.heads):
            out[f"{name}.weight"], out[f"{name}.bias"] = weights[member, m], biases[member, m]
        return out


def _padded(size: int) -> int:
    return -(-size // 16) * 16


def _outputs(convolutions: Sequence[Convolution]) -> int:
    return sum(convolution.outputs for convolution in convolutions)


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
    assert all(maps.last is None or maps.last.end == maps.channels for maps in out.maps)
    out.size += _padded(len(out.heads) * (out.features + 1) * out.classes + _BEYOND)
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
    # The coarsest maps are then 8 x 8, and 2 x 2 at the end of the heads.
    return shape[1] == 8 * 2 ** (len(first.parts) - 1)


_SHAPES = {((1, 1), (1, 1)), ((3, 3), (1, 1)), ((3, 3), (2, 2))}


def _part(body: nn.Sequential) -> Part:
    conv, norm = body[0], body[1]
    assert isinstance(conv, nn.Conv2d)
    assert isinstance(norm, nn.BatchNorm2d)
    return conv, norm


def _follow_first(out: Layout, part: Any, now: dict[int, int]) -> dict[int, int]:
    below, side = 0, out.maps[0].side
    for scale, body in enumerate(part.parts):
        side //= body[0].stride[0]
        now = now | {scale: out.fresh(side)}
        out.add([_part(body)], below, now[scale])
        below = now[scale]
    return now


def _follow_layer(out: Layout, part: Any, now: dict[int, int]) -> dict[int, int]:
    """The 1 x 1 convolutions of one scale's maps, to the same scale and to the next, are one unit."""
    ways = [("same", scale, scale, body) for scale, body in zip(part.kept, part.same, strict=True)]
    ways += [("down", scale - 1, scale, body) for scale, body in zip(part.kept, part.down, strict=True)]
    ways = [way for way in ways if not isinstance(way[3], nn.Identity)]
    middles = {}
    for source in sorted({way[1] for way in ways}):
        number = out.fresh(out.maps[now[source]].side)
        outgoing = [way for way in ways if way[1] == source]
        out.add([_part(body) for *_, body in outgoing], now[source], number)
        for way, convolution in zip(outgoing, out.units[-1].convolutions, strict=True):
            middles[way[:3]] = number, slice(convolution.first, convolution.first + convolution.outputs)
    for kind, source, scale, body in sorted(ways, key=lambda way: (way[2], way[0] == "down")):
        number, channels = middles[kind, source, scale]
        out.add([_part(body[3:])], number, now[scale], channels)
    return {scale: now[scale] for scale in part.kept}


def _follow_transition(out: Layout, part: Any, now: dict[int, int]) -> dict[int, int]:
    new = {}
    for scale, body in zip(sorted(now), part.parts, strict=True):
        new[scale] = out.fresh(out.maps[now[scale]].side)
        out.add([_part(body)], now[scale], new[scale])
    return new


def _follow_head(out: Layout, head: Any, coarsest: int) -> None:
    body, side = head.body, out.maps[coarsest].side
    out.top = out.top or out.fresh(side // 4)
    middle = out.fresh(side // 2)
    out.add([_part(body)], coarsest, middle)
    out.add([_part(body[3:])], middle, out.top)
    out.heads.append(out.names[body[-1]])
    out.features, out.classes = body[-1].in_features, body[-1].out_features


_FOLLOW = {_First: _follow_first, _Layer: _follow_layer, _Transition: _follow_transition}
