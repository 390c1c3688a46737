"""Which axes of a module's parameters belong to the same channels, read from its traced graph."""

import operator
from dataclasses import dataclass

import torch
from torch import fx, nn
from torch.nn import functional

from tutelage.errors import TutelageError

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_EACH = (
    nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.Hardtanh, nn.ELU,
    nn.Identity, nn.Dropout, nn.Dropout2d, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d,
    nn.Flatten,
)  # fmt: skip
_EACH_FUNCTIONS = (
    torch.relu, functional.relu, functional.relu6, functional.leaky_relu, functional.gelu, functional.silu, torch.tanh,
    torch.sigmoid, functional.dropout, functional.max_pool2d, functional.avg_pool2d, functional.adaptive_avg_pool2d,
    torch.max_pool2d, functional.adaptive_max_pool2d,
    torch.flatten,
)  # fmt: skip
_EACH_METHODS = ("relu", "relu_", "tanh", "sigmoid", "flatten", "view", "reshape", "contiguous")
_PLACES = {2, 3, -1, -2}  # axes of an image besides samples and channels
_ADDED = (operator.add, operator.iadd, torch.add)
_BENT = (nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.Softplus, nn.ELU)


@dataclass(frozen=True, eq=False)
class ChannelGroup:
    """Channels that move together.

    name: the layer that they start at; size: their number; axes: (parameter or buffer, axis), where the axis has a
    whole number of entries per channel; nodes: where they can be seen, those after an activation if there are any.
    """

    name: str
    size: int
    axes: tuple[tuple[str, int], ...]
    nodes: tuple[str, ...]


def kept(*values: torch.Tensor) -> torch.Tensor:
    """Stand in a graph for an operator that is not followed: the channels that it takes and makes stay as they are."""
    raise NotImplementedError


class _Channels:
    """One set of channels on its way through the graph; sets that are added to one another become one."""

    def __init__(self, name: str, size: int, number: int) -> None:
        self.name, self.size, self.number = name, size, number
        self.into: _Channels | None = None
        self.axes: list[tuple[str, int]] = []
        self.nodes: list[tuple[str, bool]] = []
        self.fixed = False

    def root(self) -> "_Channels":
        return self if self.into is None else self.into.root()

    def join(self, other: "_Channels", node: fx.Node) -> None:
        kept, added = sorted((self.root(), other.root()), key=lambda c: c.number)
        if kept is added:
            return
        if kept.size != added.size:
            raise TutelageError(
                f"'{node.name}' adds {kept.size} channels to {added.size}, and only equal numbers can be matched"
            )
        added.into = kept
        kept.axes += added.axes
        kept.nodes += added.nodes
        kept.fixed |= added.fixed


def channel_groups(module: nn.Module) -> list[ChannelGroup]:
    """Groups of channels of a module that may be put into another order without changing its function.

    >>> block = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    >>> [(g.name, g.size, g.axes) for g in channel_groups(block)]
    [('0', 5, (('0.weight', 0), ('0.bias', 0), ('2.weight', 1)))]
    """
    try:
        graph = module.graph if isinstance(module, fx.GraphModule) else fx.symbolic_trace(module).graph
    except Exception as error:
        raise TutelageError(
            f"the module cannot be traced ({str(error).splitlines()[0][:200]}): give one whose forward has no branches "
            "that depend on data"
        ) from None
    modules = dict(module.named_modules())
    made: dict[fx.Node, _Channels | None] = {}
    every: list[_Channels] = []
    for node in graph.nodes:
        made[node] = _step(node, modules, made, every)
    groups = [c for c in every if c.into is None and not c.fixed]
    axes = [axis for c in groups for axis in c.axes]
    if twice := next((name for name, axis in axes if axes.count((name, axis)) > 1), None):
        raise TutelageError(f"'{twice}' is used at two places: layers that are shared cannot be matched")
    return [ChannelGroup(c.name, c.size, tuple(c.axes), _visible(c)) for c in groups]


def _visible(channels: _Channels) -> tuple[str, ...]:
    bent = tuple(name for name, after in channels.nodes if after)
    return bent or tuple(name for name, _ in channels.nodes)


