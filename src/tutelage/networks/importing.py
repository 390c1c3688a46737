"""A network from a file of any kind that is understood; nothing is ever unpickled."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.activations import SLOPE
from tutelage.networks.boundary import reader
from tutelage.networks.curved_files import load_curved
from tutelage.networks.files import load
from tutelage.networks.graphs.onnx_graph import external_files
from tutelage.networks.graphs.sparse import SparseNetwork
from tutelage.networks.network import Network
from tutelage.networks.nnet_files import load_nnet
from tutelage.networks.onnx_files import load_onnx, load_sparse
from tutelage.networks.state_dict import layer_names, network_of
from tutelage.settings import one_line

PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl")


@reader
def read_network(
    path: str | Path, activation: str | None = None, slope: float | None = None, *, logits: bool = False
) -> Network:
    """Read a network from a file of tutelage, torch (safetensors), ONNX or the text format ``.nnet``.

    Parameters
    ----------
    path
        A ``.safetensors``, ``.onnx`` or ``.nnet`` file.
    activation, slope
        Activation between the layers of a torch model, which its arrays do not tell; default: relu, with a warning, and
        a slope of 0.01 for leaky units. Another one than a file of another kind says is an error.
    logits
        Leave out a Softmax, LogSoftmax or Sigmoid at the end of an ONNX file.

    Returns
    -------
    Network
        All members of a file of tutelage, else one member.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> from safetensors.torch import save_file
    >>> layers = {"0.weight": torch.ones(4, 3), "2.weight": torch.ones(1, 4)}  # the state dict of a torch module
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_file(layers, Path(folder) / "model.safetensors")
    ...     read_network(Path(folder) / "model.safetensors", "leaky", 0.1)
    Network(1 member, widths 3-4-1, leaky (slope 0.1), float32 on cpu)
    """
    path = Path(path)
    if path.suffix.lower() == ".onnx":
        return _as_told(load_curved(path) or load_onnx(path, logits), path, activation, slope)
    if path.suffix.lower() == ".nnet":
        return _as_told(load_nnet(path), path, activation, slope)
    if path.suffix.lower() in PICKLES:
        raise TutelageError(
            f"{path} is a pickle, which can run any code when it is read: save the model's state_dict with "
            "safetensors.torch.save_file, or export the model to ONNX"
        )
    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    try:
        if (arrays := _state_dict(path)) is None:
            return _as_told(load(path), path, activation, slope)
    except (SafetensorError, OSError) as error:
        if isinstance(error, SafetensorError) and _looks_like_onnx(path):
            raise TutelageError(f"{path} looks like an ONNX file: rename it so that it ends in .onnx") from None
        raise TutelageError(f"{path} is neither a safetensors nor an ONNX file ({error})") from None
    try:
        kind = "relu" if activation is None else activation
        network = network_of(arrays, kind, SLOPE if slope is None else slope, ordered=False)  # safetensors has no order
    except TutelageError as error:
        raise TutelageError(f"{path}: {one_line(str(error))}") from None
    if activation is None and network.depth > 1:
        warnings.warn(
            f"{path} does not say its activation and is read as relu: give read_network(path, activation=...) instead "
            "of the path, with activation='relu' to read it so without this warning",
            stacklevel=3,
        )
    return network


def _state_dict(path: Path) -> dict[str, Tensor] | None:
    """The arrays of a safetensors file that is no file of tutelage."""
    with safe_open(path, framework="pt") as file:
        if "tutelage" in (file.metadata() or {}):
            return None
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


@reader
def torch_names(path: str | Path) -> Sequence[str] | None:
    """Names of the layers, in their order, of a file that is a torch state dict; None for files of other kinds."""
    arrays = _state_dict(Path(path)) if Path(path).suffix.lower() == ".safetensors" else None
    return None if arrays is None else layer_names(arrays, ordered=False)


@reader
def files_of(path: str | Path) -> tuple[Path, ...]:
    """The files that a network is read from: the one given, and those beside an ONNX file that hold its arrays."""
    path = Path(path)
    return (path, *external_files(path)) if path.suffix.lower() == ".onnx" else (path,)


@reader
def tells_activation(path: str | Path) -> bool:
    """Whether a file says which activation its units have, which the arrays of a torch model do not."""
    if Path(path).suffix.lower() in (".onnx", ".nnet"):
        return True
    try:
        with safe_open(path, framework="pt") as file:
            return "tutelage" in (file.metadata() or {})
    except (SafetensorError, OSError):
        return False


def _looks_like_onnx(path: Path) -> bool:
    """Whether a file starts as a protobuf of ONNX does: the version of the format, then text, the graph or opsets."""
    with path.open("rb") as file:
        start = file.read(3)
    return len(start) == 3 and start[0] == 0x08 and 0 < start[1] < 0x20 and start[2] in b'\x12\x1a"*2:B'


def _as_told(network: Network, path: Path, activation: str | None, slope: float | None) -> Network:
    """The network of a file that says its activation; an error where another one is given."""
    _check_told(path, network.activation, network.slope, activation, slope)
    return network


def _check_told(path: Path, kind: str, known_slope: float, activation: str | None, slope: float | None) -> None:
    if activation not in (None, kind):
        raise TutelageError(f"{path} says that its units are {kind}, not {activation}: leave the activation out")
    if slope is not None and (kind != "leaky" or slope != known_slope):
        units = (
            f"leaky with slope {known_slope:g}, not {slope:g}" if kind == "leaky" else f"{kind}, which have no slope"
        )
        raise TutelageError(f"{path} says that its units are {units}: leave the slope out")


@reader
def read_any_network(
    path: str | Path,
    activation: str | None = None,
    slope: float | None = None,
    *,
    logits: bool = False,
    quantised_activations: bool = False,
) -> Network | SparseNetwork:
    """Read a network of any size: what :func:`read_network` reads, and ONNX files whose layers are too large for it.

    Parameters
    ----------
    path, activation, slope, logits
        As for :func:`read_network`.
    quantised_activations
        Understand QuantizeLinear and DequantizeLinear between the layers of an ONNX file, as values rounded to steps.

    Returns
    -------
    Network or SparseNetwork
        With dense layers where these are small enough.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> from tutelage.networks import Network, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Network((torch.ones(1, 3, 4), torch.ones(1, 4, 1))), Path(folder) / "a.safetensors")
    ...     read_any_network(Path(folder) / "a.safetensors")
    Network(1 member, widths 3-4-1, relu, float32 on cpu)
    """
    if Path(path).suffix.lower() != ".onnx":
        return read_network(path, activation, slope, logits=logits)
    if (curved := load_curved(path)) is not None:
        return _as_told(curved, Path(path), activation, slope)
    network = load_sparse(path, logits, quantised_activations)
    _check_told(Path(path), network.activation, network.left, activation, slope)
    return network.to_network() if network.dense else network
