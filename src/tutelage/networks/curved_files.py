"""ONNX files of dense layers with one kind of smooth units between: tanh, sigmoid, softplus, GELU, SiLU or hard-swish.

GELU may be one operator, or those that exporters write it with (:mod:`.graphs.gelu_patterns`). The graph is read as if
its units were relu, by the reader of the checker of proofs, which merges nothing with rounding that it does not report;
a file where it reports some is an error.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tutelage import verifying
from tutelage.errors import TutelageError
from tutelage.networks.gelus import GELUS
from tutelage.networks.graphs.gelu_patterns import fold_gelus
from tutelage.networks.network import Network
from tutelage.networks.onnx_model import called, constants, read_model

_UNITS = {
    "Tanh": "tanh", "Sigmoid": "sigmoid", "Softplus": "softplus", "Gelu": "gelu", "HardSwish": "hard-swish",
    "Swish": "silu", **{name: name for name in GELUS},
}  # fmt: skip
"""Operators by the activations that they are; x times Sigmoid(x) is silu, and a GELU of several operators is one."""


def load_curved(path: str | Path) -> Network | None:
    """A network with smooth units, or None where an ONNX file has none between its layers.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Network or None

    Raises
    ------
    TutelageError
        If there are several kinds of units, or other operators than dense layers have.
    """
    path = Path(path)
    model = read_model(path)
    nodes = list(model.graph.node)
    if not any(node.op_type in (*_UNITS, "Erf") for node in nodes):
        return None
    fold_gelus(nodes, constants(model.graph, path.parent)[0], {output.name for output in model.graph.output})
    if erf := next((node for node in nodes if node.op_type == "Erf"), None):
        raise TutelageError(
            f"{called(erf)} of {path} is not that of a GELU, x / 2 (1 + erf(x / sqrt 2)) with sqrt 2 or its inverse "
            "rounded to float32: export the model with the operator Gelu of opset 20"
        )
    read = {name for node in nodes for name in node.input}
    if all(node.op_type not in _UNITS or not set(node.output) & read for node in nodes):
        return None  # a sigmoid at the end, which other readers leave out with logits
    kinds = _as_relu(nodes)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    if len(kinds) > 1:
        raise TutelageError(f"{path} has units of several kinds ({', '.join(sorted(kinds))}): one kind is understood")
    try:
        layers = verifying.read_network(path, model.SerializeToString())
    except verifying.ProofError as error:
        raise TutelageError(f"{error}; with smooth units dense layers alone are understood") from None
    if any(layer.e.any() for layer in layers):
        raise TutelageError(f"{path} has affine layers that follow one another: fold them before the export")
    single = all((layer.a.astype(np.float32) == layer.a).all() for layer in layers)
    arrays = [torch.from_numpy(layer.a).to(torch.float32 if single else torch.float64) for layer in layers]
    weights = tuple(a[:, :-1].T.contiguous()[None] for a in arrays)
    return Network(weights, tuple(a[:, -1][None] for a in arrays), kinds.pop())


def _as_relu(nodes: list[Any]) -> set[str]:
    """Put relu instead of every unit, in a list of nodes; which kinds there were."""
    kinds = set()
    sigmoids = {node.output[0]: node for node in nodes if node.op_type == "Sigmoid"}
    for node in [node for node in nodes if node.op_type == "Mul"]:
        for one, other in (tuple(node.input), tuple(node.input)[::-1]):
            if one in sigmoids and list(sigmoids[one].input) == [other]:
                if sum(list(n.input).count(one) for n in nodes) > 1:
                    raise TutelageError(f"the output {one} of a Sigmoid is used more than once")
                nodes.remove(sigmoids[one])
                node.op_type = "Swish"
                del node.input[:]
                node.input.append(other)
    for node in nodes:
        if node.op_type == "Relu":
            kinds.add("relu")
        if node.op_type in _UNITS:
            options = {a.name: a for a in node.attribute}
            how = options["approximate"].s.decode() if "approximate" in options else ""
            if how not in ("", "none", "tanh"):
                raise TutelageError(f"approximate of a Gelu must be none or tanh, got {how}")
            if "alpha" in options and options["alpha"].f != 1.0:
                raise TutelageError(f"a {node.op_type} has a factor of its own: 1 alone is understood")
            kinds.add("gelu-tanh" if how == "tanh" else _UNITS[node.op_type])
            node.op_type = "Relu"
            del node.attribute[:]
    return kinds
