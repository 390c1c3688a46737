"""ONNX files as traced modules that have the same channels, for :mod:`tutelage.functions.pruning._silent_channels`.

Only what channels depend on is carried over: which layers take and make them, and the weights. Strides, kernels and
paddings are not, so that the modules show the channels of a file and cannot be run. An operator that is not followed
is :func:`kept`: no channel that it takes or makes goes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx, nn

from tutelage.errors import TutelageError
from tutelage.functions.matching._channel_groups import kept
from tutelage.networks.onnx_model import attributes, called

_AT_ZERO = (
    "Abs", "Celu", "Elu", "Erf", "Gelu", "HardSwish", "Mish", "Neg", "Selu", "Sign", "Softsign", "Swish", "Tanh",
)  # fmt: skip
_ELSEWHERE = ("Exp", "HardSigmoid", "Log", "Reciprocal", "Round", "Sigmoid", "Softplus", "Sqrt")
_POOLS = ("AveragePool", "GlobalAveragePool", "GlobalMaxPool", "MaxPool")
_TOGETHER = ("Div", "Max", "Min", "Mul", "PRelu", "Pow", "Sub")


@dataclass(frozen=True)
class Place:
    """Where a parameter of the module stands in the file: which input of which node, and which axis each axis is."""

    node: int
    input: int
    axes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ChannelGraph:
    """The module that stands for a file.

    Parameters
    ----------
    module
        To be asked for its channels, not to be run.
    places
        By the name of a parameter: where it stands in the file.
    names
        By the name of a layer: the node that it stands for, in words of the file.
    flattened
        The nodes that flatten all axes of a sample into one.
    """

    module: fx.GraphModule
    places: dict[str, Place]
    names: dict[str, str]
    flattened: list[int]


def channel_graph(graph: Any, arrays: dict[str, np.ndarray], shapes: dict[str, list[int | None]]) -> ChannelGraph:
    """Read a graph.

    Parameters
    ----------
    graph
        Of an ONNX model.
    arrays
        Its constants by name.
    shapes
        Of its values by name, None for sizes that are not known; a value whose rank is not known is left out.
    """
    return _ChannelReader(graph, arrays, shapes).read()


class _ChannelReader:
    """Builds the module node by node."""

    def __init__(self, graph: Any, arrays: dict[str, np.ndarray], shapes: dict[str, list[int | None]]) -> None:
        self.file, self.arrays, self.shapes = graph, arrays, shapes
        self.graph, self.root = fx.Graph(), nn.Module()
        self.values: dict[str, fx.Node] = {}  # what depends on the input, but for its number of samples
        self.flat: set[fx.Node] = set()  # values of which several entries may belong to one channel
        self.places: dict[str, Place] = {}
        self.names: dict[str, str] = {}
        self.flattened: list[int] = []
        self.at = 0

    def read(self) -> ChannelGraph:
        for value in self.file.input:
            if value.name not in self.arrays:
                self.values[value.name] = self.graph.placeholder(f"input{len(self.values)}")
        for at, node in enumerate(self.file.node):
            self.at = at
            self._follow(node)
        self.graph.output(tuple(self.values[o.name] for o in self.file.output if o.name in self.values))
        return ChannelGraph(fx.GraphModule(self.root, self.graph), self.places, self.names, self.flattened)

    def _follow(self, node: Any) -> None:
        _check(node)
        moving = [self.values[name] for name in node.input if name in self.values]
        if not moving or (node.op_type == "Shape" and self._counts_samples(node.output[0])):
            return
        outputs = [name for name in node.output if name]
        follow = _FOLLOWED.get(node.op_type) if node.domain in ("", "ai.onnx") and len(outputs) == 1 else None
        value = (follow(self, node) if follow else None) or self.graph.call_function(kept, tuple(moving))
        if value.target is not kept and moving[0] in self.flat and not isinstance(self.layer(value), nn.Linear):
            self.flat.add(value)
        self.values |= dict.fromkeys(outputs, value)

    def _counts_samples(self, shape: str) -> bool:
        """Whether of the sizes of a value only the number of samples is used, which channels have no part in."""
        users = [node for node in self.file.node if shape in node.input]
        first = [self.arrays.get(n.input[1], np.ones(1)) for n in users if n.op_type == "Gather"]
        ends = {value.name for value in self.file.output}
        return len(first) == len(users) and not any(index.any() for index in first) and shape not in ends

    def layer(self, value: fx.Node) -> nn.Module | None:
        return self.root.get_submodule(str(value.target)) if value.op == "call_module" else None

    def call(self, layer: nn.Module, node: Any, *given: fx.Node, **places: Place) -> fx.Node:
        """A layer of the module, applied to values; places of its parameters in the file."""
        name = f"n{len(self.names)}"
        self.root.add_module(name, layer)
        known = node.name and node.name not in self.names.values()
        self.names[name] = node.name if known else node.output[0]
        self.places |= {f"{name}.{parameter}": place for parameter, place in places.items()}
        return self.graph.call_module(name, given)

    def place(self, number: int, *axes: int) -> Place:
        return Place(self.at, number, axes)

    def constant(self, node: Any, number: int) -> Tensor | None:
        """A constant input that is an array of finite real numbers; None for anything else."""
        array = self.arrays.get(node.input[number]) if len(node.input) > number else None
        if array is None or (array.dtype.kind == "f" and not np.isfinite(array).all()):
            return None
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.astype(np.float32)).bfloat16()
        return torch.from_numpy(np.array(array)) if array.dtype.kind == "f" else None

    def rank(self, name: str) -> int:
        """Number of axes of a value, that of the samples included; 0 where it is not known."""
        return len(self.shapes.get(name, ()))


def _check(node: Any) -> None:
    if any(a.HasField("g") or a.graphs for a in node.attribute):
        raise TutelageError(
            f"{called(node)} chooses between graphs: channels can be followed through models without If, Loop and Scan"
        )


def _convolution(r: _ChannelReader, node: Any) -> fx.Node | None:
    weight, bias = r.constant(node, 1), r.constant(node, 2)
    below, has_bias = r.values.get(node.input[0]), len(node.input) > 2 and bool(node.input[2])
    if below is None or weight is None or weight.ndim < 3 or (has_bias and (bias is None or bias.ndim != 1)):
        return None
    groups = attributes(node).get("group", 1)
    if groups > 1 and not (groups == len(weight) and weight.shape[1] == 1):
        return None  # groups of several channels would have to stay of one size
    layer = nn.Conv2d(groups, groups, 1, groups=groups, device="meta")  # its sizes are those of its weights
    return _weighted(r, node, layer, below, weight, bias)


def _weighted(r: _ChannelReader, node: Any, layer: Any, below: fx.Node, weight: Tensor, bias: Tensor | None) -> fx.Node:
    layer.weight = nn.Parameter(weight, requires_grad=False)
    layer.bias = None if bias is None else nn.Parameter(bias, requires_grad=False)
    if isinstance(layer, nn.Conv2d) and layer.groups == 1:
        layer.in_channels, layer.out_channels = weight.shape[1], len(weight)
    places = {"weight": r.place(1, 0, 1)} | ({} if bias is None else {"bias": r.place(2, 0)})
    return r.call(layer, node, below, **places)


def _gemm(r: _ChannelReader, node: Any) -> fx.Node | None:
    how, weight, bias = attributes(node), r.constant(node, 1), r.constant(node, 2)
    below, has_bias = r.values.get(node.input[0]), len(node.input) > 2 and bool(node.input[2])
    plain = not how.get("transA", 0) and how.get("alpha", 1.0) == 1 and how.get("beta", 1.0) == 1
    if below is None or weight is None or weight.ndim != 2 or not plain:
        return None
    turned = bool(how.get("transB", 0))
    weight = weight if turned else weight.mT
    if has_bias and (bias is None or bias.shape != weight.shape[:1]):
        return None
    value = _weighted(r, node, nn.Linear(1, 1, device="meta"), below, weight, bias)
    if not turned:
        r.places[f"{value.target}.weight"] = r.place(1, 1, 0)
    return value


def _matrix(r: _ChannelReader, node: Any) -> fx.Node | None:
    below, weight = r.values.get(node.input[0]), r.constant(node, 1)
    if below is None or weight is None or weight.ndim != 2 or r.rank(node.input[0]) != 2:
        return None
    value = _weighted(r, node, nn.Linear(1, 1, device="meta"), below, weight.mT, None)
    r.places[f"{value.target}.weight"] = r.place(1, 1, 0)
    return value


def _norm(r: _ChannelReader, node: Any) -> fx.Node | None:
    how, below = attributes(node), r.values.get(node.input[0])
    given = [r.constant(node, place) for place in range(1, 5)]
    arrays = [a for a in given if a is not None and a.ndim == 1]
    if below is None or len(arrays) < 4 or how.get("training_mode", 0) or not how.get("spatial", 1):
        return None
    names = ("weight", "bias", "running_mean", "running_var")
    layer = _batch_norm(dict(zip(names, arrays, strict=True)), how.get("epsilon", 1e-5))
    return r.call(layer, node, below, **{name: r.place(number, 0) for number, name in enumerate(names, start=1)})


def _batch_norm(arrays: dict[str, Tensor], eps: float) -> nn.BatchNorm2d:
    like = next(iter(arrays.values()))
    layer = nn.BatchNorm2d(len(like), eps=eps, dtype=like.dtype)
    with torch.no_grad():
        for name, array in arrays.items():
            getattr(layer, name).copy_(array)
    return layer.requires_grad_(False)


def _two(r: _ChannelReader, node: Any) -> fx.Node | None:
    """An operator of two values that have the same channels, or of a value and a constant per channel."""
    if len(node.input) != 2:
        return None
    first, second = (r.values.get(name) for name in node.input)
    if first is None or second is None:
        return _with_constant(r, node)
    shapes = [r.shapes.get(name, []) for name in node.input]
    if {first, second} & r.flat or min(map(len, shapes)) < 2 or len(shapes[0]) != len(shapes[1]):
        return None
    if shapes[0][1] is None or shapes[0][1] != shapes[1][1]:
        return None
    value = r.graph.call_function(torch.add, (first, second))
    # Anything but a sum has the channels of a sum, and constants that are not known.
    return value if node.op_type == "Add" else r.call(nn.Sigmoid(), node, value)


def _with_constant(r: _ChannelReader, node: Any) -> fx.Node | None:
    """A constant per channel beside a value: a batch norm that only adds or multiplies, or one that says nothing."""
    number = 1 if node.input[0] in r.values else 0
    name, constant = node.input[1 - number], r.constant(node, number)
    shape, rank = r.shapes.get(name, []), r.rank(name)
    if constant is None or rank < 2 or constant.ndim > rank:
        return None
    below = r.values[name]
    full = (1,) * (rank - constant.ndim) + tuple(constant.shape)
    if prod(full) == 1:
        keeps = node.op_type == "Mul" or (node.op_type in ("Div", "PRelu") and number == 1)
        return r.call(nn.Tanh() if keeps and bool(constant) else nn.Sigmoid(), node, below)
    if full[1] == 1 or prod(full) != full[1] or full[1] != shape[1]:
        return None  # it differs from place to place, or makes several channels of one
    array, place = constant.flatten(), r.place(number, 1 - rank + constant.ndim)
    ones, none = torch.ones_like(array), torch.zeros_like(array)
    plain = {"weight": ones, "bias": none, "running_mean": none, "running_var": ones}
    means = {"Add": "bias", "Mul": "weight", "Sub": "running_mean"}.get(node.op_type) if number else None
    means = {"Add": "bias", "Mul": "weight"}.get(node.op_type, means)
    parameter = means or "running_mean"
    value = r.call(_batch_norm(plain | {parameter: array}, 0.0), node, below, **{parameter: place})
    return value if means else r.call(nn.Sigmoid(), node, value)


def _same_channels(layer: Callable[[], nn.Module]) -> Callable[[_ChannelReader, Any], fx.Node | None]:
    """An operator on each entry of its first input, whose other inputs are single constants or not there."""

    def follow(r: _ChannelReader, node: Any) -> fx.Node | None:
        rest = [r.arrays.get(name) for name in node.input[1:] if name]
        below = r.values.get(node.input[0])
        return None if below is None or any(a is None or a.size != 1 for a in rest) else r.call(layer(), node, below)

    return follow


def _clip(r: _ChannelReader, node: Any) -> fx.Node | None:
    how, (low, high) = attributes(node), (r.constant(node, place) for place in (1, 2))
    ends = [low if low is not None else how.get("min", -np.inf), high if high is not None else how.get("max", np.inf)]
    if any(torch.as_tensor(end).numel() != 1 for end in ends) or any(name in r.values for name in node.input[1:]):
        return None
    below, high_end = float(ends[0]), float(ends[1])
    layer = nn.Sigmoid() if not below <= 0 <= high_end else nn.ReLU6() if below == 0 else nn.Tanh()
    return r.call(layer, node, r.values[node.input[0]])


def _flatten(r: _ChannelReader, node: Any) -> fx.Node | None:
    """Any operator that makes one axis of all those of a sample, in their order."""
    below, shape, made = r.values.get(node.input[0]), r.shapes.get(node.input[0], []), r.shapes.get(node.output[0], [])
    if below is None or len(shape) < 2:
        return None
    size = None if None in shape[1:] else prod(n for n in shape[1:] if n is not None)
    if node.op_type == "Flatten":
        flat = attributes(node).get("axis", 1) == 1
    else:
        flat = (size is not None and len(made) == 2 and made[1] == size) or _samples_and_rest(r, node)
    if not flat:
        return None
    r.flattened.append(r.at)
    value = r.call(nn.Flatten(), node, below)
    if size is None or size != shape[1]:
        r.flat.add(value)
    return value


def _samples_and_rest(r: _ChannelReader, node: Any) -> bool:
    """Whether the new shape is the number of samples and -1, as ``x.view(x.size(0), -1)`` is exported."""
    if node.op_type != "Reshape" or attributes(node).get("allowzero", 0):
        return False
    shape = r.arrays.get(node.input[1])
    if shape is not None:
        return shape.tolist() == [0, -1]
    makers = {name: maker for maker in r.file.node for name in maker.output}
    parts = makers.get(node.input[1])
    if parts is None or parts.op_type != "Concat" or len(parts.input) != 2:
        return False
    rest, count = r.arrays.get(parts.input[1]), makers.get(parts.input[0])
    while count is not None and count.op_type in ("Cast", "Unsqueeze"):
        count = makers.get(count.input[0])
    if rest is None or rest.tolist() != [-1] or count is None or count.op_type != "Gather":
        return False
    sizes, index = makers.get(count.input[0]), r.arrays.get(count.input[1])
    if sizes is None or sizes.op_type != "Shape" or sizes.attribute or index is None or index.any():
        return False
    # Samples come first in all values that are followed.
    return sizes.input[0] in r.values and r.values[sizes.input[0]].target is not kept


def _mean(r: _ChannelReader, node: Any) -> fx.Node | None:
    below, rank, axes = r.values.get(node.input[0]), r.rank(node.input[0]), attributes(node).get("axes")
    if len(node.input) > 1 and node.input[1]:
        given = r.arrays.get(node.input[1])
        axes = None if given is None else given.tolist()
    if below is None or rank < 3 or not axes or any(a % rank < 2 for a in axes):
        return None
    return r.call(nn.AdaptiveAvgPool2d(1), node, below)


def _padding(r: _ChannelReader, node: Any) -> fx.Node | None:
    how, rank = attributes(node), r.rank(node.input[0])
    pads = r.arrays.get(node.input[1]) if len(node.input) > 1 else np.array(how.get("pads", ()))
    value = r.arrays.get(node.input[2]) if len(node.input) > 2 and node.input[2] else np.array(how.get("value", 0.0))
    below = r.values.get(node.input[0])
    if below is None or pads is None or value is None or len(node.input) > 3 or pads.size != 2 * rank or rank < 3:
        return None
    if pads.reshape(2, rank)[:, :2].any():
        return None
    return r.call(nn.Sigmoid() if value.any() else nn.MaxPool2d(1), node, below)


def _dropout(r: _ChannelReader, node: Any) -> fx.Node | None:
    below = r.values.get(node.input[0])
    return None if below is None or len(node.input) > 2 else r.call(nn.Identity(), node, below)


def _relu(r: _ChannelReader, node: Any) -> fx.Node | None:
    return r.call(nn.ReLU(), node, r.values[node.input[0]])


_FOLLOWED: dict[str, Callable[[_ChannelReader, Any], fx.Node | None]] = {
    "Conv": _convolution, "Gemm": _gemm, "MatMul": _matrix, "BatchNormalization": _norm, "Relu": _relu, "Clip": _clip,
    "Flatten": _flatten, "Reshape": _flatten, "Squeeze": _flatten, "ReduceMean": _mean, "Pad": _padding, "Add": _two,
    "Identity": _same_channels(nn.Identity), "Dropout": _dropout, "LeakyRelu": _same_channels(nn.LeakyReLU),
    **dict.fromkeys(_AT_ZERO, _same_channels(nn.Tanh)), **dict.fromkeys(_ELSEWHERE, _same_channels(nn.Sigmoid)),
    **dict.fromkeys(_POOLS, _same_channels(lambda: nn.MaxPool2d(1))), **dict.fromkeys(_TOGETHER, _two),
}  # fmt: skip
