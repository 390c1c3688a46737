"""Exits for a network of one's own: its graph is cut behind the named layers, and a head is put at each cut."""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, fx, nn

from tutelage.errors import TutelageError, unknown
from tutelage.exits.multi_exit import MultiExit, initialised, pooled_head


def with_exits(
    module: nn.Module,
    layers: Sequence[str],
    example: Tensor,
    *,
    classes: int | None = None,
    heads: Sequence[nn.Module] | None = None,
    own_output: bool = True,
    seed: int = 0,
) -> MultiExit:
    """Attach exits to a module of your own.

    Parameters
    ----------
    module
        Any module that torch can trace; its weights are shared, not copied.
    layers
        Names from ``module.named_modules()``, in the order in which they run; an exit is attached behind each.
    example
        Inputs [B, ...] that the module takes.
    classes
        Number of classes; default: the module's outputs.
    heads
        One per named layer; default: :func:`pooled_head`.
    own_output
        Whether the module's own output is the last exit.
    seed
        Of the heads' weights.

    Returns
    -------
    MultiExit

    Examples
    --------
    >>> backbone = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3))
    >>> with_exits(backbone, ["1", "3"], torch.zeros(2, 4)).exits
    3
    """
    if not layers or len(set(layers)) != len(layers):
        raise TutelageError(f"layers must name at least one layer, and each once, got {list(layers)}")
    graph, ends = _traced(module, layers)
    if own_output:
        ends = [*ends, next(node for node in graph.nodes if node.op == "output").args[0]]
    if not all(isinstance(end, fx.Node) for end in ends):
        raise TutelageError(
            "the module gives more than one output: give own_output=False, and name the layers of all exits"
        )
    stages = _stages(module, graph, ends)
    features = _features(module, stages, example)
    outputs = classes if classes is not None or not own_output else _classes(features[-1])
    if heads is None:
        if outputs is None:
            raise TutelageError("heads need to know how many classes there are: give classes, or heads of your own")
        chosen: list[nn.Module] = [
            initialised(pooled_head(f.shape[1:], outputs), seed, f"exit {m}").to(f)
            for m, f in enumerate(features[: len(layers)])
        ]
    else:
        chosen = list(heads)
    if len(chosen) != len(layers):
        raise TutelageError(f"heads must have one entry per named layer, got {len(chosen)} for {len(layers)} layers")
    last = [nn.Identity()] if own_output else []
    return MultiExit(stages, [_AfterCut(head) for head in (*chosen, *last)]).train(module.training)


class _AfterCut(nn.Module):
    """A head on the first of the values that a stage of a cut graph hands on."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, state: tuple[Tensor, ...]) -> Tensor:
        return self.head(state[0])


class _Piece(nn.Module):
    """A piece of the graph, run without the wrapper that a GraphModule puts around each of its calls."""

    def __init__(self, piece: fx.GraphModule) -> None:
        super().__init__()
        self.piece = piece

    def forward(self, state: Any) -> tuple[Tensor, ...]:
        return self.piece.forward(state)


class _Tracer(fx.Tracer):
    """Keeps the named layers whole, so that each is one node."""

    def __init__(self, whole: Sequence[str]) -> None:
        super().__init__()
        self.whole = set(whole)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return module_qualified_name in self.whole or super().is_leaf_module(m, module_qualified_name)


def _traced(module: nn.Module, layers: Sequence[str]) -> tuple[fx.Graph, list[Any]]:
    """The module's graph, and the node of each named layer."""
    known = [name for name, _ in module.named_modules() if name]
    for name in layers:
        if name not in known:
            raise unknown("layer", name, known)
    try:
        graph = _Tracer(layers).trace(module)
    except (fx.proxy.TraceError, TypeError, RuntimeError, ValueError, NotImplementedError) as error:
        message = str(error).splitlines()[0]
        raise TutelageError(f"the module cannot be cut: its course depends on its inputs' values ({message})") from None
    for node in graph.nodes:
        if node.op == "call_function" and "training" in node.kwargs:
            raise TutelageError(
                f"the module calls {node.name} as a function, which would stay in training mode: use the "
                "layer of torch.nn instead"
            )
    calls = {name: [n for n in graph.nodes if n.op == "call_module" and n.target == name] for name in layers}
    for name, nodes in calls.items():
        if len(nodes) != 1:
            raise TutelageError(
                f"layer '{name}' runs {len(nodes)} times in one pass: an exit needs a layer that runs once"
            )
    ends = [nodes[0] for nodes in calls.values()]
    places = [list(graph.nodes).index(end) for end in ends]
    if places != sorted(places):
        ordered = [name for _, name in sorted(zip(places, layers, strict=True))]
        raise TutelageError(f"the layers run in the order {', '.join(ordered)}: name them in this order")
    return graph, ends


