"""A network from whatever holds one: a torch module, a model of scikit-learn, or the path of a file."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import fx, nn
from torch.nn.modules.batchnorm import _NormBase

from tutelage.errors import TutelageError
from tutelage.networks.activations import find
from tutelage.networks.graphs.sparse import SparseNetwork
from tutelage.networks.graphs.torch_graph import SMOOTH, TorchGraph, read_module, read_program
from tutelage.networks.importing import read_any_network
from tutelage.networks.modules import CHAINED, from_module
from tutelage.networks.network import Network
from tutelage.networks.state_dict import from_state_dict

_FUNCTIONS: dict[Any, Any] = {
    torch.relu: nn.ReLU, nn.functional.relu: nn.ReLU, nn.functional.leaky_relu: nn.LeakyReLU,
    torch.flatten: nn.Flatten, nn.functional.dropout: nn.Dropout,
}  # fmt: skip
_BY_MODE = (_NormBase, nn.modules.dropout._DropoutNd)
_METHODS: dict[str, Any] = {"relu": nn.ReLU, "flatten": nn.Flatten}


def to_network(model: object, name: str = "network", shape: Sequence[int] | None = None) -> Network:
    """A network of one member from a torch module, a fitted model of scikit-learn, or a file.

    Parameters
    ----------
    model
        A :class:`Network`; a ``torch.nn.Module`` of piecewise linear layers, whose forward is traced, or what
        ``torch.export.export`` made of one; the state dict of a chain of linear layers with relu units; an
        ``MLPClassifier`` or ``MLPRegressor`` of scikit-learn with relu or identity units, whose outputs are those
        before softmax or logistic; or the path of a file that :func:`read_network` reads.
    name
        What error messages call it.
    shape
        Shape of one sample, for modules that begin with a convolution.

    Returns
    -------
    Network
        Its inputs are the numbers of one sample, flattened.

    Raises
    ------
    TutelageError
        For any other object, a layer that is not understood, with its name, or layers too large for matrices.

    Examples
    --------
    >>> to_network(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))).widths
    (3, 4, 2)
    >>> to_network(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), shape=(1, 4, 4)).inputs
    16
    """
    network = adapted(model, name, shape)
    return network.to_network() if isinstance(network, SparseNetwork) else network


def to_sparse_network(model: object, name: str = "network", shape: Sequence[int] | None = None) -> SparseNetwork:
    """A network with sparse layers from anything that :func:`to_network` takes, however large its layers are.

    Parameters
    ----------
    model
        As for :func:`to_network`.
    name
        What error messages call it.
    shape
        Shape of one sample, for modules that begin with a convolution.

    Returns
    -------
    SparseNetwork
        For :func:`tutelage.functions.difference_bound`, ``top_class_agreement``, ``same_function`` and
        ``check_export``; nothing else takes it.

    Examples
    --------
    >>> to_sparse_network(nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten()), shape=(3, 32, 32)).outputs
    14400
    """
    network = adapted(model, name, shape)
    return network if isinstance(network, SparseNetwork) else SparseNetwork.of_network(network)


def adapted(model: object, name: str = "network", shape: Sequence[int] | None = None) -> Network | SparseNetwork:
    """A network with dense layers where these are small enough, else with sparse ones."""
    if isinstance(model, Network | SparseNetwork):
        return model
    if isinstance(model, torch.export.ExportedProgram):
        return _smallest(read_program(model, name))
    if isinstance(model, nn.Module):
        return _from_torch(model, name, shape)
    if isinstance(model, Mapping) and model and all(isinstance(v, torch.Tensor) for v in model.values()):
        return from_state_dict(model)
    if isinstance(model, str | Path):
        return read_any_network(model)
    if hasattr(model, "coefs_") and hasattr(model, "intercepts_"):
        return _from_sklearn(model, name)
    raise TutelageError(
        f"the {name} must be a Network, a torch.nn.Module, an ExportedProgram, a state dict, a fitted MLP of "
        f"scikit-learn or the path of a file, got {type(model).__name__}"
    )


def _from_torch(module: nn.Module, name: str, shape: Sequence[int] | None) -> Network | SparseNetwork:
    """A chain of dense layers as it is, anything else by its graph."""
    differing = [type(p).__name__ for p in module.modules() if p.training and isinstance(p, _BY_MODE)]
    if differing:
        warnings.warn(
            f"the {name} is in training mode and is read as in evaluation, in which its {differing[0]} computes "
            "something else: call its eval() first to read it so without this warning",
            stacklevel=4,
        )
    if isinstance(module, nn.Linear):
        return from_module(nn.Sequential(module))
    parts = [part for part in module.modules() if not isinstance(part, nn.Sequential)]
    dense = isinstance(module, nn.Sequential) and all(isinstance(part, CHAINED) for part in parts)
    chain: Network | TutelageError
    try:
        chain = from_module(module if isinstance(module, nn.Sequential) else _chain(module, name))
    except TutelageError as error:
        chain = error
    if isinstance(chain, Network) and not _merges(parts, chain):
        return chain
    try:
        graph = read_module(module, shape, name)
    except TutelageError:
        if isinstance(chain, TutelageError) and dense and not any(isinstance(part, SMOOTH) for part in parts):
            raise chain from None
        raise
    return _smallest(graph)


def _smallest(graph: TorchGraph) -> Network | SparseNetwork:
    """The network of a graph, with dense layers where these are small enough."""
    network = SparseNetwork.of(graph.output, graph.dtype)
    return network.to_network() if network.dense else network


def _merges(parts: Sequence[nn.Module], chain: Network) -> bool:
    """Whether layers were merged, whose rounding only the graph tells; smooth units have none, and no proofs."""
    return find(chain.activation).gate is not None and any(isinstance(part, nn.BatchNorm1d) for part in parts)


def _chain(module: nn.Module, name: str) -> nn.Sequential:
    """The layers of a module in the order in which its forward calls them."""
    try:
        graph = fx.symbolic_trace(module).graph
    except Exception as error:  # a forward with control flow fails in ways of its own
        first = str(error).split("\n", 1)[0][:200]
        raise TutelageError(
            f"the forward of the {name} cannot be traced ({first}): export the model to ONNX and give the file"
        ) from None
    layers: list[nn.Module] = []
    last: fx.Node | None = None
    for node in graph.nodes:
        if node.op == "placeholder":
            if last is not None:
                raise TutelageError(f"the forward of the {name} takes several inputs: one is understood")
        elif node.op == "output":
            if node.args[0] is not last:
                raise TutelageError(f"the {name} does not return the outcome of its last layer: return one tensor")
        else:
            layers += _layer(module, node, last, name)
        last = node
    return nn.Sequential(*layers)


def _layer(module: nn.Module, node: fx.Node, last: fx.Node | None, name: str) -> list[nn.Module]:
    moving = [a for a in node.args if isinstance(a, fx.Node)]
    if moving != [last]:
        raise TutelageError(
            f"{node.name} of the {name} joins branches or skips layers: one chain of layers is understood; "
            "export the model to ONNX and give the file"
        )
    if node.op == "call_module":
        part = module.get_submodule(str(node.target))
        return list(part) if isinstance(part, nn.Sequential) else [part]
    kind = _FUNCTIONS.get(node.target) if node.op == "call_function" else _METHODS.get(str(node.target))
    if kind is nn.Flatten and tuple(node.args[1:]) in ((), (1,), (1, -1)) and node.kwargs.get("start_dim", 1) == 1:
        if node.args[1:] or node.kwargs.get("start_dim") == 1:
            return [nn.Flatten()]
    elif kind is nn.LeakyReLU:
        slope = node.args[1] if len(node.args) > 1 else node.kwargs.get("negative_slope", 0.01)
        return [nn.LeakyReLU(float(slope))]  # type: ignore[arg-type]
    elif kind is nn.Dropout:  # which does nothing in evaluation
        return []
    elif kind is nn.ReLU:
        return [nn.ReLU()]
    called = getattr(node.target, "__name__", node.target)
    raise TutelageError(
        f"the {name} calls {called} ({node.name}), which is not understood: use layers of torch.nn, or export the "
        "model to ONNX and give the file"
    )


def _from_sklearn(model: Any, name: str) -> Network:
    kinds = {"relu": "relu", "identity": "linear"}
    if model.activation not in kinds:
        raise TutelageError(
            f"the {name} has {model.activation} units, which are not piecewise linear: fit it with activation='relu'"
        )
    weights = tuple(torch.from_numpy(np.array(w)).unsqueeze(0) for w in model.coefs_)
    biases = tuple(torch.from_numpy(np.array(b)).unsqueeze(0) for b in model.intercepts_)
    return Network(weights, biases, kinds[model.activation])