def _step(node: fx.Node, modules: dict[str, nn.Module], made: dict, every: list[_Channels]) -> _Channels | None:
    """The channels that a node hands on; None for the input, whose order is given."""
    below = [made[a] for a in node.args if isinstance(a, fx.Node)]
    if node.op == "placeholder":
        return None
    if node.op == "output" or node.target is kept:
        for channels in (made[a] for a in node.all_input_nodes):
            if channels is not None:
                channels.root().fixed = True
        return None
    if node.op == "call_module":
        return _layer(node, modules[str(node.target)], below[0], every)
    if _is_size(node):
        return None
    if node.target in _ADDED and len(below) == 2:
        first, second = below
        if first is None or second is None:
            for channels in (first, second):
                if channels is not None:
                    channels.root().fixed = True
            return None
        # A sum adds channel k of one to channel k of the other: both must be in one order from here on, and so must all
        # that either was joined with before.
        first.join(second, node)
        return _noted(first, node, bent=False)
    if node.target in (torch.mean, "mean") and set(_dims(node)) <= _PLACES and _dims(node):
        return below[0]
    if node.target in _EACH_FUNCTIONS or (node.op == "call_method" and node.target in _EACH_METHODS):
        return _noted(below[0], node, bent=node.target in (torch.relu, functional.relu, "relu", "relu_"))
    raise TutelageError(
        f"'{node.name}' ({_called(node)}) is not understood by the matching of channels: it follows convolutions, "
        "linear layers, batch norms, pools, elementwise functions, flattening and sums"
    )


def _is_size(node: fx.Node) -> bool:
    """Whether a node is a size of a tensor or made of one, as ``x.view(x.size(0), -1)`` has it."""
    if node.op == "call_method":
        return node.target == "size"
    if node.target is getattr:
        return node.args[1] == "shape"
    return node.target is operator.getitem and isinstance(node.args[0], fx.Node) and _is_size(node.args[0])


def _dims(node: fx.Node) -> tuple[int, ...]:
    """The axes that a mean is taken over; none if they are not given as numbers."""
    given = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else ())
    return (given,) if isinstance(given, int) else tuple(d for d in given if isinstance(d, int))  # type: ignore[union-attr]


def _called(node: fx.Node) -> str:
    return getattr(node.target, "__name__", str(node.target))


def _noted(channels: _Channels | None, node: fx.Node, bent: bool) -> _Channels | None:
    """The same channels, seen once more; not where they were flattened together with places."""
    if channels is not None and _called(node) not in ("flatten", "view", "reshape"):
        channels.root().nodes.append((node.name, bent))
    return channels


def _layer(node: fx.Node, layer: nn.Module, below: _Channels | None, every: list[_Channels]) -> _Channels | None:
    name = str(node.target)
    if isinstance(layer, nn.Conv2d | nn.Conv1d | nn.Linear):
        return _weights(node, layer, below, every)
    if isinstance(layer, _NORMS):
        if below is not None:
            arrays = [n for n in ("weight", "bias", "running_mean", "running_var") if getattr(layer, n) is not None]
            below.root().axes += [(f"{name}.{n}", 0) for n in arrays]
        return _noted(below, node, bent=False)
    if isinstance(layer, _EACH):
        flat = isinstance(layer, nn.Flatten)
        return below if flat else _noted(below, node, bent=isinstance(layer, _BENT))
    raise TutelageError(
        f"layer '{name}' is a {type(layer).__name__}, which is not understood by the matching of channels: it follows "
        "convolutions, linear layers, batch norms, pools, elementwise functions, flattening and sums"
    )


def _weights(node: fx.Node, layer: nn.Module, below: _Channels | None, every: list[_Channels]) -> _Channels | None:
    name, w = str(node.target), torch.as_tensor(layer.weight)
    arrays = [f"{name}.{n}" for n in ("weight", "bias") if getattr(layer, n) is not None]
    if getattr(layer, "groups", 1) > 1:
        # A depthwise convolution keeps every channel to itself: its weights belong to the channels that it is given.
        if layer.groups != layer.in_channels or layer.in_channels != layer.out_channels:
            raise TutelageError(
                f"layer '{name}' has {layer.groups} groups: only one, or one per channel, can be matched"
            )
        if below is not None:
            below.root().axes += [(array, 0) for array in arrays]
        return _noted(below, node, bent=False)
    if below is not None:
        # After flattening a channel has as many columns as it had places.
        if w.shape[1] % below.root().size:
            raise TutelageError(
                f"layer '{name}' takes {w.shape[1]} numbers from {below.root().size} channels: these do not divide them"
            )
        below.root().axes.append((f"{name}.weight", 1))
    out = _Channels(name, w.shape[0], len(every))
    out.axes += [(array, 0) for array in arrays]
    every.append(out)
    return _noted(out, node, bent=False)
