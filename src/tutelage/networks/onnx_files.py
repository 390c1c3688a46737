"""Networks from ONNX files."""

from pathlib import Path

import torch

from tutelage.networks.boundary import reader
from tutelage.networks.graphs.onnx_graph import read_onnx
from tutelage.networks.graphs.sparse import SparseNetwork
from tutelage.networks.graphs.values import budgeted
from tutelage.networks.network import Network


@reader
def load_onnx(path: str | Path, logits: bool = False) -> Network:
    """Read a network from an ONNX file.

    Parameters
    ----------
    path
        The file; weights stored outside it are read from its folder. Any directed graph of piecewise linear operators
        is understood (the list is on the page about comparing networks): affine layers that follow one another are
        merged, and values that skip layers are carried past them by units of their own.
    logits
        Leave out a Softmax, LogSoftmax or Sigmoid at the end, which do not change the top class.

    Returns
    -------
    Network
        One member, in float64 if the weights are or merged layers need it, else in float32.

    Raises
    ------
    TutelageError
        For any other operator, with its name; or where a layer is too large to be written out as a matrix.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> from tutelage.networks import Network, save_network
    >>> network = Network((torch.ones(1, 3, 4), torch.ones(1, 4, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_network(network, Path(folder) / "a.onnx")
    ...     load_onnx(Path(folder) / "a.onnx")
    Network(1 member, widths 3-4-1, relu, float32 on cpu)
    """
    return load_sparse(path, logits).to_network()


@reader
def load_sparse(path: str | Path, logits: bool = False, quantised_activations: bool = False) -> SparseNetwork:
    """Read a network of any size from an ONNX file, with sparse layers.

    Parameters
    ----------
    path
        The file, as in :func:`load_onnx`.
    logits
        Leave out a Softmax, LogSoftmax or Sigmoid at the end.
    quantised_activations
        Understand QuantizeLinear and DequantizeLinear between layers, as values rounded to steps.

    Returns
    -------
    SparseNetwork
    """
    with budgeted():
        graph = read_onnx(Path(path), logits, quantised_activations)
        return SparseNetwork.of(graph.output, torch.float64 if graph.double else torch.float32)
