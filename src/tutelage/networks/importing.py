"""A network from a file of any kind that is understood; nothing is ever unpickled."""

from pathlib import Path

from safetensors import SafetensorError, safe_open

from tutelage.errors import TutelageError
from tutelage.networks.files import load
from tutelage.networks.graphs.sparse import SparseNetwork
from tutelage.networks.network import Network
from tutelage.networks.nnet_files import load_nnet
from tutelage.networks.onnx_files import load_onnx, load_sparse
from tutelage.networks.state_dict import network_of
from tutelage.settings import one_line

PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl")


def read_network(path: str | Path, activation: str = "relu", slope: float = 0.01, *, logits: bool = False) -> Network:
    """Read a network from a file of tutelage, torch (safetensors), ONNX or the text format ``.nnet``.

    Parameters
    ----------
    path
        A ``.safetensors``, ``.onnx`` or ``.nnet`` file.
    activation, slope
        Activation between the layers of a torch model, which its arrays do not tell.
    logits
        Leave out a Softmax, LogSoftmax or Sigmoid at the end of an ONNX file.

    Returns
    -------
    Network
        All members of a file of tutelage, else one member.
    """
    path = Path(path)
    if path.suffix.lower() == ".onnx":
        return load_onnx(path, logits)
    if path.suffix.lower() == ".nnet":
        return load_nnet(path)
    if path.suffix.lower() in PICKLES:
        raise TutelageError(
            f"{path} is a pickle, which can run any code when it is read: save the model's state_dict with "
            "safetensors.torch.save_file, or export the model to ONNX"
        )
    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    try:
        with safe_open(path, framework="pt") as file:
            if "tutelage" in (file.metadata() or {}):
                return load(path)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise TutelageError(f"{path} is neither a safetensors nor an ONNX file ({error})") from None
    try:
        return network_of(arrays, activation, slope, ordered=False)  # safetensors keeps no order
    except TutelageError as error:
        raise TutelageError(f"{path}: {one_line(str(error))}") from None


def read_any_network(
    path: str | Path,
    activation: str = "relu",
    slope: float = 0.01,
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
    """
    if Path(path).suffix.lower() != ".onnx":
        return read_network(path, activation, slope, logits=logits)
    found = load_sparse(path, logits, quantised_activations)
    return found.to_network() if found.dense else found
