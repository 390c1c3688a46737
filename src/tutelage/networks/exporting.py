"""Networks written for other programs: ONNX files with one Gemm per layer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import save as serialised

from tutelage.errors import TutelageError, how_to_install
from tutelage.files import write_atomically
from tutelage.networks.files import save
from tutelage.networks.network import Network
from tutelage.networks.state_dict import to_state_dict

_OPSET, _IR = 17, 8  # read by every runtime of the last years
_NODES = {"relu": "Relu", "leaky": "LeakyRelu", "abs": "Abs", "tanh": "Tanh"}


def save_onnx(network: Network, path: str | Path, member: int | None = None) -> None:
    """Write one network to an ONNX file: a Gemm per layer, with the activation between.

    Parameters
    ----------
    network
        One member, or several with ``member``.
    path
        File to write; it is complete or absent.
    member
        The member to write; default: the only one.
    """
    if member is None and network.members != 1:
        raise TutelageError(f"an ONNX file holds one network, got {network.members} members: choose one of them")
    if network.activation not in (*_NODES, "linear"):
        allowed = ", ".join((*_NODES, "linear"))
        raise TutelageError(f"ONNX files are written for the activations {allowed}, got '{network.activation}'")
    try:
        import onnx
    except ImportError:
        raise TutelageError(f"ONNX files need the package onnx: {how_to_install('onnx')}") from None
    model = _model(network[0 if member is None else member], onnx)
    write_atomically(Path(path), model.SerializeToString())


def save_network(
    network: Network,
    path: str | Path,
    layout: Literal["tutelage", "torch"] = "tutelage",
    names: Sequence[str] | None = None,
) -> None:
    """Write a network as its file name says: ``.onnx``, or a safetensors file.

    Parameters
    ----------
    network
        S members; one for ONNX and for torch.
    path
        A file name that ends in ``.onnx`` or ``.safetensors``.
    layout
        Of a safetensors file: "tutelage", all members and their activation, or "torch", a state dict.
    names
        Of the layers of a state dict, as in :func:`to_state_dict`.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> network = Network((torch.ones(1, 3, 4), torch.ones(1, 4, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.onnx", "a.safetensors"):
    ...         save_network(network, Path(folder) / name)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['a.onnx', 'a.safetensors']
    """
    suffix = Path(path).suffix.lower()
    check_layout(path, layout)
    if suffix == ".onnx":
        save_onnx(network, path)
    elif suffix == ".safetensors" and layout == "torch":
        write_atomically(Path(path), serialised(to_state_dict(network, names), metadata={"format": "pt"}))
    elif suffix == ".safetensors":
        save(network, path)
    else:
        raise TutelageError(f"a network is written to a .safetensors or .onnx file, got '{path}'")


def check_layout(path: str | Path, layout: str) -> None:
    """Reject a layout that does not exist, or that the file has no room for."""
    if layout not in ("tutelage", "torch"):
        raise TutelageError(f"layout must be 'tutelage' or 'torch', got '{layout}'")
    if layout == "torch" and Path(path).suffix.lower() != ".safetensors":
        raise TutelageError(f"a torch state dict is written to a .safetensors file, got '{path}'")


def _model(network: Network, onnx: Any) -> Any:
    """The graph of a single network."""
    helper, nodes, arrays, value = onnx.helper, [], [], "input"
    for layer, w in enumerate(network.weights, start=1):
        given = [value, f"weights.{layer}"]
        arrays.append(onnx.numpy_helper.from_array(w[0].detach().cpu().contiguous().numpy(), given[1]))
        if network.biases is not None:
            given.append(f"biases.{layer}")
            b = network.biases[layer - 1][0].detach().cpu().contiguous().numpy()
            arrays.append(onnx.numpy_helper.from_array(b, given[2]))
        last = layer == network.depth
        value = "output" if last else f"layer.{layer}"
        nodes.append(helper.make_node("Gemm", given, [value], name=f"gemm.{layer}"))
        if not last and network.activation != "linear":
            how = {"alpha": network.slope} if network.activation == "leaky" else {}
            nodes.append(helper.make_node(_NODES[network.activation], [value], [f"{value}.active"], **how))
            value = f"{value}.active"
    kind = onnx.helper.np_dtype_to_tensor_dtype(network.weights[0].new_zeros(1).cpu().numpy().dtype)
    ends = [
        helper.make_tensor_value_info(name, kind, ["batch", width])
        for name, width in (("input", network.inputs), ("output", network.outputs))
    ]
    graph = helper.make_graph(nodes, "network", ends[:1], ends[1:], arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