def _stages(module: nn.Module, graph: fx.Graph, ends: Sequence[fx.Node]) -> list[nn.Module]:
    """One module per piece of the graph: values that later pieces need -> (value at the exit, values still needed).

    A node belongs to the first exit that depends on it, so that no exit waits for what only later ones use.
    """
    given = [node for node in graph.nodes if node.op == "placeholder"]
    if len(given) != 1:
        raise TutelageError(f"the module takes {len(given)} inputs: exits are for modules that take one")
    # Exits claim in their order, so a node belongs to the first exit that needs it. What no exit needs, such as the
    # module's own last layers, is claimed by none and left out.
    turn: dict[fx.Node, int] = {given[0]: 0}
    for number, end in enumerate(ends):
        _claim(end, number, turn)
    nodes = [node for node in graph.nodes if node in turn]
    stages: list[nn.Module] = []
    for number, end in enumerate(ends):
        piece = fx.Graph()
        copied = _inlets(piece, given, first=not number)
        for node in nodes:
            if turn[node] == number and node.op != "placeholder":
                copied[node] = piece.node_copy(node, lambda n, copied=copied: copied[n])  # type: ignore[misc]
        # Invariant: `given` are the values that piece `number` - 1 hands on. A piece hands on its exit's value and all
        # values so far that a later piece uses, those that it only passes through included: that is how skip
        # connections cross a cut.
        needed = [n for n in nodes if turn[n] <= number and n is not end and _later(n, turn, number)]
        piece.output(tuple(copied[node] for node in (end, *needed)))
        stages.append(_Piece(fx.GraphModule(module, piece)))
        given = [end, *needed]
    return stages


def _claim(end: fx.Node, number: int, turn: dict[fx.Node, int]) -> None:
    """Mark the node, and all that it depends on and no earlier exit does, as of this exit's turn."""
    # Invariant: nodes in `turn` have all their inputs in `turn` or in `pending`.
    pending = [end]
    while pending:
        node = pending.pop()
        if node not in turn:
            turn[node] = number
            pending.extend(node.all_input_nodes)


def _later(node: fx.Node, turn: dict[fx.Node, int], number: int) -> bool:
    return any(turn.get(user, -1) > number for user in node.users)


def _inlets(piece: fx.Graph, given: Sequence[fx.Node], first: bool) -> dict[fx.Node, fx.Node]:
    """How a piece gets its values: the input itself, or the tuple that the piece before it gave."""
    inlet = piece.placeholder("x")
    if first:
        return {given[0]: inlet}
    return {node: piece.call_function(operator.getitem, (inlet, i)) for i, node in enumerate(given)}


def _features(module: nn.Module, stages: Sequence[nn.Module], example: Tensor) -> list[Tensor]:
    """What every stage gives at its exit, on the example, in evaluation mode."""
    was = module.training
    features: list[Tensor] = []
    state: Any = example
    try:
        with torch.no_grad():
            for stage in stages:
                state = stage.eval()(state)
                features.append(state[0])
    except (RuntimeError, TypeError, ValueError) as error:
        raise TutelageError(
            f"the module cannot take the example of shape {list(example.shape)} ({str(error).splitlines()[0]})"
        ) from None
    finally:
        module.train(was)
    if not all(isinstance(f, Tensor) for f in features):
        raise TutelageError("a named layer does not return one tensor: name another")
    return features


def _classes(output: Tensor) -> int:
    if output.ndim != 2:
        raise TutelageError(
            f"the module's own output has shape {list(output.shape)}: wanted one row of logits per sample"
        )
    return output.shape[1]
