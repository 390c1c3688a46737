"""What a network is: stacked weights, forward pass, fan-out matrices, files and torch modules."""

from tutelage.networks.activations import ACTIVATIONS, Activation, activation
from tutelage.networks.adapting import to_network, to_sparse_network
from tutelage.networks.black_box import BlackBox
from tutelage.networks.exporting import save_network
from tutelage.networks.fan_out import alpha, backward, beta, fan_out, recursive_gradient
from tutelage.networks.files import load, save
from tutelage.networks.forward import Activity, forward, outputs
from tutelage.networks.graphs.sparse import SparseNetwork
from tutelage.networks.importing import read_any_network, read_network
from tutelage.networks.modules import from_module, to_module
from tutelage.networks.network import Network, concatenate
from tutelage.networks.onnx_files import load_onnx

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Activity",
    "BlackBox",
    "Network",
    "SparseNetwork",
    "activation",
    "alpha",
    "backward",
    "beta",
    "concatenate",
    "fan_out",
    "forward",
    "from_module",
    "load",
    "load_onnx",
    "outputs",
    "read_any_network",
    "read_network",
    "recursive_gradient",
    "save",
    "save_network",
    "to_module",
    "to_network",
    "to_sparse_network",
]
